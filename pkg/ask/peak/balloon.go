package peak

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	corehelper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// balloonPriority is the priority of balloon pods: the lowest for which the Cluster Autoscaler adds nodes, see its flag
// --expendable-pods-priority-cutoff.
const balloonPriority = -10

// inflate returns the step that creates a Deployment of balloon pods for each buffer of the change, and sets the commands. A balloon pod requests
// what a pod of the workload requests, where such a pod may go, and every pod with a priority of 0 or more preempts it. The pods count nowhere: it
// does not matter whether they have nodes.
func (f *finder) inflate(r *Remedy) ([]scenario.LoadedStep, error) {
	class := f.balloonClass()
	var objects []map[string]any
	if class == "" {
		class = "balloon"
		objects = append(objects, map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": class}, "value": balloonPriority})
	}
	for _, b := range r.Buffers {
		name := b.ref.Name + "-balloon"
		f.before.balloons[cluster.Ref{Kind: "Deployment", Namespace: b.ref.Namespace, Name: name}] = true
		objects = append(objects, f.newBalloon(b, name, class))
	}
	step := scenario.LoadedStep{Step: scenario.Step{Name: "balloons", Apply: &scenario.Source{}}}
	for _, object := range objects {
		made, err := manifest.DecodeObject("balloon", toJSON(object))
		if err != nil {
			return nil, err
		}
		step.Objects = append(step.Objects, made.Object)
		r.Commands = append(r.Commands, applyCommand(object))
	}
	return []scenario.LoadedStep{step}, nil
}

// newBalloon returns a Deployment of the buffer's size. Its pods have the node rules, the tolerations and the spread over nodes of the workload's.
func (f *finder) newBalloon(b Buffer, name, class string) map[string]any {
	template, _ := cluster.PodSpec(f.before.state.Find(b.ref))
	pod := &v1.Pod{Spec: *template.DeepCopy()}
	legacyscheme.Scheme.Default(pod) // requests that follow from limits
	like := &pod.Spec
	labels := map[string]any{"balloon": b.ref.Name}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	limits := maps.Clone(requests)
	maps.DeleteFunc(limits, func(name v1.ResourceName, _ resource.Quantity) bool { return corehelper.IsOvercommitAllowed(name) })
	spec := map[string]any{"priorityClassName": class, "terminationGracePeriodSeconds": 0,
		"containers": []any{map[string]any{"name": "balloon", "image": "registry.k8s.io/pause:3.10", "resources": v1.ResourceRequirements{Requests: requests, Limits: limits}}}}
	if like.NodeSelector != nil {
		spec["nodeSelector"] = like.NodeSelector
	}
	if like.Affinity != nil && like.Affinity.NodeAffinity != nil {
		spec["affinity"] = v1.Affinity{NodeAffinity: like.Affinity.NodeAffinity}
	}
	if like.Tolerations != nil {
		spec["tolerations"] = like.Tolerations
	}
	var spread []v1.TopologySpreadConstraint
	for _, c := range like.TopologySpreadConstraints {
		c.LabelSelector, c.MatchLabelKeys = &metav1.LabelSelector{MatchLabels: map[string]string{"balloon": b.ref.Name}}, nil
		spread = append(spread, c)
	}
	if spread != nil {
		spec["topologySpreadConstraints"] = spread
	}
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "namespace": b.ref.Namespace},
		"spec": map[string]any{"replicas": b.Replicas, "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": spec}}}
}

// balloonClass returns the name of a PriorityClass of the user whose pods can be balloons; "" if there is none.
func (f *finder) balloonClass() string {
	for _, class := range f.before.state.PriorityClasses {
		if class.Value >= balloonPriority && class.Value < 0 {
			return class.Name
		}
	}
	return ""
}
