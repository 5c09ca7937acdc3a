package report

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// Declared is the declaration of a workload: the fields that decide where its pods go, and how many of them may be missing.
type Declared struct {
	cluster.Ref // the workload, or a pod without an owner
	// Source is the place of its object in a file; missing if no file has it.
	Source *manifest.Place `json:"source,omitempty"`
	// Replicas is the number of pods that it asks for; missing if its kind has no such field.
	Replicas *int `json:"replicas,omitempty"`
	// Priority is the priority of its pods.
	Priority int32 `json:"priority,omitempty"`
	// Requests are the requests of one of its pods, by resource.
	Requests map[v1.ResourceName]string `json:"requests,omitempty"`
	// Rules are the placement rules of its pods.
	Rules []rule.Rule `json:"rules,omitempty"`
	// Budgets are the PodDisruptionBudgets that guard its pods.
	Budgets []Budget `json:"budgets,omitempty"`
	// Autoscaler is the HorizontalPodAutoscaler that sets its replicas; missing if there is none.
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	// Hard are the limits of a ResourceQuota, by resource. Only a ResourceQuota has them, and nothing else of this.
	Hard map[v1.ResourceName]string `json:"hard,omitempty"`
}

// Autoscaler is a HorizontalPodAutoscaler as it is declared.
type Autoscaler struct {
	Name string `json:"name"`
	// Min and Max bound the replicas.
	Min int32 `json:"min"`
	Max int32 `json:"max"`
}

// Budget is a PodDisruptionBudget as it is declared. It has one of the two limits.
type Budget struct {
	Name           string `json:"name"`
	MinAvailable   string `json:"minAvailable,omitempty"`
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
}

// NewDeclared returns the declarations of the workloads and the ResourceQuotas after a step, in the order of the state. If only is not nil, it
// leaves out all other workloads, and the ResourceQuotas.
func NewDeclared(step *simulation.Step, from *scenario.Scenario, only map[cluster.Ref]bool) []Declared {
	all := []Declared{}
	budgets, autoscalers := step.State.Budgets(), map[cluster.Ref]*Autoscaler{}
	for _, hpa := range step.State.HorizontalPodAutoscalers {
		autoscalers[cluster.ScaleTarget(hpa)] = &Autoscaler{Name: hpa.Name, Min: ptr.Deref(hpa.Spec.MinReplicas, 1), Max: hpa.Spec.MaxReplicas}
	}
	for _, obj := range step.State.Objects() {
		ref := cluster.RefTo(obj)
		pod := step.State.PodOf(obj)
		if len(pod.Spec.Containers) == 0 || metav1.GetControllerOfNoCopy(obj) != nil || cluster.IsTerminal(pod) || only != nil && !only[ref] {
			continue
		}
		d := Declared{Ref: ref, Source: FindSource(from, step.Name, ref), Priority: podPriority(step.State, pod), Rules: rule.List(&pod.Spec), Autoscaler: autoscalers[ref]}
		if n, scaled := cluster.Replicas(obj); scaled {
			d.Replicas = ptr.To(int(n))
		}
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if d.Requests == nil {
				d.Requests = map[v1.ResourceName]string{}
			}
			d.Requests[name] = quantity.String()
		}
		for _, budget := range budgets(pod) {
			b := Budget{Name: budget.Name}
			if limit := budget.Spec.MinAvailable; limit != nil {
				b.MinAvailable = limit.String()
			}
			if limit := budget.Spec.MaxUnavailable; limit != nil {
				b.MaxUnavailable = limit.String()
			}
			d.Budgets = append(d.Budgets, b)
		}
		all = append(all, d)
	}
	if only != nil {
		return all
	}
	for _, quota := range step.State.ResourceQuotas {
		d := Declared{Ref: cluster.RefTo(quota), Hard: map[v1.ResourceName]string{}}
		d.Source = FindSource(from, step.Name, d.Ref)
		for name, quantity := range quota.Spec.Hard {
			d.Hard[name] = quantity.String()
		}
		all = append(all, d)
	}
	return all
}

// podPriority returns the priority of a pod. A pod of a template has only the name of a class.
func podPriority(state *cluster.State, pod *v1.Pod) int32 {
	if pod.Spec.Priority != nil {
		return *pod.Spec.Priority
	}
	var value int32
	for _, class := range state.PriorityClasses {
		if class.Name == pod.Spec.PriorityClassName {
			return class.Value
		}
		if class.GlobalDefault && pod.Spec.PriorityClassName == "" {
			value = class.Value
		}
	}
	return value
}

// OmitUnchanged removes the declarations of each step that are the same as those of the step before.
func OmitUnchanged[S any](steps []S, of func(*S) *[]Declared) {
	for i := len(steps) - 1; i > 0; i-- {
		if d := of(&steps[i]); reflect.DeepEqual(*d, *of(&steps[i-1])) {
			*d = nil
		}
	}
}

// Text returns "autoscaler web with 2 to 6 replicas".
func (a *Autoscaler) Text() string {
	return fmt.Sprintf("autoscaler %s with %d to %d replicas", a.Name, a.Min, a.Max)
}
