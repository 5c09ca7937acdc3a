package simulation

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

// What the API server adds to a pod, but not to a template, applies to the pods of every controller as to a bare pod: limits become
// requests, and ports of the host network become host ports. Two nodes have 4 CPUs each, and one of them a GPU.
func TestPodsOfTemplatesAreDefaulted(t *testing.T) {
	const (
		full  = "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
		noGPU = "0/2 nodes are available: 2 Insufficient example.com/gpu. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
		ports = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod."
	)
	const template = `"template": {"metadata": {"labels": {"app": "web"}}, "spec": %s}`
	const selector = `"selector": {"matchLabels": {"app": "web"}}, `
	kinds := map[string]string{
		"Deployment":  `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 3, ` + selector + template + `}}`,
		"ReplicaSet":  `{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": {"replicas": 3, ` + selector + template + `}}`,
		"StatefulSet": `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": {"replicas": 3, "podManagementPolicy": "Parallel", ` + selector + template + `}}`,
		"Job":         `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web"}, "spec": {"parallelism": 3, ` + template + `}}`,
		"Indexed Job": `{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web"}, "spec": {"parallelism": 3, "completions": 3, "completionMode": "Indexed", ` + template + `}}`,
	}
	tests := []struct {
		name, spec string
		running    int
		message    string
	}{
		{"CPU by limits", `{"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "3"}}}]%s}`, 2, full},
		{"GPU by limits", `{"containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}}]%s}`, 1, noGPU},
		{"CPU of an init container", `{"containers": [{"name": "c", "image": "i"}], "initContainers": [{"name": "d", "image": "i", "resources": {"limits": {"cpu": "3"}}}]%s}`, 2, full},
		{"CPU of the pod by limits", `{"resources": {"limits": {"cpu": "3"}}, "containers": [{"name": "c", "image": "i"}]%s}`, 2, full},
		{"port of the host's network", `{"hostNetwork": true, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]%s}`, 2, ports},
	}
	for kind, object := range kinds {
		for _, test := range tests {
			t.Run(kind+"/"+test.name, func(t *testing.T) {
				restart := ""
				if kind == "Job" || kind == "Indexed Job" {
					restart = `, "restartPolicy": "Never"`
				}
				step := runTemplate(t, fmt.Sprintf(object, fmt.Sprintf(test.spec, restart)))
				running := 0
				for _, pod := range step.State.Pods {
					if pod.Spec.NodeName != "" {
						running++
					}
				}
				var messages []string
				for _, pending := range step.Pending {
					messages = append(messages, pending.Message)
				}
				want := []string(nil)
				for range 3 - test.running {
					want = append(want, test.message)
				}
				if diff := cmp.Diff(append([]string{fmt.Sprint(test.running, " run")}, want...), append([]string{fmt.Sprint(running, " run")}, messages...)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A DaemonSet that limits its pods to 3 CPUs takes them before a pod of lower priority arrives that wants 2.
func TestDaemonPodsAreDefaulted(t *testing.T) {
	step := runTemplate(t, `{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
		"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
		"spec": {"priorityClassName": "system-node-critical", "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "3"}}}]}}}}`,
		`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]}}`)
	if len(step.Pending) != 1 || step.Pending[0].Pod.Name != "p" {
		t.Errorf("%d Pending, want p: the daemon's pods leave 1 CPU on each node", len(step.Pending))
	}
}

func runTemplate(t *testing.T, objects ...string) *Step {
	t.Helper()
	raw := func(text string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(text)} }
	node := `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "%s"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "9"%s}}}`
	file := &scenario.File{
		Cluster:   []scenario.Source{{Objects: []runtime.RawExtension{raw(fmt.Sprintf(node, "a", "")), raw(fmt.Sprintf(node, "b", `, "example.com/gpu": "1"`))}}},
		Workloads: []scenario.Source{{}},
	}
	for _, object := range objects {
		file.Workloads[0].Objects = append(file.Workloads[0].Objects, raw(object))
	}
	s, err := loader.New("template", file)
	if err != nil {
		t.Fatal(err)
	}
	return &runCase(t, s).Steps[0]
}
