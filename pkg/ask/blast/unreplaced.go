package blast

import (
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
)

// UnreplacedPod is a lost pod for which no controller created another.
type UnreplacedPod struct {
	cluster.PodRef
	// Why says in a few words why no controller created another.
	Why string `json:"why"`
}

// The reasons why nobody replaces a pod that lives and dies with its node.
const (
	daemonSetReason = "pod of a DaemonSet: every node has its own"
	staticPodReason = "static pod: it belongs to its node"
)

// BelongsToNode reports whether the pod lives and dies with its node.
func (p UnreplacedPod) BelongsToNode() bool {
	return p.Why == daemonSetReason || p.Why == staticPodReason
}

// nodeBoundReason says why nobody replaces a pod that lives and dies with its node; "" for any other pod.
func nodeBoundReason(pod *v1.Pod) string {
	switch by := metav1.GetControllerOfNoCopy(pod); {
	case by != nil && by.Kind == "DaemonSet":
		return daemonSetReason
	case by != nil && by.Kind == "Node":
		return staticPodReason
	}
	return ""
}

// refusalReason returns why the API server refuses new pods of the workload, without their names; "" if it does not.
func refusalReason(state *cluster.State, of cluster.Ref) string {
	i := slices.IndexFunc(state.Refused, func(r cluster.Refusal) bool { return r.Ref == of })
	if i < 0 {
		return ""
	}
	return state.Refused[i].Reason()
}

// notReplacedReason returns a function that says why nobody creates another pod for a lost one.
func notReplacedReason(state *cluster.State) func(*v1.Pod) string {
	if state.Federation == nil {
		after := sync.OnceValue(func() *aftermath { return newAftermath(state) })
		return func(pod *v1.Pod) string { return after().whyNotReplaced(pod) }
	}
	in := map[string]func(*v1.Pod) string{}
	for _, m := range state.Federation.Members {
		in[m.Name] = notReplacedReason(m.State)
	}
	owner := state.Owners()
	return func(pod *v1.Pod) string {
		m := state.Federation.Member(pod.Labels[cluster.MemberLabel])
		if !m.Lost || nodeBoundReason(pod) != "" {
			return in[m.Name](m.MemberPod(pod))
		}
		of := owner(pod)
		if of.Kind == "Pod" {
			_, of.Name = cluster.SplitName(of.Name)
		}
		return whyNotMoved(state.Federation.Control, of, m.Name)
	}
}

// whyNotMoved says why Karmada does not replace the pods that a workload had in a lost cluster.
func whyNotMoved(control *cluster.Control, workload cluster.Ref, lost string) string {
	b := control.BindingOf(workload)
	if b == nil {
		return "it is the lost cluster's own: no policy of Karmada has brought it there"
	}
	_, stays := b.On(lost)
	switch {
	case control.Options.Failover == nil:
		return "Karmada does not move workloads away from a cluster that fails unless federation.failover is enabled"
	case stays:
		return "its policy tolerates the loss of the cluster"
	case !b.Scheduled():
		return "Karmada finds no other cluster: " + strings.TrimSuffix(b.Message, ".")
	case !b.Divided():
		return "its policy gives every cluster a copy of its own, and no other cluster gets one"
	}
	return "its " + workload.Kind + " wants no other"
}

// aftermath is the state after a failure.
type aftermath struct {
	*cluster.State
	owner   func(*v1.Pod) cluster.Ref
	stopped []node.Disruption  // the zones in which evictions have stopped
	present map[types.UID]bool // the objects other than pods
	pods    map[types.UID]*v1.Pod
}

func newAftermath(state *cluster.State) *aftermath {
	a := &aftermath{State: state, owner: state.Owners(), stopped: node.Disruptions(state), present: map[types.UID]bool{}, pods: make(map[types.UID]*v1.Pod, len(state.Pods))}
	for _, obj := range state.Objects() {
		if pod, ok := obj.(*v1.Pod); ok {
			a.pods[pod.UID] = pod
		} else {
			a.present[obj.GetUID()] = true
		}
	}
	return a
}

// whyNotReplaced says why nobody creates another pod for a lost one.
func (a *aftermath) whyNotReplaced(pod *v1.Pod) string {
	by, owner, is := metav1.GetControllerOfNoCopy(pod), a.owner(pod), a.pods[pod.UID]
	stays := is != nil && cluster.IsActive(is)
	ending := is != nil && !stays && !cluster.IsTerminal(is)
	switch {
	case by == nil:
		return "bare pod: no controller makes another"
	case nodeBoundReason(pod) != "":
		return nodeBoundReason(pod)
	case by.Kind == "StatefulSet" && ending:
		return "pod of a StatefulSet on a node that is only unreachable: it may still run, and no two of one name may"
	case !stays && !a.present[by.UID]:
		return "its controller, " + by.Kind + " " + by.Name + ", is not part of the input"
	case !stays && refusalReason(a.State, owner) != "":
		return "the API server refuses another: " + refusalReason(a.State, owner)
	case ending:
		return "stays Terminating until its kubelet is back, and its " + owner.Kind + " waits for its end"
	case stays && slices.ContainsFunc(a.stopped, func(d node.Disruption) bool { return slices.Contains(d.Nodes, pod.Spec.NodeName) }):
		return "stays bound to its node: so many nodes are down that the node lifecycle controller evicts no pods"
	case stays:
		return "tolerates the failed node for as long as it fails"
	}
	if by.Kind == "StatefulSet" {
		return "its StatefulSet makes its pods one after the other, and waits for an earlier one"
	}
	return "its " + by.Kind + " wants no other"
}
