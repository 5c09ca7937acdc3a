package loader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// readSchedulerConfig returns the scheduler's configuration: that of the options, or else the scenario's own, or else one found among the objects, or
// else the default.
func (l *loader) readSchedulerConfig(given *scenario.Scheduler) *sched.Config {
	path := field.NewPath("scheduler")
	var config *sched.Config
	var err error
	switch {
	case given.Config != "" && given.Inline != nil:
		l.problems.Add(path, "give config or inline, not both")
		return nil
	case l.opts.SchedulerConfig != "":
		var data []byte
		if data, err = manifest.ReadFile(nil, nil, l.opts.SchedulerConfig); err != nil {
			err = fmt.Errorf("%s: --scheduler-config: %w", scenario.CommandLine, err)
		} else {
			config, err = l.loadConfig(l.opts.SchedulerConfig, data)
		}
	case given.Config != "":
		file, data, ok := l.readNamedFile(path.Child("config"), given.Config)
		if !ok {
			return nil
		}
		config, err = l.loadConfig(file, data)
	case given.Inline != nil:
		config, err = sched.LoadConfig(l.opts.ConfigOptions, fmt.Sprintf("%s: %s", l.problems.File, path.Child("inline")), given.Inline.Raw)
	case l.foundConfig != nil:
		config, err = sched.LoadConfig(l.opts.ConfigOptions, l.foundConfig.Source.String(), l.foundConfig.Data)
	default:
		config, err = sched.DefaultConfig()
	}
	if err != nil {
		l.problems.AddErrors(err)
		return nil
	}
	if l.opts.Plain {
		return config.Plain()
	}
	return config
}

// clusterRelease returns the release of the cluster, such as 1.35, according to its API server or else to its kubelets. who is the
// beginning of a sentence about the source, such as "nodes run". The release is "" if neither is known.
func (l *loader) clusterRelease() (who, release string) {
	if v, err := version.ParseGeneric(l.opts.Server); err == nil {
		return "API server runs", version.MajorMinor(v.Major(), v.Minor()).String()
	}
	return "nodes run", cluster.NewestKubelet(l.nodesRead)
}

// findReleaseToReread returns the release of the cluster if the input has to be read again as that release, and "" otherwise. A release decides
// which fields objects may have. The input is read again if the cluster's release is known, differs from the present one, and no option or
// field chooses a release.
func (l *loader) findReleaseToReread() string {
	_, release := l.clusterRelease()
	if l.releaseGiven || l.opts.dumpRelease != "" || release == (sched.Release{}).Minor() || !slices.Contains(sched.Releases(), release) {
		return ""
	}
	return release
}

// noteRelease notes that the simulation answers as the cluster's release, or that it lacks this release. It is silent if an option or a
// field chooses a release.
func (l *loader) noteRelease() []string {
	who, release := l.clusterRelease()
	own := sched.Release{}.Minor()
	switch {
	case l.releaseGiven || release == "" || release == own:
		return nil
	case l.opts.dumpRelease == release:
		return []string{fmt.Sprintf("The %s Kubernetes %s, so this answers as it.", who, release)}
	}
	return []string{fmt.Sprintf("The %s Kubernetes %s, and this answers as %s; --kubernetes can answer as %s.", who, release, own, words.Or(sched.Releases()))}
}

// loadConfig reads the configuration of a file.
func (l *loader) loadConfig(file string, data []byte) (*sched.Config, error) {
	document, err := manifest.ToJSON(file, data)
	if err != nil {
		return nil, err
	}
	return sched.LoadConfig(l.opts.ConfigOptions, manifest.Clean(file), document)
}

// switchRelease switches the process to the scenario's release and feature gates, and then to the gates of the options. These change which
// objects the API server accepts and which scheduler configurations are valid. The caller calls back after the scenario is read.
func (l *loader) switchRelease(given *scenario.Scheduler) (back func()) {
	_, l.gateGiven = given.FeatureGates[string(features.GenericWorkload)]
	l.gateGiven = l.gateGiven || strings.Contains(l.opts.FeatureGates, string(features.GenericWorkload)+"=")
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(given.FeatureGates)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, given.FeatureGates[name]))
	}
	release := sched.Release{Kubernetes: given.Kubernetes, FeatureGates: strings.Join(pairs, ",")}
	if !slices.Contains(sched.Releases(), given.Kubernetes) {
		release.Kubernetes = "" // none is given, or it is a problem of the file
	}
	back, err := sched.SwitchRelease(release)
	if err != nil {
		l.problems.AddLines(field.NewPath("scheduler", "featureGates"), err)
		return func() {}
	}
	if l.opts.FeatureGates != "" {
		release.FeatureGates = strings.TrimPrefix(release.FeatureGates+","+l.opts.FeatureGates, ",")
		if err := sched.SetRelease(release); err != nil {
			for line := range strings.Lines(err.Error()) {
				l.problems.AddErrors(fmt.Errorf("%s: --feature-gates: %s", scenario.CommandLine, strings.TrimSpace(line)))
			}
		}
	}
	return back
}
