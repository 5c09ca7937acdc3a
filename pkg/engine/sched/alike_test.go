package sched

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/cluster"
)

// The pods of a ReplicaSet can differ: the template was patched between two of them, an admission webhook resized one, a gate was removed
// from one. In each case, the first of two pods cannot be placed; the second, which differs, is placed; and a third, which equals the
// first, is rejected with the same message.
func TestARefusalHoldsForPodsThatLookTheSame(t *testing.T) {
	control := v1.Toleration{Key: "node-role.kubernetes.io/control-plane", Operator: v1.TolerationOpExists}
	cases := map[string]struct {
		refuse func(*v1.Pod)
		differ func(*v1.Pod)
		node   string
	}{
		"requests": {
			refuse: func(pod *v1.Pod) { request(pod, "9") }, // a worker has 8
			differ: func(pod *v1.Pod) { request(pod, "1") },
			node:   "w1",
		},
		"requests of an init container": {
			refuse: func(pod *v1.Pod) { initContainer(pod, "9") },
			differ: func(pod *v1.Pod) { initContainer(pod, "1") },
			node:   "w1",
		},
		"tolerations": {
			refuse: func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{hostname: "affinity-control-plane"} },
			differ: func(pod *v1.Pod) { pod.Spec.Tolerations = []v1.Toleration{control} },
			node:   "affinity-control-plane",
		},
		"gates": {
			refuse: func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/quota"}} },
			differ: func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil },
			node:   "w1",
		},
		"labels": {
			refuse: func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "shunned"} },
			differ: func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "web"} },
			node:   "w1",
		},
		"a volume": {
			refuse: func(pod *v1.Pod) { claims(pod, "absent") },
			differ: func(pod *v1.Pod) { pod.Spec.Volumes = nil },
			node:   "w1",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state := walkthrough()
			_, guards := replicas("guard", 3, hard("shunned", hostname))
			for i, guard := range guards {
				state = state.With(cluster.BindPod(guard, fmt.Sprintf("w%d", i+1), cluster.Epoch.Time))
			}
			set, pods := replicas("web", 3, nil)
			for i := range pods {
				pods[i] = pods[i].DeepCopy() // as the pods of a dump, which share nothing
				c.refuse(pods[i])
			}
			c.differ(pods[1])
			result := place(t, Ties{}, state, set, pods)
			var placed, pending []string
			for _, p := range result.Placed {
				placed = append(placed, p.Pod.Name+" on "+p.Node)
			}
			for _, p := range result.Pending {
				pending = append(pending, p.Pod.Name)
			}
			if diff := cmp.Diff([]string{"web-1 on " + c.node}, placed); diff != "" {
				t.Errorf("placed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"web-0", "web-2"}, pending); diff != "" {
				t.Fatalf("pending (-want +got):\n%s", diff)
			}
			if first, third := result.Pending[0].Message, result.Pending[1].Message; first != third {
				t.Errorf("the third pod is rejected with %q, the first with %q", third, first)
			}
		})
	}
}

// Fields that only the API server and the kubelet read do not make pods differ: each pod of a cluster has a token volume with its own name.
func TestATokenVolumeIsNoDifference(t *testing.T) {
	_, pods := replicas("web", 2, nil)
	for i, name := range []string{"kube-api-access-aaaaa", "kube-api-access-bbbbb"} {
		pods[i] = pods[i].DeepCopy()
		pods[i].Spec.Volumes = []v1.Volume{{Name: name, VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}}
		pods[i].Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: name, MountPath: "/var/run/secrets"}}
	}
	if !alike(pods[0], pods[1]) {
		t.Error("two pods that differ in the names of their token volumes are not alike")
	}
	claims(pods[0], "data")
	if alike(pods[0], pods[1]) {
		t.Error("a pod with a claim is like one without")
	}
}

// The pods of a template share memory, which makes the comparison cheap.
func BenchmarkAlike(b *testing.B) {
	_, pods := replicas("web", 2, soft("web", map[string]int32{zone: 100}, zone))
	for name, second := range map[string]*v1.Pod{"template": cluster.BindPod(pods[0], "", cluster.Epoch.Time), "dump": pods[0].DeepCopy()} {
		second.Status = v1.PodStatus{}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !alike(pods[0], second) {
					b.Fatal("not alike")
				}
			}
		})
	}
}

func request(pod *v1.Pod, cpu string) {
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}
}

func initContainer(pod *v1.Pod, cpu string) {
	pod.Spec.InitContainers = []v1.Container{{Name: "i", Image: "pause", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
}
