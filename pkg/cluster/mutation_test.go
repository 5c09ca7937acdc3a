package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func containerRequesting(name, cpu string) v1.Container {
	return v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}
}

func podOfContainers(containers ...v1.Container) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: v1.PodSpec{Containers: containers}}
}

// editedPod returns the pod after the change.
func editedPod(p *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	p = p.DeepCopy()
	change(p)
	return p
}

func TestWhatTheClusterDoesToAPodIsObservedAndDoneAgain(t *testing.T) {
	template := podOfContainers(containerRequesting("main", "500m"))
	initialised := editedPod(template, func(p *v1.Pod) { p.Spec.InitContainers = []v1.Container{containerRequesting("setup", "1")} })
	spot := v1.Toleration{Key: "spot", Operator: v1.TolerationOpExists}
	for name, test := range map[string]struct {
		template, running *v1.Pod
		claims            []v1.PersistentVolumeClaim
		want              *Mutation
	}{
		"nothing": {template, template, nil, nil},
		"what the scheduler, the kubelet and the service account's plugin write": {template, editedPod(template, func(p *v1.Pod) {
			p.Spec.NodeName, p.Spec.ServiceAccountName, p.Spec.Hostname = "n1", "default", "web-0"
			p.Labels["pod-template-hash"], p.Labels["apps.kubernetes.io/pod-index"] = "5d", "0"
			p.Spec.Volumes = []v1.Volume{{Name: "kube-api-access-x", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "kube-api-access-x"}}
			p.Spec.EphemeralContainers = []v1.EphemeralContainer{{}}
		}), nil, nil},
		"gates that were lifted": {editedPod(template, func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "queue"}} }), template, nil, nil},
		"a sidecar and its volume": {template, editedPod(template, func(p *v1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, containerRequesting("proxy", "100m"))
			p.Spec.Volumes = []v1.Volume{{Name: "envoy", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
			p.Labels["mesh"] = "on"
		}), nil, &Mutation{
			Labels: map[string]string{"mesh": "on"}, Containers: []v1.Container{containerRequesting("proxy", "100m")},
			Volumes: []v1.Volume{{Name: "envoy", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}},
		}},
		"init containers on both sides of the template's": {initialised, editedPod(initialised, func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{containerRequesting("first", "10m"), containerRequesting("setup", "1"), containerRequesting("last", "20m")}
		}), nil, &Mutation{FirstInitContainers: []v1.Container{containerRequesting("first", "10m")}, LastInitContainers: []v1.Container{containerRequesting("last", "20m")}}},
		"other requests":                   {template, podOfContainers(containerRequesting("main", "750m")), nil, &Mutation{Resources: map[string]v1.ResourceRequirements{"main": containerRequesting("", "750m").Resources}}},
		"the same requests in other words": {template, podOfContainers(containerRequesting("main", "0.5")), nil, nil},
		"tolerations and a selector": {template, editedPod(template, func(p *v1.Pod) {
			p.Spec.Tolerations, p.Spec.NodeSelector = []v1.Toleration{spot}, map[string]string{"pool": "spot"}
		}), nil, &Mutation{Tolerations: []v1.Toleration{spot}, NodeSelector: map[string]string{"pool": "spot"}}},
		"the claims of a StatefulSet": {template, editedPod(template, func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-web-0"}}}}
		}), []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}, nil},
		"names in place of others": {template, editedPod(template, func(p *v1.Pod) {
			runtime := "kata"
			p.Spec.PriorityClassName, p.Spec.SchedulerName, p.Spec.RuntimeClassName = "high", "volcano", &runtime
		}), nil, &Mutation{PriorityClassName: "high", SchedulerName: "volcano", RuntimeClassName: "kata"}},
	} {
		got := ObserveMutation(test.template, test.running, test.claims)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		again := test.template.DeepCopy()
		got.Apply(again)
		if left := ObserveMutation(again, test.running, test.claims); left != nil {
			t.Errorf("%s: a pod of the changed template still differs: %+v", name, left)
		}
		once := again.DeepCopy()
		got.Apply(again)
		if diff := cmp.Diff(once, again); diff != "" {
			t.Errorf("%s: the change is made twice (-once +twice):\n%s", name, diff)
		}
	}
}

func TestWhatAllWorkloadsOfANamespaceGet(t *testing.T) {
	proxy := containerRequesting("proxy", "100m")
	other := proxy
	other.Env = []v1.EnvVar{{Name: "APP", Value: "api"}} // from pod to pod
	web := &Mutation{Containers: []v1.Container{proxy}, Resources: map[string]v1.ResourceRequirements{"main": {}}, Labels: map[string]string{"app": "web", "mesh": "on"}}
	api := &Mutation{Containers: []v1.Container{other, containerRequesting("vault", "50m")}, Labels: map[string]string{"app": "api", "mesh": "on"}}
	want := &Mutation{Containers: []v1.Container{proxy}, Labels: map[string]string{"mesh": "on"}}
	if diff := cmp.Diff(want, web.Intersect(api)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := web.Intersect(nil); got != nil {
		t.Errorf("a workload without the change: still common: %+v", got)
	}
	m := &Mutations{
		Workloads:  map[Ref]*Mutation{{"Deployment", "shop", "web"}: web, {"Deployment", "shop", "plain"}: nil},
		Namespaces: map[string]*Mutation{"shop": want},
	}
	for ref, want := range map[Ref]*Mutation{
		{"Deployment", "shop", "web"}: web, {"Deployment", "shop", "plain"}: nil, {"Deployment", "shop", "new"}: want, {"Deployment", "other", "new"}: nil,
	} {
		if got := m.Lookup(ref); got != want {
			t.Errorf("%v gets %+v", ref, got)
		}
	}
}
