package autoscaler

import (
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
)

// template is a new node of a group, with the pods that run on each new node of the group.
type template struct {
	node *v1.Node
	pods []*v1.Pod
}

// templateLabel marks nodes that are made from templates.
const templateLabel = "cluster-autoscaler.kubernetes.io/template-node"

// makeTemplates returns the template of each group. It derives from a ready node of the group, otherwise from the last ready node that the
// group had, otherwise from the group's own Template, otherwise from any node of the group. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/processors/nodeinfosprovider/mixed_nodeinfos_processor.go.
func (l *loop) makeTemplates() map[string]*template {
	found := map[string]*template{}
	fromNodes := func(wanted func(*v1.Node) bool) {
		for _, node := range l.nodes {
			group := l.groupOf[node.Name]
			if group == nil || found[group.Name] != nil || !wanted(node) {
				continue
			}
			found[group.Name] = l.makeTemplate(group.Name, node, l.snapshot.Pods(node.Name), l.options.ForceDaemonSets)
		}
	}
	fromNodes(l.isExemplary)
	maps.Copy(l.memory.templates, found)
	for _, group := range l.groups {
		switch known := l.memory.templates[group.Name]; {
		case known != nil:
			found[group.Name] = known
		case group.Template != nil:
			made := l.makeTemplate(group.Name, group.Template, nil, true)
			for stable, old := range map[string]string{
				v1.LabelInstanceTypeStable: v1.LabelInstanceType,
				v1.LabelTopologyRegion:     v1.LabelFailureDomainBetaRegion,
				v1.LabelTopologyZone:       v1.LabelFailureDomainBetaZone,
			} {
				if value, has := made.node.Labels[stable]; has {
					made.node.Labels[old] = value
				}
			}
			found[group.Name] = made
		}
	}
	fromNodes(func(*v1.Node) bool { return true })
	return found
}

// isExemplary reports whether new nodes of the group are expected to be like this one: it has been ready for a minute and is not cordoned.
func (l *loop) isExemplary(node *v1.Node) bool {
	ready, since := readiness(node)
	return ready && since.Add(time.Minute).Before(l.now) && !node.Spec.Unschedulable && !hasTaint(node, toBeDeleted)
}

// makeTemplate makes a group's template from a node. Pods of DaemonSets that the node lacks are added if force is set, or if they are so
// critical that they preempt others.
func (l *loop) makeTemplate(group string, from *v1.Node, pods []*v1.Pod, force bool) *template {
	node := copyNode(from, "template-node-for-"+group)
	node.Labels[templateLabel] = "true"
	node.Spec.Taints = slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(taint v1.Taint) bool { return isTransientTaint(taint.Key) })
	made := &template{node: node}
	runs := map[types.UID]bool{}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if isMirror(pod) || isDaemonSetPod(pod) {
			made.pods = append(made.pods, pod)
		}
		if by := metav1.GetControllerOfNoCopy(pod); by != nil && by.Kind == "DaemonSet" {
			runs[by.UID] = true
		}
	}
	for _, ds := range l.state.DaemonSets {
		if should, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds); should && !runs[ds.UID] {
			pod := daemon.NewPod(ds, node.Name)
			pod.Name = ds.Name
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
			if force || isCritical(pod) {
				made.pods = append(made.pods, pod)
			}
		}
	}
	return made
}

func isCritical(pod *v1.Pod) bool {
	policy := pod.Spec.PreemptionPolicy
	return pod.Spec.PriorityClassName == "system-node-critical" && (policy == nil || *policy == v1.PreemptLowerPriority)
}

// newNode returns a new node of the template, and the node's pods.
func (t *template) newNode(name string) (*v1.Node, []*v1.Pod) {
	pods := make([]*v1.Pod, len(t.pods))
	for i, pod := range t.pods {
		copied := *pod
		copied.Name += "-" + name
		copied.UID = types.UID(copied.Namespace + "/" + copied.Name)
		copied.Spec.NodeName = name
		pods[i] = &copied
	}
	return copyNode(t.node, name), pods
}

// copyNode returns a copy of the node with another name.
func copyNode(node *v1.Node, name string) *v1.Node {
	copied := *node
	copied.Name, copied.UID = name, types.UID(name)
	copied.Labels = maps.Clone(node.Labels)
	metav1.SetMetaDataLabel(&copied.ObjectMeta, v1.LabelHostname, name)
	return &copied
}

const (
	toBeDeleted       = "ToBeDeletedByClusterAutoscaler"
	deletionCandidate = "DeletionCandidateOfClusterAutoscaler"
)

// startupTaints are prefixes of taints that a node loses once it has started.
var startupTaints = []string{"ignore-taint.cluster-autoscaler.kubernetes.io/", "startup-taint.cluster-autoscaler.kubernetes.io/"}

// isTransientTaint reports whether the taint describes a node's state of the moment, so that new nodes do not have it. See SanitizeTaints in
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/utils/taints/taints.go.
func isTransientTaint(key string) bool {
	switch key {
	case toBeDeleted, deletionCandidate, v1.TaintNodeNotReady, v1.TaintNodeUnreachable, v1.TaintNodeUnschedulable, v1.TaintNodeMemoryPressure,
		v1.TaintNodeDiskPressure, v1.TaintNodeNetworkUnavailable, v1.TaintNodePIDPressure, "node.cloudprovider.kubernetes.io/uninitialized",
		"node.cloudprovider.kubernetes.io/shutdown", "cloud.google.com/impending-node-termination", "NodeWithImpairedVolumes":
		return true
	}
	return isStartupTaint(key) || strings.HasPrefix(key, "status-taint.cluster-autoscaler.kubernetes.io/")
}

func isStartupTaint(key string) bool {
	return slices.ContainsFunc(startupTaints, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

func hasTaint(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == key })
}

func isMirror(pod *v1.Pod) bool {
	return metav1.HasAnnotation(pod.ObjectMeta, v1.MirrorPodAnnotationKey)
}

// isDaemonSetPod reports whether the pod counts as a DaemonSet's pod.
func isDaemonSetPod(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return by != nil && by.Kind == "DaemonSet" || pod.Annotations["cluster-autoscaler.kubernetes.io/daemonset-pod"] == "true"
}
