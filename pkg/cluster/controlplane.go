package cluster

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controlPlaneRoles are the keys of the labels and taints that installers give to the nodes of a control plane: kubeadm since 1.20; older
// kubeadm and OpenShift; RKE 1.
var controlPlaneRoles = []string{
	"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node-role.kubernetes.io/controlplane",
}

// IsControlPlaneRole reports whether the key is that of a label or a taint of the nodes of a control plane.
func IsControlPlaneRole(key string) bool { return slices.Contains(controlPlaneRoles, key) }

// controlPlaneParts are the names of the static pods of a control plane, without the names of their nodes, in kubeadm and RKE2, OpenShift,
// and kops. A kube-apiserver-proxy is missing, since it also runs on workers.
var controlPlaneParts = []string{
	"kube-apiserver", "kube-controller-manager", "kube-scheduler", "openshift-kube-scheduler", "etcd", "etcd-manager-main",
}

// ControlPlanes returns the names of the nodes of the control plane: nodes with a label, a taint or a static pod of one. A dump may have
// only one of these three signs.
func ControlPlanes(nodes []*v1.Node, pods []*v1.Pod) map[string]bool {
	found := map[string]bool{}
	for _, node := range nodes {
		for _, role := range controlPlaneRoles {
			_, labelled := node.Labels[role]
			if labelled || slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == role }) {
				found[node.Name] = true
			}
		}
	}
	for _, pod := range pods {
		if on := pod.Spec.NodeName; on != "" && isStatic(pod) && slices.Contains(controlPlaneParts, strings.TrimSuffix(pod.Name, "-"+on)) {
			found[on] = true
		}
	}
	return found
}

// isStatic reports whether the pod is the mirror of a static pod, which only the kubelet of its node makes.
func isStatic(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return metav1.HasAnnotation(pod.ObjectMeta, v1.MirrorPodAnnotationKey) || by != nil && by.Kind == "Node"
}
