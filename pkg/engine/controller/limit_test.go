package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// Each of the workloads asks for more pods than any machine could hold.
func TestCheckPods(t *testing.T) {
	const template = `selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: registry.example.com/a:1}]}}`
	const node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {zone: %s}}\nstatus: {allocatable: {cpu: 4, pods: 110}}\n"
	nodes := fmt.Sprintf(node, 1, "a") + fmt.Sprintf(node, 2, "a") + fmt.Sprintf(node, 3, "b")
	of := func(kind, spec string) string {
		return "---\napiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: a}\nspec: {" + spec + ", " + template + "}\n"
	}
	job := func(spec string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {" + spec +
			", template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.example.com/a:1}]}}}\n"
	}
	const most = 5
	for name, test := range map[string]struct{ objects, want string }{
		"Deployment":         {of("Deployment", "replicas: 2147483647, strategy: {rollingUpdate: {maxSurge: 0}}"), "Deployment default/a: asks for 2147483647 of 2147483647 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"surge":              {of("Deployment", "replicas: 2, strategy: {rollingUpdate: {maxSurge: 2147483647}}"), "Deployment default/a: spec.strategy.rollingUpdate.maxSurge: with it there are 2147483649 pods; give a maxSurge with which there are at most 2147483647"},
		"ReplicaSet":         {of("ReplicaSet", "replicas: 6"), "ReplicaSet default/a: asks for 6 of 6 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"StatefulSet":        {of("StatefulSet", "replicas: 2147483647"), "StatefulSet default/a: asks for 2147483647 of 2147483647 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"ordinals":           {of("StatefulSet", "replicas: 3, ordinals: {start: 2147483646}"), "StatefulSet default/a: spec.ordinals.start: from 2147483646 on, 3 pods cannot be numbered; give a start of at most 2147483644"},
		"last ordinals":      {of("StatefulSet", "replicas: 3, ordinals: {start: 2147483644}"), ""},
		"parallelism":        {job("parallelism: 2000000000"), "Job default/a: asks for 2000000000 of 2000000000 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"completions":        {job("parallelism: 2000000000, completions: 5"), ""},
		"suspended":          {job("parallelism: 2000000000, suspend: true"), ""},
		"several":            {job("parallelism: 2") + of("ReplicaSet", "replicas: 4"), "ReplicaSet default/a: asks for 4 of 6 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"autoscaler":         {of("Deployment", "replicas: 1") + "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {minReplicas: 2000000000, maxReplicas: 2000000001, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}\n", "Deployment default/a: asks for 2000000000 of 2000000000 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"DaemonSet":          {of("DaemonSet", "minReadySeconds: 0") + of("ReplicaSet", "replicas: 3"), "ReplicaSet default/a: asks for 3 of 6 pods, and a simulation has at most 5; ask for fewer, or set maxPods in the scenario"},
		"DaemonSet of a few": {strings.Replace(of("DaemonSet", "minReadySeconds: 0"), "spec: {containers", "spec: {nodeSelector: {zone: a}, containers", 1) + of("ReplicaSet", "replicas: 3"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := manifest.Decode("a.yaml", []byte(nodes+test.objects))
			if err != nil {
				t.Fatal(err)
			}
			state := &cluster.State{Now: cluster.Epoch}
			for _, object := range set.Objects {
				if state, _, err = admission.Admit(state, object.Object); err != nil {
					t.Fatal(err)
				}
			}
			got := ""
			if err := controller.CheckPods(state, most); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := controller.CheckPods(&cluster.State{Pods: make([]*v1.Pod, most+1)}, most); err != nil {
		t.Errorf("pods that no controller makes are counted: %v", err)
	}
}
