package sched

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// synchronous are the gates that Faultline needs off: they move API calls to goroutines, and here there is no API server to
// call. The decisions are the same either way.
var synchronous = map[string]bool{
	string(features.SchedulerAsyncPreemption): false,
	string(features.SchedulerAsyncAPICalls):   false,
}

// switched guards the process's feature gates, and remembers which were set last; nil before the first time.
var switched struct {
	sync.Mutex
	set map[string]bool
}

// SetFeatureGates switches exactly these feature gates, in kube-scheduler's own notation ("A=true,B=false"), and sets all others
// to the release's defaults. Of two values for one gate the later counts. Gates are the process's, as they are in
// kube-scheduler: they hold for whatever is read and every engine that is built afterwards. If there is an error, which has a
// line for each problem, nothing has changed.
//
// Where the gates are set already nothing is done, so that engines of the same gates can be built and run on several goroutines,
// each of which sets them. Others must not be set meanwhile: on the way there, all gates have the defaults for a moment.
func SetFeatureGates(gates string) error {
	wanted, err := parseGates(gates)
	if err != nil {
		return err
	}
	switched.Lock()
	defer switched.Unlock()
	if maps.Equal(switched.set, wanted) {
		return nil
	}
	// A gate keeps a value that it has refused, and refuses all that comes later for it; so a copy is asked first.
	if err := setExactly(utilfeature.DefaultMutableFeatureGate.DeepCopy(), wanted); err != nil {
		var lines []string
		for _, err := range utilerrors.Flatten(utilerrors.NewAggregate([]error{err})).Errors() {
			lines = append(lines, oneLine(err))
		}
		slices.Sort(lines) // upstream goes through a map
		return errors.New(strings.Join(lines, "\n"))
	}
	if err := setExactly(utilfeature.DefaultMutableFeatureGate, wanted); err != nil {
		return err
	}
	switched.set = wanted
	return nil
}

// parseGates reads the notation. Upstream's own reader stops at the first problem, and has no proposal for a name.
func parseGates(gates string) (map[string]bool, error) {
	var known []string
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		known = append(known, string(name))
	}
	slices.Sort(known)
	wanted := map[string]bool{}
	var problems []error
	for pair := range strings.SplitSeq(gates, ",") {
		if pair == "" {
			continue
		}
		name, text, given := strings.Cut(pair, "=")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		value, err := strconv.ParseBool(text)
		_, fixed := synchronous[name]
		switch {
		case !slices.Contains(known, name):
			problems = append(problems, fmt.Errorf("kube-scheduler %s has no feature gate %q%s", Version, name, manifest.DidYouMean(name, known)))
		case fixed:
			problems = append(problems, fmt.Errorf("feature gate %s cannot be set: there is no API server here to call asynchronously, and placements do not depend on it; leave it out", name))
		case !given:
			problems = append(problems, fmt.Errorf("feature gate %s has no value; give %s=true or %s=false", name, name, name))
		case err != nil:
			problems = append(problems, fmt.Errorf("feature gate %s: %q is neither true nor false", name, text))
		}
		wanted[name] = value
	}
	maps.Copy(wanted, synchronous)
	return wanted, errors.Join(problems...)
}

func setExactly(gate featuregate.MutableVersionedFeatureGate, wanted map[string]bool) error {
	for name := range gate.GetAll() {
		if err := gate.ResetFeatureValueToDefault(name); err != nil {
			return err
		}
	}
	return gate.SetFromMap(wanted)
}

// FeatureGates returns the gates that differ from the release's defaults, as "Name=value", sorted, without those that
// Faultline itself needs.
func FeatureGates() []string {
	gate := utilfeature.DefaultMutableFeatureGate
	var changed []string
	for name, spec := range gate.GetAll() {
		if _, fixed := synchronous[string(name)]; !fixed && gate.Enabled(name) != spec.Default {
			changed = append(changed, fmt.Sprintf("%s=%t", name, gate.Enabled(name)))
		}
	}
	slices.Sort(changed)
	return changed
}
