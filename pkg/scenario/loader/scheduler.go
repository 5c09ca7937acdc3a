package loader

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// scheduler returns the scheduler's configuration: the one of the options, or the scenario's own, or one found among the objects, or the default.
func (l *reader) scheduler(given *scenario.Scheduler) *sched.Config {
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
			config, err = loadConfig(l.opts.SchedulerConfig, data)
		}
	case given.Config != "":
		l.named[given.Config] = true
		file := l.resolve(given.Config)
		if !l.exists(file) {
			l.problems.Add(path.Child("config"), "%s", l.missing(file))
			return nil
		}
		var data []byte
		if data, err = manifest.ReadFile(l.fsys, nil, file); err == nil {
			config, err = loadConfig(file, data)
		}
	case given.Inline != nil:
		config, err = sched.LoadConfig(fmt.Sprintf("%s: %s", l.problems.File, path.Child("inline")), given.Inline.Raw)
	case l.config != nil:
		config, err = sched.LoadConfig(l.config.Source.String(), l.config.Data)
	default:
		config, err = sched.DefaultConfig()
	}
	if err != nil {
		l.problems.AddErrors(err)
		return nil
	}
	return config
}

// loadConfig reads the configuration of a file.
func loadConfig(file string, data []byte) (*sched.Config, error) {
	document, err := manifest.ToJSON(file, data)
	if err != nil {
		return nil, err
	}
	return sched.LoadConfig(manifest.Clean(file), document)
}

// featureGates switches the gates, the scenario's and then those of the options, before anything else is read: they change what
// the API server accepts and what the scheduler's configuration may say.
func (l *reader) featureGates(s *scenario.Scenario, gates map[string]bool) {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	s.FeatureGates = strings.Join(pairs, ",")
	if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
		for line := range strings.Lines(err.Error()) {
			l.problems.Add(field.NewPath("scheduler", "featureGates"), "%s", strings.TrimSpace(line))
		}
		return
	}
	if l.opts.FeatureGates == "" {
		return
	}
	s.FeatureGates = strings.TrimPrefix(s.FeatureGates+","+l.opts.FeatureGates, ",")
	if err := sched.SetFeatureGates(s.FeatureGates); err != nil {
		for line := range strings.Lines(err.Error()) {
			l.problems.AddErrors(fmt.Errorf("%s: --feature-gates: %s", scenario.CommandLine, strings.TrimSpace(line)))
		}
	}
}
