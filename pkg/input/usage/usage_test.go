package usage

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestAdd(t *testing.T) {
	containers := "NAMESPACE   POD     NAME   CPU(cores)   MEMORY(bytes)\nshop        web-1   web    250m         64Mi\nshop        web-1   side   1            1Gi\n"
	vector := `{"status": "success", "data": {"resultType": "vector", "result": [
		{"metric": {"__name__": "container_memory_working_set_bytes", "namespace": "shop", "pod": "web-1", "container": "web"}, "value": [1.5, "1024"]},
		{"metric": {"resource": "cpu", "pod": "db-0"}, "value": [1, "0.25"]}]}}`
	for name, test := range map[string]struct{ data, want string }{
		"containers": {containers, "shop/web-1/side cpu 1 memory 1Gi\nshop/web-1/web cpu 250m memory 64Mi\n"},
		"pods":       {"NAME    CPU(cores)   MEMORY(bytes)\nweb-1   3m           0Mi\n", "default/web-1/ cpu 3m memory 0\n"},
		"vector":     {vector, "default/db-0/ cpu 250m\nshop/web-1/web memory 1Ki\n"},
	} {
		u := Usage{}
		if err := u.AddFile("file", []byte(test.data), "default"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, formatUsage(u)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAddRejects(t *testing.T) {
	for data, want := range map[string]string{
		"":                     "file: is empty; give what kubectl top pods -A --containers prints, or a Prometheus instant vector as JSON",
		"error: Metrics API\n": `file: line 1: "error: Metrics API" has no columns NAME, CPU(cores) and MEMORY(bytes); give what kubectl top pods -A --containers prints, or a Prometheus instant vector as JSON`,
		"NAME CPU(cores) MEMORY(bytes)\nweb 1 much\n":                                                                      `file: line 2: MEMORY(bytes) is "much", not a quantity such as 250m or 64Mi`,
		"NAME CPU(cores) MEMORY(bytes)\nweb 1\n":                                                                           "file: line 2: 2 columns below 3 heads",
		`{"data": {"resultType": "matrix"}}`:                                                                               `file: data.resultType is "matrix", not vector; give the answer of an instant query`,
		`{"data": {"resultType": "vector", "result": [{"metric": {"pod": "a"}, "value": [1, "1"]}]}}`:                      `file: data.result[0]: neither its name nor a label resource says cpu or memory; add the label, for example with label_replace(…, "resource", "cpu", "", "")`,
		`{"data": {"resultType": "vector", "result": [{"metric": {"resource": "cpu"}, "value": [1, "1"]}]}}`:               "file: data.result[0]: has no label pod; sum by (namespace, pod, container)",
		`{"data": {"resultType": "vector", "result": [{"metric": {"resource": "cpu", "pod": "a"}, "value": [1, "NaN"]}]}}`: "file: data.result[0]: value NaN is not a number from 0",
	} {
		err := Usage{}.AddFile("file", []byte(data), "default")
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

// formatUsage returns a line for each container.
func formatUsage(u Usage) string {
	var lines []string
	for pod, containers := range u {
		for container, used := range containers {
			line := pod.Namespace + "/" + pod.Name + "/" + container
			for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				if quantity, known := used[name]; known {
					line += " " + string(name) + " " + quantity.String()
				}
			}
			lines = append(lines, line+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
