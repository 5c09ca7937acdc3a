// Package controller acts as kube-controller-manager does on a cluster.State: Deployments become ReplicaSets, ReplicaSets become pods,
// budgets count what they guard, claims get volumes. The pods that it makes pass admission, as those of a user do; what happens to nodes
// comes first, from package node:
//
//	node.Reconcile ─▶ ReplicaSets count their pods ─▶ Deployments ─▶ ReplicaSets, StatefulSets, DaemonSets, Jobs ─▶ volumes, claims on devices, budgets
//
// Time is logical. One step of a simulation repeats rounds until a round changes nothing:
//
//	for {
//		next, err := controllers.Reconcile(state)    // one sync of every controller, until nothing changes
//		next = schedule(next)                        // place what is unscheduled; a placed pod is Running and Ready at once
//		if next == state {
//			at, ok := controllers.Next(state)        // does anything wait for the clock alone?
//			if !ok { break }
//			next = a copy of state whose Now is at
//		} else {
//			next.Now = next.Now + 1 s
//		}
//		state = next
//	}
//
// A pod that is deleted is Terminating until its kubelet has ended it, after State.TerminationSeconds; on a node that does not answer,
// for as long as that is so. Each round lets every controller sync until none has anything to do.
//
// Where upstream exports the arithmetic it is used as it is: the StatefulSet controller is upstream's own, Deployments use
// deployment/util, ReplicaSets rank their pods with controller.ActivePodsWithRanks and Jobs with controller.ActivePods,
// DaemonSets ask daemon.Match. What upstream does not export is written again as small as it can be,
// and links its source.
//
// What StatefulSets and DaemonSets were before stands in ControllerRevisions, as in a real cluster. A dump that brings them
// is continued where it was, in the middle of a rollout too. Without them the status of a set says whether its pods are of the
// current template, and those that are keep running.
//
// Pods of a dump whose controller is not known belong to a cluster.UnknownOwner, which makes them anew: see unknownOwner.
//
// Controllers remember what they have computed, so that a sync at rest costs next to nothing. One rule says for how long: see memory. Tests
// compare each round with that of controllers that remember nothing.
//
// Tests compare syncs of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, Jobs and PodDisruptionBudgets with one
// sync of upstream's own controllers, in worlds made by chance: see the tests named IsUpstreams.
//
// What is left out:
//   - status.terminatingReplicas of Deployments and ReplicaSets, which no controller reads;
//   - revisionHistoryLimit of Deployments and DaemonSets: their old ReplicaSets and ControllerRevisions are kept for ever;
//   - progressDeadlineSeconds: a Deployment never exceeds it;
//   - how many pods upstream creates or deletes in one sync, 500 for a ReplicaSet or a Job, 250 for a DaemonSet: here it is all
//     that it must;
//   - how long upstream waits before it deletes another failed pod of a DaemonSet on the same node;
//   - status.disruptedPods of a PodDisruptionBudget: here an eviction and the deletion of its pod are one;
//   - the success of a Job's pods, unless their template says how long they take: see cluster.CompletesAfter;
//   - ttlSecondsAfterFinished of Jobs: they are kept for ever;
//   - metrics: an autoscaler only keeps its target between its bounds.
package controller
