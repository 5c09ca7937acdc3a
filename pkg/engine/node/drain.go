package node

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
)

var daemonSetKind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// DrainOptions are the flags of kubectl drain that decide which pods are evicted.
type DrainOptions struct {
	// Force evicts pods that no controller would replace (--force).
	Force bool
	// IgnoreDaemonSets leaves the pods of DaemonSets where they are (--ignore-daemonsets).
	IgnoreDaemonSets bool
	// DeleteEmptyDirData evicts pods that lose the data of an emptyDir volume (--delete-emptydir-data).
	DeleteEmptyDirData bool
}

// BlockingPod is a pod because of which kubectl refuses to drain its node.
type BlockingPod struct {
	Pod *v1.Pod
	// Reason is kubectl's reason. It names the flag that overrides it.
	Reason string
}

// PodsToEvict returns the pods that kubectl drain would evict from the node, in order of arrival, and the pods that block the drain. Pods
// that a drain ignores, static pods and pods of DaemonSets, are in neither list.
func PodsToEvict(s *cluster.State, node string, options DrainOptions) (evict []*v1.Pod, blocked []BlockingPod, err error) {
	if s.Node(node) == nil {
		return nil, nil, fmt.Errorf("no node is named %s: use the names that kubectl get nodes shows", node)
	}
	for _, pod := range s.Pods {
		if pod.Spec.NodeName != node {
			continue
		}
		evicted, refused := options.filterPod(pod)
		switch {
		case refused != "":
			blocked = append(blocked, BlockingPod{pod, fmt.Sprintf("cannot delete %s: %s/%s", refused, pod.Namespace, pod.Name)})
		case evicted:
			evict = append(evict, pod)
		}
	}
	return evict, blocked, nil
}

// filterPod implements kubectl's filters, in its order and words. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/drain/filters.go. Importing them would link
// kustomize and so the package plugin, for which the linker keeps all code. kubectl looks up each DaemonSet; filter assumes that it exists,
// because a dump may lack the DaemonSets of its pods.
func (o DrainOptions) filterPod(pod *v1.Pod) (evict bool, refused string) {
	controller := metav1.GetControllerOfNoCopy(pod)
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	ofDaemonSet := controller != nil && controller.Kind == daemonSetKind.Kind && controller.APIVersion == daemonSetKind.GroupVersion().String()
	emptyDir := slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.EmptyDir != nil })
	ended := cluster.IsTerminal(pod)
	switch {
	case ofDaemonSet && !ended && !o.IgnoreDaemonSets:
		return false, "DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"
	case ofDaemonSet && !ended, mirror:
		return false, ""
	case emptyDir && !ended && !o.DeleteEmptyDirData:
		return false, "Pods with local storage (use --delete-emptydir-data to override)"
	case controller == nil && !ended && !o.Force:
		return false, "Pods that declare no controller (use --force to override)"
	}
	return true, ""
}

// ErrBudget means that a PodDisruptionBudget currently forbids an eviction. It has the API server's words.
var ErrBudget = errors.New("Cannot evict pod as it would violate the pod's disruption budget.") //nolint:staticcheck

// ErrManyBudgets means that several PodDisruptionBudgets guard a pod, so that it cannot be evicted at all. It has the API server's words.
var ErrManyBudgets = errors.New("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.") //nolint:staticcheck

// Evict requests the deletion of the pod if its budget allows it, and counts the eviction in the budget's status, as the eviction
// subresource does. See https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/storage/eviction.go. The error wraps
// ErrBudget or ErrManyBudgets and names budget and pod.
func Evict(s *cluster.State, pod *v1.Pod) (*cluster.State, error) {
	evicted := func(s *cluster.State) *cluster.State { return admission.Terminate(s, "EvictionByEvictionAPI", pod) }
	if cluster.IsTerminal(pod) || pod.Status.Phase == v1.PodPending || pod.DeletionTimestamp != nil {
		return evicted(s), nil
	}
	guards := s.BudgetsOf(pod)
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
	// Upstream looks at the observed generation first. A budget that has never synced then is "still being processed", which hides why.
	if condition := meta.FindStatusCondition(pdb.Status.Conditions, policyv1.DisruptionAllowedCondition); pdb.Status.DisruptionsAllowed <= 0 &&
		condition != nil && condition.Reason == policyv1.SyncFailedReason { // the numbers in the status are then stale
		return nil, fmt.Errorf("%s: %w The disruption budget %s does not allow evicting pods currently because it failed sync: %s", cluster.RefTo(pod).Describe(),
			ErrBudget, pdb.Name, condition.Message)
	}
	if pdb.Status.ObservedGeneration < pdb.Generation {
		return nil, fmt.Errorf("%s: %w The disruption budget %s is still being processed by the server.", cluster.RefTo(pod).Describe(), ErrBudget, pdb.Name) //nolint:staticcheck // the API server's words
	}
	if pdb.Status.DisruptionsAllowed <= 0 {
		return nil, fmt.Errorf("%s: %w The disruption budget %s needs %d healthy pods and has %d currently", cluster.RefTo(pod).Describe(), ErrBudget,
			pdb.Name, pdb.Status.DesiredHealthy, pdb.Status.CurrentHealthy)
	}
	spent := *pdb
	spent.Status.DisruptionsAllowed--
	return evicted(s.With(&spent)), nil
}
