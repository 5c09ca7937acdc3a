package controller

import (
	"context"
	"errors"
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubectl/pkg/drain"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
)

// DrainOptions are the flags of kubectl drain that decide which pods are evicted.
type DrainOptions struct {
	// Force evicts pods that no controller would replace (--force).
	Force bool
	// IgnoreDaemonSets leaves the pods of DaemonSets where they are (--ignore-daemonsets).
	IgnoreDaemonSets bool
	// DeleteEmptyDirData evicts pods that lose the data of an emptyDir volume (--delete-emptydir-data).
	DeleteEmptyDirData bool
}

// Blocked is a pod that keeps a node from being drained.
type Blocked struct {
	Pod *v1.Pod
	// Reason is kubectl's, and names the flag that overrides it.
	Reason string
}

// Drainable tells which pods kubectl drain would evict from the node, in order of arrival, and which keep it from evicting
// any. It uses kubectl's own filters, https://github.com/kubernetes/kubectl/blob/v0.37.1/pkg/drain/filters.go. Pods that a
// drain leaves alone, those of DaemonSets and static ones, are in neither list.
func Drainable(s *cluster.State, node string, options DrainOptions) (evict []*v1.Pod, blocked []Blocked, err error) {
	if s.Node(node) == nil {
		return nil, nil, fmt.Errorf("no node is named %s: use the names that kubectl get nodes shows", node)
	}
	var objects []runtime.Object
	there := map[types.NamespacedName]bool{}
	for _, ds := range s.DaemonSets {
		there[types.NamespacedName{Namespace: ds.Namespace, Name: ds.Name}] = true
		objects = append(objects, ds)
	}
	// A dump may lack the DaemonSets whose pods it has. In its cluster they are there.
	for _, pod := range s.Pods {
		ref := metav1.GetControllerOfNoCopy(pod)
		if pod.Spec.NodeName != node || ref == nil || ref.Kind != daemonSetKind.Kind {
			continue
		}
		if name := (types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}); !there[name] {
			there[name] = true
			objects = append(objects, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: ref.UID}})
		}
	}
	helper := &drain.Helper{
		Ctx:                 context.Background(),
		Client:              fake.NewSimpleClientset(objects...), // NewClientset takes 0.1 s more, for nothing that is used here
		Force:               options.Force,
		IgnoreAllDaemonSets: options.IgnoreDaemonSets,
		DeleteEmptyDirData:  options.DeleteEmptyDirData,
		Out:                 io.Discard,
		ErrOut:              io.Discard,
	}
	// GetPodsForDeletion asks for the pods of one node by a field selector that a fake clientset does not know, and tells its
	// errors by message only. So each pod is put to the filters alone, as the only one there is.
	pods := helper.Client.CoreV1().Pods
	for _, pod := range s.Pods {
		if pod.Spec.NodeName != node {
			continue
		}
		if _, err := pods(pod.Namespace).Create(helper.Ctx, pod, metav1.CreateOptions{}); err != nil {
			return nil, nil, err
		}
		list, errs := helper.GetPodsForDeletion(node)
		switch {
		case len(errs) > 0:
			blocked = append(blocked, Blocked{pod, errors.Join(errs...).Error()})
		case len(list.Pods()) > 0:
			evict = append(evict, pod)
		}
		if err := pods(pod.Namespace).Delete(helper.Ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
			return nil, nil, err
		}
	}
	return evict, blocked, nil
}

// ErrBudget says that a PodDisruptionBudget forbids an eviction for now. The words are the API server's.
var ErrBudget = errors.New("Cannot evict pod as it would violate the pod's disruption budget.") //nolint:staticcheck

// ErrManyBudgets says that several PodDisruptionBudgets guard a pod, which then cannot be evicted at all. The words are the
// API server's.
var ErrManyBudgets = errors.New("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.") //nolint:staticcheck

// Evict asks for the pod's deletion if its budget allows it, and counts it in the budget's status, as the eviction subresource does:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/storage/eviction.go. The error wraps ErrBudget
// or ErrManyBudgets and names budget and pod.
func Evict(s *cluster.State, pod *v1.Pod) (*cluster.State, error) {
	evicted := func(s *cluster.State) *cluster.State { return Terminate(s, "EvictionByEvictionAPI", pod) }
	if cluster.Terminal(pod) || pod.Status.Phase == v1.PodPending || pod.DeletionTimestamp != nil {
		return evicted(s), nil
	}
	var guards []*policyv1.PodDisruptionBudget
	for _, pdb := range s.PodDisruptionBudgets {
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err != nil || pdb.Namespace != pod.Namespace {
			continue // like upstream, which skips a selector that it cannot read
		}
		if selector.Matches(labels.Set(pod.Labels)) {
			guards = append(guards, pdb)
		}
	}
	switch len(guards) {
	case 0:
		return evicted(s), nil
	case 1:
	default:
		return nil, fmt.Errorf("%s: %w", cluster.RefTo(pod).Describe(), ErrManyBudgets)
	}
	pdb := guards[0]
	if !podutil.IsPodReady(pod) {
		always := pdb.Spec.UnhealthyPodEvictionPolicy != nil && *pdb.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		if always || pdb.Status.CurrentHealthy >= pdb.Status.DesiredHealthy && pdb.Status.DesiredHealthy > 0 {
			return evicted(s), nil
		}
	}
	if pdb.Status.ObservedGeneration < pdb.Generation || pdb.Status.DisruptionsAllowed <= 0 {
		return nil, fmt.Errorf("%s: %w The disruption budget %s needs %d healthy pods and has %d currently", cluster.RefTo(pod).Describe(), ErrBudget,
			pdb.Name, pdb.Status.DesiredHealthy, pdb.Status.CurrentHealthy)
	}
	spent := *pdb
	spent.Status.DisruptionsAllowed--
	return evicted(s.With(&spent)), nil
}
