package manifest

import (
	"cmp"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// kindsInOrder lists the kinds whose order changes answers, in the order of the kubectl command of docs/commands.md: controllers make pods
// in the order of their objects.
var kindsInOrder = []string{"Node", "Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob"}

// orderDump sorts the objects of a dump with several documents as kubectl get prints them, so that the answer does not depend on the files
// into which a tool writes them. Manifests stay in the order in which they would be applied.
func (c *collection) orderDump() {
	manifest := func(obj Object) bool { return !cluster.FromDump(obj.Object) && admission.GivenUID(obj.Object) == "" }
	if c.documents < 2 || !c.lists || slices.ContainsFunc(c.set.Objects, manifest) {
		return
	}
	slices.SortStableFunc(c.set.Objects, func(a, b Object) int { return compareAsKubectl(cluster.RefTo(a.Object), cluster.RefTo(b.Object)) })
	slices.SortStableFunc(c.set.Ignored, func(a, b Ignored) int { return compareAsKubectl(a.Ref, b.Ref) })
	slices.SortStableFunc(c.set.Flaws, func(a, b Flaw) int { return compareAsKubectl(a.Ref, b.Ref) })
}

// compareAsKubectl compares two objects by their kinds, and then by their keys in etcd.
func compareAsKubectl(a, b cluster.Ref) int {
	place := func(ref cluster.Ref) int {
		if at := slices.Index(kindsInOrder, ref.Kind); at >= 0 {
			return at
		}
		return len(kindsInOrder)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
}
