// Package flink expands the FlinkDeployments of Apache Flink's Kubernetes operator into a Deployment of JobManagers and a Deployment of
// TaskManagers. In native mode, the real TaskManagers are pods that the JobManager creates and replaces; no template of them can be read.
// The package follows FlinkConfigBuilder.java, ResourceConfigUtils.java and StandaloneKubernetesUtils.java of
// https://github.com/apache/flink-kubernetes-operator at 6e9caeb4.
package flink

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// Kind is the kind of Flink's resources, with group and version.
var Kind = schema.GroupVersionKind{Group: "flink.apache.org", Version: "v1beta1", Kind: "FlinkDeployment"}

const mainContainer = "flink-main-container"

// New returns the operator.
func New() operator.Operator {
	return operator.Operator{
		Name:  "Flink",
		Kinds: []schema.GroupKind{Kind.GroupKind()},
		Expand: func(r *operator.Resource, _ []*operator.Resource) (*operator.Expansion, error) {
			if version := Kind.GroupVersion().String(); r.APIVersion != version {
				return nil, fmt.Errorf("apiVersion: unknown version %s: use %s", r.APIVersion, version)
			}
			if r.Name == "" {
				return nil, errors.New("metadata.name: Required value")
			}
			spec, err := decodeSpec(r.JSON)
			if err != nil {
				return nil, err
			}
			return spec.expand(r)
		},
	}
}

func (s *spec) expand(r *operator.Resource) (*operator.Expansion, error) {
	made := &operator.Expansion{}
	var problems []error
	for _, role := range []struct {
		name, component string
		role            *role
		replicas        int32
		memory          string // the default in Flink's own configuration file
		cpu             float64
	}{
		{r.Name, "jobmanager", &s.JobManager, s.jobManagers(), "1600m", 1},
		{r.Name + "-taskmanager", "taskmanager", &s.TaskManager, s.taskManagers(), "1728m", float64(s.slots())},
	} {
		requests, assumed, err := s.containerRequests(role.role, role.component, role.memory, role.cpu)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		template, err := s.podTemplate(role.role, role.component, r.Name, requests)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		made.Assumptions = append(made.Assumptions, assumed...)
		made.Objects = append(made.Objects, operator.WrittenObject{Object: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: role.name, Namespace: r.Namespace, Labels: s.labels(role.component, r.Name)},
			Spec: appsv1.DeploymentSpec{
				Replicas: &role.replicas, Selector: &metav1.LabelSelector{MatchLabels: s.labels(role.component, r.Name)}, Template: *template,
			},
		}})
	}
	if s.Mode != "standalone" && s.Job == nil {
		made.Assumptions = append(made.Assumptions, "it is a session cluster to which no job is submitted, so that it has no TaskManagers")
	}
	return made, errors.Join(problems...)
}

func (s *spec) labels(component, name string) map[string]string {
	mode := "native"
	if s.Mode == "standalone" {
		mode = s.Mode
	}
	return map[string]string{"app": name, "component": component, "type": "flink-" + mode + "-kubernetes"}
}

// podTemplate returns the template of the role's pods: the common template, overridden by the role's template, with the main container.
func (s *spec) podTemplate(r *role, component, name string, requests v1.ResourceList) (*v1.PodTemplateSpec, error) {
	both, own := emptyObjectIfNull(s.PodTemplate), emptyObjectIfNull(r.PodTemplate)
	for _, given := range [][]byte{both, own} {
		if err := manifest.CheckPatchTypes(given, v1.PodTemplateSpec{}); err != nil {
			return nil, fmt.Errorf("podTemplate: %s", strings.ReplaceAll(err.Error(), "\n", "\npodTemplate: "))
		}
	}
	merged, err := strategicpatch.StrategicMergePatch(both, own, v1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("podTemplate: %w", err)
	}
	template := &v1.PodTemplateSpec{}
	if err := json.Unmarshal(merged, template); err != nil {
		return nil, fmt.Errorf("podTemplate: %w", err)
	}
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, s.labels(component, name))
	template.ObjectMeta = metav1.ObjectMeta{Labels: labels, Annotations: template.Annotations}
	containers := template.Spec.Containers
	at := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == mainContainer })
	if at < 0 {
		at, containers = 0, slices.Insert(containers, 0, v1.Container{Name: mainContainer})
	}
	main := &containers[at]
	if main.Image == "" {
		main.Image = s.Image
	}
	if main.Image == "" {
		main.Image = "flink"
	}
	main.Resources = v1.ResourceRequirements{Requests: requests, Limits: requests}
	template.Spec.Containers = containers
	return template, nil
}

func emptyObjectIfNull(data json.RawMessage) []byte {
	if len(data) == 0 || string(data) == "null" {
		return []byte("{}")
	}
	return data
}

// containerRequests returns the requests of the main container, which are also its limits, and assumptions about them. They come from the resource,
// else from Flink's configuration, else from the default.
func (s *spec) containerRequests(r *role, component, memory string, cpu float64) (v1.ResourceList, []string, error) {
	var assumed []string
	text := r.memory()
	if text == "" {
		text = s.configValue(component + ".memory.process.size")
	}
	if text == "" {
		text = memory
		assumed = append(assumed, fmt.Sprintf("the %s has %s of memory, as Flink's configuration file says", component, memory))
	}
	bytes, err := parseMemory(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: memory: %w", component, err)
	}
	cores, err := r.cpu()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: cpu: %w", component, err)
	}
	if cores == nil {
		cores = resource.NewMilliQuantity(int64(cpu*1000), resource.DecimalSI)
		if text := s.configValue("kubernetes." + component + ".cpu.amount"); text != "" {
			given, err := resource.ParseQuantity(text)
			if err != nil {
				return nil, nil, fmt.Errorf("flinkConfiguration: kubernetes.%s.cpu.amount: %w", component, err)
			}
			cores = &given
		}
	}
	return v1.ResourceList{v1.ResourceCPU: *cores, v1.ResourceMemory: *bytes}, assumed, nil
}
