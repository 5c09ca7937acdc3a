package controller

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// makers are manifests of workloads that each create three pods at once.
var makers = map[string]string{
	"Deployment":            deployment("web", 3, "a", ""),
	"ReplicaSet":            replicaSet(3),
	"ReplicationController": replicationController(3),
	"StatefulSet":           statefulSet(3, "a", "  podManagementPolicy: Parallel\n"),
	"DaemonSet":             daemonSet("a", "}\n"),
	"Job":                   job("Job", "  parallelism: 3\n  completions: 3\n"),
}

const threePods = "\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: three}\nspec: {hard: {pods: 3}}\n"

// ownerKinds lists the kinds of the pods' outermost owners, in order of arrival.
func (w *world) ownerKinds() []string {
	var kinds []string
	owner := w.state.Owners()
	for _, pod := range w.state.Pods {
		kinds = append(kinds, owner(pod).Kind)
	}
	return kinds
}

// Two workloads of three pods each arrive together, in either order and of any kinds. The workload that is listed first uses up the quota
// of three.
func TestTheFirstToArriveHasTheQuota(t *testing.T) {
	for first, manifest := range makers {
		for second, other := range makers {
			if first == second || first+second == "DeploymentReplicaSet" || first+second == "ReplicaSetDeployment" {
				continue // of one name and selector
			}
			w := newWorld(t, 3, spread)
			w.apply(threePods)
			w.apply(manifest + "---" + other)
			w.check(first+" before "+second, w.ownerKinds(), []string{first, first, first})
		}
	}
}

// With random ties the actions of controllers interleave, in batches of one pod and then two, as in a real control plane: the workload that
// arrives first gets one, two or all of the three pods.
func TestControllersComeBetweenEachOther(t *testing.T) {
	for _, kinds := range [][2]string{{"Deployment", "Job"}, {"Job", "Deployment"}, {"Deployment", "ReplicationController"}, {"DaemonSet", "Job"}} {
		reached := map[int]bool{}
		for seed := range uint64(60) {
			w := newWorld(t, 3, spread)
			w.controllers.Rand = rand.New(rand.NewPCG(seed, 0))
			w.apply(threePods)
			w.apply(makers[kinds[0]] + "---" + makers[kinds[1]])
			w.check("pods", len(w.state.Pods), 3)
			reached[len(slices.DeleteFunc(w.ownerKinds(), func(kind string) bool { return kind != kinds[0] }))] = true
		}
		w := newWorld(t, 0, placeAnywhere)
		w.check(kinds[0]+" before "+kinds[1], reached, map[int]bool{1: true, 2: true, 3: true})
	}
}
