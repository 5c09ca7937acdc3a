// Package controller acts as kube-controller-manager does on a cluster.State: Deployments become ReplicaSets, ReplicaSets become pods,
// budgets count the pods that they guard, claims get volumes. The pods that it creates pass admission, as a user's pods do. Each round
// begins with what happens to nodes, in package node:
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
// A deleted pod is Terminating until its kubelet has ended it, after State.TerminationSeconds. On a node that does not answer it stays
// Terminating. Each round lets every controller sync until none has anything to do.
//
// Upstream's code is called wherever it is exported: the StatefulSet controller is upstream's own, Deployments use deployment/util,
// ReplicaSets rank their pods with controller.ActivePodsWithRanks and Jobs with controller.ActivePods, DaemonSets ask daemon.Match. Where
// upstream exports nothing, the code is the smallest faithful version, with a link to the source.
//
// ControllerRevisions hold the earlier templates of StatefulSets and DaemonSets, as in a real cluster. A dump that has them continues where
// it was, also in the middle of a rollout. Without them the status of a set says whether its pods are of the current template; if they are,
// they keep running.
//
// Pods of a dump whose controller is not known belong to a cluster.UnknownOwner, which replaces them: see [pass.syncUnknownOwner].
//
// Controllers remember what they have computed, so that a sync in which nothing has changed costs next to nothing. One rule says how long
// an entry holds: see [memory]. Tests compare each round with a round of controllers that remember nothing.
//
// Tests also compare syncs of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, Jobs and PodDisruptionBudgets
// with one sync of upstream's own controllers, in random worlds: see the tests named IsUpstreams.
//
// What is left out:
//   - status.terminatingReplicas of Deployments and ReplicaSets, which no controller reads;
//   - revisionHistoryLimit of DaemonSets: their old ControllerRevisions are kept for ever;
//   - progressDeadlineSeconds: a Deployment never exceeds it;
//   - upstream's limits on the pods that one sync creates or deletes, 500 for a ReplicaSet or a Job, 250 for a DaemonSet: here one
//     sync creates or deletes all;
//   - upstream's wait before it deletes another failed pod of a DaemonSet on the same node;
//   - the success of a Job's pods, unless their template says how long they take: see cluster.CompletesAfter;
//   - ttlSecondsAfterFinished of Jobs: they are kept for ever;
//   - metrics: an autoscaler only keeps its target between its bounds.
package controller
