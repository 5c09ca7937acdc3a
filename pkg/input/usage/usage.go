// Package usage reads how much CPU and memory containers use, from the output of kubectl top pods or from an instant vector of Prometheus
// as JSON.
package usage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Pod is the namespace and the name of a pod.
type Pod struct{ Namespace, Name string }

// Usage has how much containers use, by pod, container and resource. The container "" stands for the whole pod.
type Usage map[Pod]map[string]v1.ResourceList

// AddFile reads a file, and adds its values. Pods without a namespace in the file are in the given namespace. The error is the first problem,
// with its place.
func (u Usage) AddFile(file string, data []byte, namespace string) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return u.addVector(file, trimmed, namespace)
	}
	return u.addTop(file, string(data), namespace)
}

func (u Usage) setQuantity(pod Pod, container string, name v1.ResourceName, quantity resource.Quantity) {
	if u[pod] == nil {
		u[pod] = map[string]v1.ResourceList{}
	}
	if u[pod][container] == nil {
		u[pod][container] = v1.ResourceList{}
	}
	u[pod][container][name] = quantity
}

// cpuHead and memoryHead are heads of columns of kubectl top pods. With --containers, the column NAME has the container, and POD the pod.
const cpuHead, memoryHead = "CPU(cores)", "MEMORY(bytes)"

// addTop adds the output of kubectl top pods.
func (u Usage) addTop(file, text, namespace string) error {
	var heads []string
	line := 0
	for row := range strings.Lines(text) {
		line++
		fields := strings.Fields(row)
		if len(fields) == 0 {
			continue
		}
		if heads == nil {
			heads = fields
			if !strings.Contains(row, "NAME") || !strings.Contains(row, cpuHead) || !strings.Contains(row, memoryHead) {
				return fmt.Errorf("%s: line %d: %q has no columns NAME, %s and %s; give what kubectl top pods -A --containers prints, or a Prometheus instant vector as JSON",
					file, line, strings.TrimSpace(row), cpuHead, memoryHead)
			}
			continue
		}
		if len(fields) != len(heads) {
			return fmt.Errorf("%s: line %d: %d columns below %d heads", file, line, len(fields), len(heads))
		}
		cell := map[string]string{}
		for i, head := range heads {
			cell[head] = fields[i]
		}
		pod, container := Pod{namespace, cell["NAME"]}, ""
		if name, containers := cell["POD"]; containers {
			pod.Name, container = name, cell["NAME"]
		}
		if in, all := cell["NAMESPACE"]; all {
			pod.Namespace = in
		}
		for name, head := range map[v1.ResourceName]string{v1.ResourceCPU: cpuHead, v1.ResourceMemory: memoryHead} {
			quantity, err := resource.ParseQuantity(cell[head])
			if err != nil || quantity.Sign() < 0 {
				return fmt.Errorf("%s: line %d: %s is %q, not a quantity such as 250m or 64Mi", file, line, head, cell[head])
			}
			u.setQuantity(pod, container, name, quantity)
		}
	}
	if heads == nil {
		return fmt.Errorf("%s: is empty; give what kubectl top pods -A --containers prints, or a Prometheus instant vector as JSON", file)
	}
	return nil
}

// addVector adds the answer of Prometheus' /api/v1/query.
func (u Usage) addVector(file string, data []byte, namespace string) error {
	var answer struct {
		Data struct {
			ResultType string `json:"resultType"`
			Result     []struct {
				Metric map[string]string `json:"metric"`
				Value  []any             `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if answer.Data.ResultType != "vector" {
		return fmt.Errorf("%s: data.resultType is %q, not vector; give the answer of an instant query", file, answer.Data.ResultType)
	}
	for i, sample := range answer.Data.Result {
		at := fmt.Sprintf("%s: data.result[%d]", file, i)
		name := resourceOfMetric(sample.Metric)
		if name == "" {
			return fmt.Errorf("%s: neither its name nor a label resource says cpu or memory; add the label, for example with label_replace(…, \"resource\", \"cpu\", \"\", \"\")", at)
		}
		if sample.Metric["pod"] == "" {
			return fmt.Errorf("%s: has no label pod; sum by (namespace, pod, container)", at)
		}
		if len(sample.Value) != 2 {
			return fmt.Errorf("%s: value is not a time and a number", at)
		}
		used, err := strconv.ParseFloat(fmt.Sprint(sample.Value[1]), 64)
		if err != nil || !(used >= 0) {
			return fmt.Errorf("%s: value %v is not a number from 0", at, sample.Value[1])
		}
		pod := Pod{sample.Metric["namespace"], sample.Metric["pod"]}
		if pod.Namespace == "" {
			pod.Namespace = namespace
		}
		quantity := resource.NewMilliQuantity(int64(used*1000), resource.DecimalSI)
		if name == v1.ResourceMemory {
			quantity = resource.NewQuantity(int64(used), resource.BinarySI)
		}
		u.setQuantity(pod, sample.Metric["container"], name, *quantity)
	}
	return nil
}

// resourceOfMetric returns cpu or memory, from the name of the metric or its label resource; "" if neither says which.
func resourceOfMetric(metric map[string]string) v1.ResourceName {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		if metric["resource"] == string(name) || strings.Contains(metric["__name__"], "_"+string(name)+"_") {
			return name
		}
	}
	return ""
}
