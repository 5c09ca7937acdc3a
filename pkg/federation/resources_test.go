package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

var always = v1.ContainerRestartPolicyAlways

// containerWith returns a container with the requests, and with limits.
func containerWith(requests v1.ResourceList, limits ...string) v1.Container {
	c := v1.Container{Resources: v1.ResourceRequirements{Requests: requests}}
	if len(limits) > 0 {
		c.Resources.Limits = resources(limits...)
	}
	return c
}

func containers(all ...v1.Container) []v1.Container { return all }

// The first row is https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/util/resource_test.go, TestResource_AddPodTemplateRequest
func TestResources(t *testing.T) {
	one := containerWith(resources("cpu", "1"))
	sidecar := one
	sidecar.RestartPolicy = &always
	larger := containerWith(resources("cpu", "5"))
	for _, test := range []struct {
		name string
		pods []v1.PodSpec
		want v1.ResourceList
	}{
		{"Karmada's own", []v1.PodSpec{{
			Containers: containers(containerWith(resources("cpu", "10m", "memory", "10", "test.karmada.io/foo", "10", "test.karmada.io/bar", "10"),
				"memory", "99999", "pods", "10", "test.karmada.io/bar", "99999", "test.karmada.io/baz", "10")),
			InitContainers: containers(containerWith(resources("cpu", "5m", "memory", "10", "test.karmada.io/foo", "5", "test.karmada.io/bar", "10"),
				"memory", "99999", "pods", "20", "test.karmada.io/bar", "99999", "test.karmada.io/baz", "20")),
			Overhead: resources("cpu", "5m", "memory", "5", "ephemeral-storage", "5", "pods", "5", "test.karmada.io/foo", "5", "test.karmada.io/bar", "5", "test.karmada.io/baz", "5"),
		}}, resources("cpu", "15m", "memory", "15", "ephemeral-storage", "5", "pods", "25", "test.karmada.io/foo", "15", "test.karmada.io/bar", "15", "test.karmada.io/baz", "25")},
		{"nothing", []v1.PodSpec{{Containers: containers(containerWith(nil))}}, nil},
		{"zeros", []v1.PodSpec{{Containers: containers(containerWith(resources("cpu", "0"), "memory", "0"))}}, nil},
		{"a limit alone", []v1.PodSpec{{Containers: containers(containerWith(nil, "cpu", "1"))}}, resources("cpu", "1")},
		{"a limit beside a request of zero", []v1.PodSpec{{Containers: containers(containerWith(resources("cpu", "0"), "cpu", "1"))}}, nil},
		{"the sum of containers", []v1.PodSpec{{Containers: containers(one, one)}}, resources("cpu", "2")},
		{"the largest of init containers", []v1.PodSpec{{Containers: containers(one, one), InitContainers: containers(one, larger, one)}}, resources("cpu", "5")},
		{"a restartable init container", []v1.PodSpec{{Containers: containers(one), InitContainers: containers(sidecar)}}, resources("cpu", "1")},
		{"an init container's limit", []v1.PodSpec{{Containers: containers(one), InitContainers: containers(containerWith(nil, "cpu", "3"))}}, resources("cpu", "3")},
		{"the overhead comes on top", []v1.PodSpec{{InitContainers: containers(larger), Overhead: resources("cpu", "250m")}}, resources("cpu", "5250m")},
		{"the pod as a whole", []v1.PodSpec{{Containers: containers(one), Resources: &v1.ResourceRequirements{Requests: resources("cpu", "4")}}}, resources("cpu", "1")},
		// The requests are 1, at least 5, and 1 more; or 1 and 1, at least 5.
		{"several pods, the first with an init container", []v1.PodSpec{{Containers: containers(one), InitContainers: containers(larger)}, {Containers: containers(one)}}, resources("cpu", "6")},
		{"several pods, the last with an init container", []v1.PodSpec{{Containers: containers(one)}, {Containers: containers(one), InitContainers: containers(larger)}}, resources("cpu", "5")},
	} {
		t.Run(test.name, func(t *testing.T) {
			sum := Resources{}
			for i := range test.pods {
				sum.AddPod(&test.pods[i])
			}
			if diff := cmp.Diff(test.want, sum.List()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestCount(t *testing.T) {
	required := &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{}}}
	preferred := &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1}}}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	for _, test := range []struct {
		name     string
		replicas int32
		spec     v1.PodSpec
		want     bool
	}{
		{"replicas", 1, v1.PodSpec{}, true},
		{"nothing", 0, v1.PodSpec{}, false},
		{"requests", 0, v1.PodSpec{Containers: containers(containerWith(resources("cpu", "1")))}, true},
		{"requests of zero", 0, v1.PodSpec{Containers: containers(containerWith(resources("cpu", "0")))}, false},
		{"a node selector", 0, v1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"}}, true},
		{"an empty node selector", 0, v1.PodSpec{NodeSelector: map[string]string{}}, false},
		{"tolerations", 0, v1.PodSpec{Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}}}, true},
		{"a required node affinity", 0, v1.PodSpec{Affinity: required}, true},
		{"a preferred node affinity", 0, v1.PodSpec{Affinity: preferred}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var template Template
			if template.SetReplicas(test.replicas, &test.spec); template.Workload != test.want || template.Replicas != test.replicas {
				t.Errorf("workload %t of %d replicas; want %t of %d", template.Workload, template.Replicas, test.want, test.replicas)
			}
		})
	}
}
