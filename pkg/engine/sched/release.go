package sched

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	baseversion "k8s.io/component-base/version"
)

// Version is the Kubernetes release of the scheduler's code.
const Version = "v1.37.1"

// Release is the Kubernetes release as which the process behaves, and its feature gates. The code is that of [Version]. It behaves as an
// earlier release in all that a feature gate switches, as with kube-scheduler's --emulated-version, and in what earlier.go restores. It
// behaves as the next release, [Preview], in what later.go replaces.
type Release struct {
	// Kubernetes is one of [Releases], or "" for the release of [Version].
	Kubernetes string
	// FeatureGates are the gates to set, in kube-scheduler's own notation: "A=true,B=false". If a gate has two values, the later one wins.
	FeatureGates string
}

// String returns the release's name, such as 1.35, or Version.
func (r Release) String() string { return cmp.Or(r.Kubernetes, Version) }

// Minor returns the minor release, such as 1.35.
func (r Release) Minor() string { return r.minor().String() }

// Gates returns whether each feature gate is on in the release.
func (r Release) Gates() (map[string]bool, error) {
	gate := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := setGateValues(gate, r, nil); err != nil {
		return nil, err
	}
	wanted, err := parseGates(gate, r)
	if err != nil {
		return nil, err
	}
	if err := setGateValues(gate, r, wanted); err != nil {
		return nil, err
	}
	on := map[string]bool{}
	for name, spec := range gate.GetAll() {
		on[string(name)] = spec.PreRelease != featuregate.PreAlpha && gate.Enabled(name)
	}
	return on, nil
}

// Releases returns the minor releases as which the code can behave, the earliest first: the three before its own, as upstream's components,
// its own, and [Preview]. See https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/util/compatibility/version.go
func Releases() []string {
	return append(EarlierReleases(), codeVersion().String(), Preview())
}

// EarlierReleases returns the minor releases before the code's own, the earliest first.
func EarlierReleases() []string {
	var releases []string
	for earlier := range uint(3) {
		releases = append(releases, codeVersion().SubtractMinor(3-earlier).String())
	}
	return releases
}

// Preview returns the minor release after the code's own. Only what later.go replaces is as in that release.
func Preview() string { return preview }

var preview = codeVersion().AddMinor(1).String()

// codeVersion returns the minor release of the code.
func codeVersion() *version.Version { return version.MustParse(baseversion.DefaultKubeBinaryVersion) }

func (r Release) minor() *version.Version {
	if r.Kubernetes == "" {
		return codeVersion()
	}
	return version.MustParse(r.Kubernetes)
}

// RandomTies reports whether the minor release draws among the best nodes at random, as releases before 1.35 do. See
// https://github.com/kubernetes/kubernetes/pull/135231.
func RandomTies(kubernetes string) bool {
	return slices.Contains(Releases(), kubernetes) && Release{Kubernetes: kubernetes}.before("1.35")
}

// Before reports whether a minor release, such as 1.28, is earlier than another.
func Before(a, b string) bool { return version.MustParse(a).LessThan(version.MustParse(b)) }

// before reports whether the release is earlier than the minor release.
func (r Release) before(minor string) bool { return Before(r.Minor(), minor) }
