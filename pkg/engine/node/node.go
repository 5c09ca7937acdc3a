package node

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/util/taints"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

// FailureMode is how a node fails.
type FailureMode string

const (
	// Deleted means that the Node object and its pods are gone, as when a cloud removes the machine. Controllers replace the pods.
	Deleted FailureMode = "deleted"
	// Unreachable means that the kubelet no longer answers. Pods are not ready. They are evicted when their toleration ends, by default
	// after 300 seconds, unless so much of a zone is down that evictions stop. Evicted pods stay Terminating until the kubelet is back.
	// Pods of DaemonSets tolerate the taint and stay.
	Unreachable FailureMode = "unreachable"
	// OutOfService is like Unreachable, but an administrator has also added the taint node.kubernetes.io/out-of-service, so that all pods
	// are removed at once.
	OutOfService FailureMode = "out-of-service"
)

// Cordon makes the nodes unschedulable: spec.unschedulable, and the taint that the node lifecycle controller adds.
func Cordon(s *cluster.State, names ...string) (*cluster.State, error) {
	return changeNodes(s, names, func(node *v1.Node) {
		cluster.Cordon(node, s.Now)
	})
}

// Uncordon undoes Cordon.
func Uncordon(s *cluster.State, names ...string) (*cluster.State, error) {
	return changeNodes(s, names, cluster.Uncordon)
}

// Fail returns the state in which the nodes have failed. Reconcile then does what the controllers would do. The error names unknown nodes
// or an unknown mode.
func Fail(s *cluster.State, mode FailureMode, names ...string) (*cluster.State, error) {
	if !slices.Contains([]FailureMode{Deleted, Unreachable, OutOfService}, mode) {
		return nil, fmt.Errorf("failure mode %q: must be one of %q, %q, %q", mode, Deleted, Unreachable, OutOfService)
	}
	next, err := changeNodes(s, names, func(node *v1.Node) {
		if mode == OutOfService {
			cluster.AddTaint(node, v1.Taint{Key: v1.TaintNodeOutOfService, Value: "nodeshutdown", Effect: v1.TaintEffectNoExecute, TimeAdded: &s.Now})
		}
		setReady(node, v1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status.", s.Now)
	})
	if err != nil {
		return nil, err
	}
	if mode == Deleted {
		var nodes []cluster.Object
		byName := s.NodesByName()
		for _, name := range names {
			nodes = append(nodes, byName[name])
		}
		return admission.Delete(s, nodes...), nil
	}
	return next.With(changePodsOn(next, names, func(pod *v1.Pod) *v1.Pod { return withReadiness(pod, v1.ConditionFalse, s.Now) })...), nil
}

// Restore returns the state in which the nodes answer again: they are ready, and so are the pods that stayed. It removes the taint
// out-of-service; Reconcile removes the taints of the node lifecycle controller. Terminating pods end as on any node. A cordon stays. To
// restore a deleted node, admit it again.
func Restore(s *cluster.State, names ...string) (*cluster.State, error) {
	next, err := changeNodes(s, names, func(node *v1.Node) {
		node.Spec.Taints, _ = taints.DeleteTaintsByKey(node.Spec.Taints, v1.TaintNodeOutOfService)
		setReady(node, v1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", s.Now)
		node.Spec.Taints = conditionTaints(node, s.Now)
	})
	if err != nil {
		return nil, err
	}
	return next.With(changePodsOn(next, names, func(pod *v1.Pod) *v1.Pod {
		if pod.DeletionTimestamp != nil || cluster.WaitsForVolume(pod) != "" {
			return nil
		}
		return withReadiness(pod, v1.ConditionTrue, s.Now)
	})...), nil
}

// changeNodes applies the change to a copy of each node.
func changeNodes(s *cluster.State, names []string, change func(*v1.Node)) (*cluster.State, error) {
	var changed []cluster.Object
	var unknown []string
	nodes := s.NodesByName()
	for _, name := range names {
		node := nodes[name]
		if node == nil {
			unknown = append(unknown, name)
			continue
		}
		node = node.DeepCopy()
		change(node)
		changed = append(changed, node)
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("no node is named %s: use the names that kubectl get nodes shows", strings.Join(unknown, ", "))
	}
	return s.With(changed...), nil
}

// changePodsOn applies the change to each running pod on the nodes, and returns the changed pods. The change returns nil for a pod that it does
// not change.
func changePodsOn(s *cluster.State, nodes []string, change func(*v1.Pod) *v1.Pod) []cluster.Object {
	among := sets.New(nodes...)
	var changed []cluster.Object
	for _, pod := range s.Pods {
		if pod.Spec.NodeName != "" && among.Has(pod.Spec.NodeName) && !cluster.IsTerminal(pod) {
			if pod = change(pod); pod != nil {
				changed = append(changed, pod)
			}
		}
	}
	return changed
}

func withReadiness(pod *v1.Pod, status v1.ConditionStatus, now metav1.Time) *v1.Pod {
	return cluster.WithCondition(pod, v1.PodCondition{Type: v1.PodReady, Status: status, LastTransitionTime: now})
}

func setReady(node *v1.Node, status v1.ConditionStatus, reason, message string, now metav1.Time) {
	conditions := slices.DeleteFunc(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
	node.Status.Conditions = append(conditions, v1.NodeCondition{Type: v1.NodeReady, Status: status, Reason: reason, Message: message, LastTransitionTime: now})
}
