package scenario

import (
	"reflect"
	"slices"
)

// CommonSteps returns how many steps two scenarios begin with alike, on the same cluster and with the same workloads before, so
// that whatever happens in these happens in both; false where not even the cluster and those workloads are the same. Scenarios that
// were derived from one another share the objects that are the same, and by that they are compared.
func CommonSteps(a, b *Scenario) (int, bool) {
	if a.Config != b.Config || a.Ties != b.Ties || a.RandomArrivals != b.RandomArrivals || a.AsTemplate != b.AsTemplate || !reflect.DeepEqual(a.APIServer, b.APIServer) || a.TerminationSeconds != b.TerminationSeconds ||
		!slices.Equal(a.Cluster, b.Cluster) || !slices.Equal(a.Workloads, b.Workloads) ||
		!slices.EqualFunc(a.Members, b.Members, Member.same) || !reflect.DeepEqual(a.Federation, b.Federation) || !a.Karmada.same(&b.Karmada) ||
		(len(a.Steps) == 0) != (len(b.Steps) == 0) { // without steps and workloads, the cluster is a step of its own
		return 0, false
	}
	n := 0
	for n < min(len(a.Steps), len(b.Steps)) && sameStep(&a.Steps[n], &b.Steps[n]) {
		n++
	}
	return n, true
}

func sameStep(a, b *LoadedStep) bool {
	return slices.Equal(a.Objects, b.Objects) && slices.Equal(a.Edits, b.Edits) && a.Karmada.same(&b.Karmada) &&
		reflect.DeepEqual(a.Step, b.Step)
}
