package flink

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// spec has the fields of a FlinkDeployment that decide how many pods there are, and where they go.
type spec struct {
	Image              string                     `json:"image"`
	Mode               string                     `json:"mode"`
	FlinkConfiguration map[string]json.RawMessage `json:"flinkConfiguration"`
	PodTemplate        json.RawMessage            `json:"podTemplate"`
	JobManager         role                       `json:"jobManager"`
	TaskManager        role                       `json:"taskManager"`
	Job                *struct {
		Parallelism int32 `json:"parallelism"`
	} `json:"job"`
}

// role has the fields of the JobManager or the TaskManager. Resources is newer than Resource, and wins over it.
type role struct {
	Replicas *int32 `json:"replicas"`
	Resource struct {
		CPU    json.RawMessage `json:"cpu"`
		Memory string          `json:"memory"`
	} `json:"resource"`
	Resources   v1.ResourceRequirements `json:"resources"`
	PodTemplate json.RawMessage         `json:"podTemplate"`
}

// maxReplicas is the maximum number of replicas, so that sums cannot overflow.
const maxReplicas = 1_000_000_000

func (s *spec) parallelism() *int32 {
	if s.Job == nil {
		return nil
	}
	return &s.Job.Parallelism
}

func decodeSpec(data []byte) (*spec, error) {
	var given struct {
		Spec spec `json:"spec"`
	}
	if _, err := manifest.DecodeResource(data, &given); err != nil {
		return nil, err
	}
	s := &given.Spec
	for _, n := range []struct {
		path  string
		value *int32
	}{{"jobManager.replicas", s.JobManager.Replicas}, {"taskManager.replicas", s.TaskManager.Replicas}, {"job.parallelism", s.parallelism()}} {
		if n.value != nil && (*n.value < 0 || *n.value > maxReplicas) {
			return nil, fmt.Errorf("spec.%s: %d is not between 0 and %d", n.path, *n.value, maxReplicas)
		}
	}
	return s, nil
}

// configValue returns a value of flinkConfiguration, which is a string or a number.
func (s *spec) configValue(key string) string {
	return strings.Trim(string(s.FlinkConfiguration[key]), `"`)
}

func (s *spec) slots() int32 {
	if n, err := strconv.ParseInt(s.configValue("taskmanager.numberOfTaskSlots"), 10, 32); err == nil && n > 0 {
		return int32(n)
	}
	return 1
}

func (s *spec) jobManagers() int32 {
	if s.JobManager.Replicas != nil {
		return *s.JobManager.Replicas
	}
	return 1
}

// taskManagers returns the number of TaskManagers: their replicas, or the number that the job needs for its parallelism.
func (s *spec) taskManagers() int32 {
	switch {
	case s.TaskManager.Replicas != nil:
		return *s.TaskManager.Replicas
	case s.Job != nil:
		return max(1, int32((int64(s.Job.Parallelism)+int64(s.slots())-1)/int64(s.slots())))
	case s.Mode == "standalone":
		return 1
	}
	return 0
}

func (r *role) memory() string {
	for _, list := range []v1.ResourceList{r.Resources.Requests, r.Resources.Limits} {
		if q, found := list[v1.ResourceMemory]; found {
			return q.String()
		}
	}
	return r.Resource.Memory
}

func (r *role) cpu() (*resource.Quantity, error) {
	for _, list := range []v1.ResourceList{r.Resources.Requests, r.Resources.Limits} {
		if q, found := list[v1.ResourceCPU]; found {
			return &q, nil
		}
	}
	text := strings.Trim(string(r.Resource.CPU), `"`)
	if text == "" || text == "null" {
		return nil, nil
	}
	q, err := resource.ParseQuantity(text)
	return &q, err
}

// flinkMemory matches Flink's notation for memory. Units are powers of 1024, in upper or lower case.
// https://github.com/apache/flink/blob/release-2.0/flink-core-api/src/main/java/org/apache/flink/configuration/MemorySize.java
var flinkMemory = regexp.MustCompile(`^([0-9]+)\s*(|b|bytes|k|kb|kibibytes|m|mb|mebibytes|g|gb|gibibytes|t|tb|tebibytes)$`)

// parseMemory parses memory in Flink's notation or, if that fails, in Kubernetes'.
func parseMemory(text string) (*resource.Quantity, error) {
	if parts := flinkMemory.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text))); parts != nil {
		n, err := strconv.ParseInt(parts[1], 10, 64)
		shift := map[byte]int{'k': 10, 'm': 20, 'g': 30, 't': 40}[(parts[2] + " ")[0]]
		if err != nil || n > math.MaxInt64>>shift {
			return nil, fmt.Errorf("%q is too much", text)
		}
		return resource.NewQuantity(n<<shift, resource.BinarySI), nil
	}
	upper := strings.TrimSuffix(strings.ToUpper(strings.ReplaceAll(text, " ", "")), "B")
	if number, is := strings.CutSuffix(upper, "I"); is {
		upper = number + "i"
	}
	q, err := resource.ParseQuantity(upper)
	if err != nil {
		return nil, fmt.Errorf("%q is not an amount; give one such as 2048m or 2Gi", text)
	}
	return &q, nil
}

// KarmadaReplicas returns the replicas of a FlinkDeployment and the requests of each replica as Karmada computes them: the sum of JobManagers and
// TaskManagers, and the maximum of their requests. Karmada reads only the field resource, and takes memory in Kubernetes' notation, in
// which 2048m is 3 bytes.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/resourceinterpreter/default/thirdparty/resourcecustomizations/flink.apache.org/v1beta1/FlinkDeployment/customizations.yaml
func KarmadaReplicas(data []byte) (int32, v1.ResourceList, error) {
	s, err := decodeSpec(data)
	if err != nil {
		return 0, nil, err
	}
	taskManagers := int32(1)
	slots, err := strconv.ParseInt(s.configValue("taskmanager.numberOfTaskSlots"), 10, 32)
	switch {
	case s.TaskManager.Replicas != nil:
		taskManagers = *s.TaskManager.Replicas
	case s.Job != nil && s.Job.Parallelism > 0 && err == nil && slots > 0:
		taskManagers = int32((int64(s.Job.Parallelism) + slots - 1) / slots)
	}
	requests := v1.ResourceList{}
	take := func(name v1.ResourceName, text string) error {
		if text = strings.Trim(text, `"`); text == "" || text == "null" {
			return nil
		}
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return fmt.Errorf("%s %q: Karmada cannot read it: %w", name, text, err)
		}
		if had, found := requests[name]; !found || q.Cmp(had) > 0 {
			requests[name] = q
		}
		return nil
	}
	for _, r := range []*role{&s.JobManager, &s.TaskManager} {
		if err := take(v1.ResourceCPU, string(r.Resource.CPU)); err != nil {
			return 0, nil, err
		}
		if err := take(v1.ResourceMemory, r.Resource.Memory); err != nil {
			return 0, nil, err
		}
	}
	return s.jobManagers() + taskManagers, requests, nil
}
