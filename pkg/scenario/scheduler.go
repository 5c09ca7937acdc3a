package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/sched"
)

// scheduler returns the scheduler's configuration: the scenario's own, or one found among the objects, or the default.
func (l *loader) scheduler(given *Scheduler) *sched.Config {
	path := field.NewPath("scheduler")
	var config *sched.Config
	var err error
	switch {
	case given.Config != "" && given.Inline != nil:
		l.problem(path, "give config or inline, not both")
		return nil
	case given.Config != "":
		file := l.resolve(given.Config)
		if !l.exists(file) {
			if path = path.Child("config"); l.commandLine {
				path = field.NewPath("--scheduler-config")
			}
			l.problem(path, "%s", l.missing(file))
			return nil
		}
		var data []byte
		if data, err = manifest.ReadFile(l.fsys, file); err == nil {
			config, err = sched.LoadConfig(file, data)
		}
	case given.Inline != nil:
		config, err = sched.LoadConfig(fmt.Sprintf("%s: %s", l.file, path.Child("inline")), given.Inline.Raw)
	case l.config != nil:
		config, err = sched.LoadConfig(l.config.Source.String(), l.config.Data)
	default:
		config, err = sched.DefaultConfig()
	}
	if err != nil {
		l.problems = append(l.problems, err)
		return nil
	}
	return config
}

// featureGates writes the gates as kube-scheduler takes them.
func featureGates(gates map[string]bool) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, gates[name]))
	}
	return strings.Join(pairs, ",")
}

// switchFeatureGates switches the gates, since they change what the API server accepts and what the scheduler's configuration
// may say. The function that it returns puts them back.
func (l *loader) switchFeatureGates(gates map[string]bool) (restore func()) {
	if len(gates) == 0 {
		return func() {}
	}
	path := field.NewPath("scheduler", "featureGates")
	before := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	var known []string
	for name := range before.GetAll() {
		known = append(known, string(name))
	}
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(gates)), func(name string) bool { return slices.Contains(known, name) })
	for _, name := range unknown {
		l.problem(path, "kube-scheduler %s has no feature gate %q; %s", sched.Version, name, there(name, known))
	}
	if len(unknown) > 0 {
		return func() {}
	}
	// The gates are tried on a copy. The real ones remember what they have refused, and refuse all that comes later for it.
	err := before.DeepCopy().SetFromMap(gates)
	if err == nil {
		err = sched.SetFeatureGates(featureGates(gates))
	}
	if err != nil {
		for _, message := range messages(err) {
			l.problem(path, "%s", message)
		}
	}
	return func() { restoreFeatureGates(before) }
}

// messages returns the lines of an error of several, in an order that does not change.
func messages(err error) []string {
	var several utilerrors.Aggregate
	if !errors.As(err, &several) {
		return []string{err.Error()}
	}
	var all []string
	for _, err := range several.Errors() {
		all = append(all, err.Error())
	}
	slices.Sort(all)
	return all
}

// restoreFeatureGates makes the gates what they were before.
func restoreFeatureGates(before featuregate.MutableVersionedFeatureGate) {
	gate := utilfeature.DefaultMutableFeatureGate
	explicit := map[string]bool{}
	for name := range before.GetAll() {
		switch {
		case before.ExplicitlySet(name):
			explicit[string(name)] = before.Enabled(name)
		case gate.ExplicitlySet(name) || gate.Enabled(name) != before.Enabled(name):
			// It was set here, by its name or by AllAlpha or AllBeta. The error is for names that were refused.
			_ = gate.ResetFeatureValueToDefault(name)
		}
	}
	_ = gate.SetFromMap(explicit) // it has taken these before
}
