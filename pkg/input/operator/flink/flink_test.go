package flink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

func expandText(t *testing.T, spec string) (*operator.Result, error) {
	t.Helper()
	set, err := manifest.Decode("job.yaml", []byte("apiVersion: flink.apache.org/v1beta1\nkind: FlinkDeployment\nmetadata: {name: job, namespace: flink}\nspec: "+spec))
	if err != nil {
		t.Fatal(err)
	}
	return operator.Expand([]operator.Operator{New()}, set.Ignored)
}

func TestExpand(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		want []string
	}{
		"a job, by parallelism": {
			`{image: "flink:1.20", flinkConfiguration: {taskmanager.numberOfTaskSlots: "2"}, job: {parallelism: 5},
  jobManager: {resource: {cpu: 1, memory: 2048m}}, taskManager: {resource: {cpu: 0.5, memory: 4Gi}}}`,
			[]string{"job: 1 of flink:1.20, 1 CPU, 2Gi, native jobmanager", "job-taskmanager: 3 of flink:1.20, 500m CPU, 4Gi, native taskmanager"},
		},
		"replicas win over parallelism, resources over resource": {
			`{flinkConfiguration: {taskmanager.numberOfTaskSlots: 4}, job: {parallelism: 100}, jobManager: {replicas: 2, resources: {requests: {memory: 1Gi, cpu: "2"}}, resource: {memory: 9g}},
  taskManager: {replicas: 7, resources: {limits: {memory: 2G}}}}`,
			[]string{"job: 2 of flink, 2 CPU, 1Gi, native jobmanager", "job-taskmanager: 7 of flink, 4 CPU, 2Gi, native taskmanager"},
		},
		"a session": {
			`{mode: native}`,
			[]string{
				"job: 1 of flink, 1 CPU, 1600Mi, native jobmanager", "job-taskmanager: 0 of flink, 1 CPU, 1728Mi, native taskmanager",
				"FlinkDeployment flink/job: assumed: the jobmanager has 1600m of memory, as Flink's configuration file says",
				"FlinkDeployment flink/job: assumed: the taskmanager has 1728m of memory, as Flink's configuration file says",
				"FlinkDeployment flink/job: assumed: it is a session cluster to which no job is submitted, so that it has no TaskManagers",
			},
		},
		"sizes of the configuration, pod templates": {
			`{mode: standalone, flinkConfiguration: {jobmanager.memory.process.size: 1 gb, taskmanager.memory.process.size: 3072m, kubernetes.taskmanager.cpu.amount: 1.5},
  podTemplate: {spec: {nodeSelector: {disk: ssd}, containers: [{name: flink-main-container, image: "mine:1"}, {name: logs, image: logs}]}},
  taskManager: {podTemplate: {spec: {containers: [{name: flink-main-container, image: "mine:2"}]}}}}`,
			[]string{"job: 1 of mine:1, 1 CPU, 1Gi, standalone jobmanager, logs on ssd", "job-taskmanager: 1 of mine:2, 1500m CPU, 3Gi, standalone taskmanager, logs on ssd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := expandText(t, test.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range result.Objects {
				d := obj.Object.(*appsv1.Deployment)
				labels, spec := d.Spec.Template.Labels, d.Spec.Template.Spec
				main := spec.Containers[0]
				text := fmt.Sprintf("%s: %d of %s, %s CPU, %s, %s %s", d.Name, *d.Spec.Replicas, main.Image, main.Resources.Requests.Cpu(),
					main.Resources.Limits.Memory(), strings.TrimSuffix(strings.TrimPrefix(labels["type"], "flink-"), "-kubernetes"), labels["component"])
				for _, c := range spec.Containers[1:] {
					text += ", " + c.Name + " on " + spec.NodeSelector["disk"]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, append(got, result.Notes...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpandErrors(t *testing.T) {
	for spec, want := range map[string]string{
		`{jobManager: {replicas: -1}}`:                                                  "spec.jobManager.replicas: -1 is not between 0 and 1000000000",
		`{job: {parallelism: two}}`:                                                     `spec.job.parallelism: Invalid value: "two": a string where a whole number is wanted`,
		`{jobManager: {resource: {memory: much}}}`:                                      `jobmanager: memory: "much" is not an amount; give one such as 2048m or 2Gi`,
		`{jobManager: {resource: {memory: 99999999999t}}}`:                              `jobmanager: memory: "99999999999t" is too much`,
		`{flinkConfiguration: {kubernetes.taskmanager.cpu.amount: many}, mode: native}`: "flinkConfiguration: kubernetes.taskmanager.cpu.amount: ",
	} {
		if _, err := expandText(t, spec); err == nil || !strings.Contains(err.Error(), "job.yaml: FlinkDeployment flink/job: "+want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// Karmada's interpreter gives these numbers: 1 JobManager, and 3 TaskManagers for a parallelism of 5 with 2 slots each; the larger of the
// two requests. It takes 2048m for 2048 thousandths of a byte.
func TestReplicas(t *testing.T) {
	for spec, want := range map[string]string{
		`{"flinkConfiguration":{"taskmanager.numberOfTaskSlots":"2"},"job":{"parallelism":5},"jobManager":{"resource":{"cpu":1,"memory":"2048m"}},"taskManager":{"resource":{"cpu":2,"memory":"1Gi"}}}`: "4, 2 CPU, 1Gi",
		`{"job":{"parallelism":5},"jobManager":{"replicas":2,"resource":{"memory":"2048m"}}}`:                                                                                                           "3, 0 CPU, 2048m",
		`{"taskManager":{"replicas":3}}`: "4, 0 CPU, 0",
	} {
		n, requests, err := KarmadaReplicas([]byte(`{"spec":` + spec + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d, %s CPU, %s", n, requests.Cpu(), requests.Memory()); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
	if _, _, err := KarmadaReplicas([]byte(`{"spec":{"jobManager":{"resource":{"memory":"2gb"}}}}`)); err == nil || !strings.Contains(err.Error(), `memory "2gb": Karmada cannot read it`) {
		t.Errorf("%v", err)
	}
}
