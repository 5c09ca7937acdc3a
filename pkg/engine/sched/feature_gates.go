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
	"github.com/faultline/faultline/pkg/words"
)

// fixedGates has the gates that must be off, with the reason.
var fixedGates = map[string]string{
	// Decisions are the same with these gates on or off.
	string(features.SchedulerAsyncPreemption): noAPIServer,
	string(features.SchedulerAsyncAPICalls):   noAPIServer,
}

const noAPIServer = "there is no API server to call asynchronously, and placements do not depend on it"

// processRelease is the process's release, which was set last. Its mutex guards the process's feature gates; set is nil until a release is set.
var processRelease struct {
	sync.Mutex
	release Release
	set     map[string]bool
	changed bool // whether any gate differs from the release's default
}

// SetRelease makes the process behave as the release, with exactly its feature gates; all other gates have the release's defaults. Gates
// are global to the process, as in kube-scheduler: they apply to everything that is read and to every engine that is built afterwards. An
// error has one line per problem, and changes nothing.
//
// If the release is already set, SetRelease does nothing. So several goroutines can each set the same release, and build and run engines.
// No goroutine may set another release meanwhile: while gates change, all of them briefly have their defaults.
func SetRelease(r Release) error {
	silence() // upstream warns of gates that somebody has read before they change
	processRelease.Lock()
	defer processRelease.Unlock()
	if r.Kubernetes == codeVersion().String() {
		r.Kubernetes = ""
	}
	if processRelease.set != nil && processRelease.release == r {
		return nil
	}
	if r.Kubernetes != "" && !slices.Contains(Releases(), r.Kubernetes) {
		return fmt.Errorf("Kubernetes %s cannot be simulated; give %s", r.Kubernetes, words.Or(Releases())) //nolint:staticcheck // Kubernetes is a name
	}
	// A gate keeps a value even if it rejects the value, and then rejects all later values. So try a copy first.
	trial := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := setGateValues(trial, r, nil); err != nil {
		return err
	}
	wanted, err := parseGates(trial, r)
	if err != nil {
		return err
	}
	if maps.Equal(processRelease.set, wanted) && processRelease.release.Kubernetes == r.Kubernetes {
		return nil
	}
	if err := setGateValues(trial, r, wanted); err != nil {
		var lines []string
		for _, err := range utilerrors.Flatten(utilerrors.NewAggregate([]error{err})).Errors() {
			lines = append(lines, oneLine(err))
		}
		slices.Sort(lines) // upstream ranges over a map
		return errors.New(strings.Join(lines, "\n"))
	}
	if err := setGateValues(utilfeature.DefaultMutableFeatureGate, r, wanted); err != nil {
		return err
	}
	processRelease.set, processRelease.release, processRelease.changed = wanted, r, len(FeatureGates()) > 0
	return nil
}

// SwitchRelease calls SetRelease and returns a function that restores the earlier release.
func SwitchRelease(r Release) (back func(), err error) {
	before := currentRelease()
	if err := SetRelease(r); err != nil {
		return nil, err
	}
	return func() { _ = SetRelease(before) }, nil // it was valid before
}

// currentRelease returns the release that was set last.
func currentRelease() Release {
	processRelease.Lock()
	defer processRelease.Unlock()
	return processRelease.release
}

// parseGates parses the release's FeatureGates against the known gates. Upstream's own parser stops at the first problem and suggests no
// names.
func parseGates(gate featuregate.MutableVersionedFeatureGate, r Release) (map[string]bool, error) {
	var known []string
	for name, spec := range gate.GetAll() {
		if spec.PreRelease != featuregate.PreAlpha && !(r.isPreview() && slices.Contains(removedGates, string(name))) {
			known = append(known, string(name))
		}
	}
	slices.Sort(known)
	wanted := map[string]bool{}
	var problems []error
	for pair := range strings.SplitSeq(r.FeatureGates, ",") {
		if pair == "" {
			continue
		}
		name, text, given := strings.Cut(pair, "=")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		value, err := strconv.ParseBool(text)
		why, isFixed := fixedGates[name]
		switch {
		case !slices.Contains(known, name):
			problems = append(problems, fmt.Errorf("kube-scheduler %s has no feature gate %q%s", r, name, manifest.DidYouMean(name, known)))
		case isFixed:
			problems = append(problems, fmt.Errorf("feature gate %s cannot be set: %s; leave it out", name, why))
		case !given:
			problems = append(problems, fmt.Errorf("feature gate %s has no value; give %s=true or %s=false", name, name, name))
		case err != nil:
			problems = append(problems, fmt.Errorf("feature gate %s: %q is invalid: use true or false", name, text))
		case !value && r.isPreview() && slices.Contains(lockedGates, name):
			problems = append(problems, fmt.Errorf("cannot set feature gate %s to false, feature is locked to true", name)) // upstream's words
		}
		wanted[name] = value
	}
	for name := range fixedGates {
		if slices.Contains(known, name) {
			wanted[name] = false
		}
	}
	return wanted, errors.Join(problems...)
}

// setGateValues sets the gates to the defaults of the release, and then the wanted ones.
func setGateValues(gate featuregate.MutableVersionedFeatureGate, r Release, wanted map[string]bool) error {
	for name := range gate.GetAll() {
		if err := gate.ResetFeatureValueToDefault(name); err != nil {
			return err
		}
	}
	minor := r.minor()
	if r.isPreview() {
		minor = codeVersion()
	}
	if err := gate.SetEmulationVersion(minor); err != nil {
		return err
	}
	return gate.SetFromMap(wanted)
}

// FeatureGates returns the gates that differ from the release's defaults, as "Name=value", sorted. It leaves out the gates that Faultline
// itself sets.
func FeatureGates() []string {
	gate := utilfeature.DefaultMutableFeatureGate
	var changed []string
	for name, spec := range gate.GetAll() {
		if fixedGates[string(name)] == "" && gate.Enabled(name) != spec.Default {
			changed = append(changed, fmt.Sprintf("%s=%t", name, gate.Enabled(name)))
		}
	}
	slices.Sort(changed)
	return changed
}

// cachesAnswers reports whether engines that are built now cache answers of plugins. They do so only with the default gates: tests show only for
// these that the cache changes no answer.
func (c *Config) cachesAnswers() bool {
	processRelease.Lock()
	defer processRelease.Unlock()
	return !c.plain && !processRelease.changed
}
