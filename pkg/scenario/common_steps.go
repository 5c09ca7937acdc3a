package scenario

import (
	"reflect"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
)

// CommonSteps returns how many steps two scenarios have in common at their beginning, on the same cluster and after the same workloads:
// whatever happens in these steps happens in both. It returns false if the cluster or these workloads differ. Scenarios that are derived
// from one another share equal objects, so objects are compared by their pointers.
func CommonSteps(a, b *Scenario) (int, bool) {
	if !sameBeginning(a, b) || !a.AppliesWorkloads() && (len(a.Steps) == 0) != (len(b.Steps) == 0) { // without steps and workloads, the run has one step: the cluster as it is
		return 0, false
	}
	n := 0
	for n < min(len(a.Steps), len(b.Steps)) && sameStep(&a.Steps[n], &b.Steps[n]) {
		n++
	}
	if n == 0 && !slices.Equal(firstObjects(a), firstObjects(b)) && !a.EmptyState().Now.Equal(&b.EmptyState().Now) { // the objects may be newer, and then the clock starts later
		return 0, false
	}
	return n, true
}

// Continues reports whether the run of a begins with the only step of b, which is b's cluster as it is.
func Continues(a, b *Scenario) bool {
	return sameBeginning(a, b) && !a.AppliesWorkloads() && len(a.Steps) > 0 && len(firstObjects(a)) == 0 && len(b.Steps) == 0
}

// sameBeginning reports whether two scenarios are equal before their steps.
func sameBeginning(a, b *Scenario) bool {
	return a.Config == b.Config && a.Ties == b.Ties && a.AsTemplate == b.AsTemplate &&
		reflect.DeepEqual(a.APIServer, b.APIServer) && slices.Equal(a.Unread, b.Unread) && a.TerminationSeconds == b.TerminationSeconds && reflect.DeepEqual(a.Autoscaler, b.Autoscaler) && reflect.DeepEqual(a.Deciders, b.Deciders) &&
		slices.Equal(a.Cluster, b.Cluster) && slices.Equal(a.Workloads, b.Workloads) &&
		slices.EqualFunc(a.Members, b.Members, Member.isSame) && reflect.DeepEqual(a.Federation, b.Federation) && a.Karmada.isSame(&b.Karmada)
}

// firstObjects returns the objects of the first step, by which the clock of the scenario may start; see [Scenario.EmptyState].
func firstObjects(s *Scenario) []cluster.Object {
	if len(s.Steps) == 0 {
		return nil
	}
	return s.Steps[0].Objects
}

func sameStep(a, b *LoadedStep) bool {
	return slices.Equal(a.Objects, b.Objects) && slices.Equal(a.Edits, b.Edits) && a.Karmada.isSame(&b.Karmada) &&
		reflect.DeepEqual(a.Step, b.Step)
}
