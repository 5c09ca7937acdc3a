// Package workload acts as kube-controller-manager does, and as the admission that new objects meet, on a cluster.State:
// Deployments become ReplicaSets, ReplicaSets become pods, budgets count what they guard, claims get volumes.
//
// Time is logical. One step of a simulation repeats rounds until a round changes nothing:
//
//	for {
//		next, err := controllers.Reconcile(state)    // one sync of every controller
//		next = schedule(next)                        // place what is unscheduled; a placed pod is Running and Ready at once
//		if next == state {
//			at, ok := workload.Next(state)           // does anything wait for the clock alone?
//			if !ok { break }
//			next = a copy of state whose Now is at
//		} else {
//			next.Now = next.Now + 1 s
//		}
//		state = next
//	}
//
// A deleted pod is gone at once: there is no grace period, and no pod is Terminating but those of StatefulSets on a node
// that cannot be reached.
//
// Where upstream exports the arithmetic it is used as it is: the StatefulSet controller is upstream's own, Deployments use
// deployment/util, ReplicaSets rank their pods with controller.ActivePodsWithRanks, DaemonSets ask
// daemon.NodeShouldRunDaemonPod, drains ask kubectl's filters. What upstream does not export is written again as small as it
// can be, and links its source.
//
// What is left out: old ReplicaSets are kept for ever (revisionHistoryLimit), a Deployment never exceeds its
// progressDeadlineSeconds, a ReplicaSet creates and deletes all the pods that it must in one sync (upstream: at most 500),
// pods of Jobs run for ever, and an autoscaler knows no metrics: it only keeps its target between its bounds.
package workload
