package cluster_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

func TestControlPlanes(t *testing.T) {
	node := func(name, label, taint string) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if label != "" {
			n.Labels = map[string]string{label: ""}
		}
		if taint != "" {
			n.Spec.Taints = []v1.Taint{{Key: taint, Effect: v1.TaintEffectNoSchedule}}
		}
		return n
	}
	pod := func(name, on, mirror, owner string) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system"}, Spec: v1.PodSpec{NodeName: on}}
		if mirror != "" {
			p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: mirror}
		}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: on, Controller: new(true)}}
		}
		return p
	}
	nodes := []*v1.Node{
		node("kubeadm", "node-role.kubernetes.io/control-plane", ""), node("openshift", "node-role.kubernetes.io/master", ""), node("rke", "node-role.kubernetes.io/controlplane", ""),
		node("tainted", "", "node-role.kubernetes.io/control-plane"), node("old", "", "node-role.kubernetes.io/master"),
		node("bare", "", ""), node("owned", "", ""), node("etcd-1", "", ""),
		node("worker", "node-role.kubernetes.io/worker", ""), node("gke", "", "dedicated"), node("hosted", "", ""), node("aggregated", "", ""), node("pending", "", ""),
	}
	pods := []*v1.Pod{
		pod("kube-apiserver-bare", "bare", "1", ""), pod("openshift-kube-scheduler-owned", "owned", "", "Node"), pod("etcd-etcd-1", "etcd-1", "1", "Node"),
		pod("kube-proxy-gke", "gke", "1", "Node"), pod("kube-apiserver-proxy-hosted", "hosted", "1", "Node"), // static pods of workers
		pod("kube-apiserver-aggregated", "aggregated", "", "ReplicaSet"), // a control plane as a workload, such as that of a virtual cluster
		pod("kube-apiserver", "", "1", ""),
	}
	want := []string{"bare", "etcd-1", "kubeadm", "old", "openshift", "owned", "rke", "tainted"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(cluster.ControlPlanes(nodes, pods)))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
