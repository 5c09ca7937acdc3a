// Package annotations writes the verdicts of the plugins on pods as kube-scheduler-simulator's annotations.
package annotations

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/simulation"
)

// The annotations in which kube-scheduler-simulator keeps the verdicts of the plugins on a pod, and which its web page shows. Values are
// JSON, and scores in them are strings. See
// https://github.com/kubernetes-sigs/kube-scheduler-simulator/blob/master/simulator/scheduler/plugin/annotation/annotation.go.
const (
	annotationPrefix   = "kube-scheduler-simulator.sigs.k8s.io/"
	preFilterStatusKey = annotationPrefix + "prefilter-result-status"
	preFilterKey       = annotationPrefix + "prefilter-result"
	filterKey          = annotationPrefix + "filter-result"
	postFilterKey      = annotationPrefix + "postfilter-result"
	preScoreKey        = annotationPrefix + "prescore-result"
	scoreKey           = annotationPrefix + "score-result"
	finalScoreKey      = annotationPrefix + "finalscore-result"
	selectedNodeKey    = annotationPrefix + "selected-node"
)

// Overflow is a pod whose results exceed the limit of an object's annotations.
type Overflow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Annotations are all results of the pod, whatever their size.
	Annotations map[string]string `json:"annotations"`
}

// Annotate returns the cluster after the step, whose pods have the verdicts of the plugins in kube-scheduler-simulator's annotations. The
// run must have kept every cycle as a whole. If the results of a pod exceed the API server's limit of 256 KiB, the pod has only those of
// the best nodes, and the overflow has all.
func Annotate(result *simulation.Result, step *simulation.Step) (*cluster.State, []Overflow, error) {
	found := map[types.UID]*podResults{}
	for i := range result.Steps {
		for _, placed := range result.Steps[i].Placed {
			found[placed.Pod.UID] = newResults(placed.Cycle, placed.Node, "")
		}
		for _, pending := range result.Steps[i].Pending {
			found[pending.Pod.UID] = newResults(pending.Cycle, "", pending.Nominated)
		}
		if result.Steps[i].Name == step.Name {
			break
		}
	}
	var overflow []Overflow
	var pods []cluster.Object
	for _, pod := range step.State.Pods {
		r := found[pod.UID]
		if r == nil {
			continue
		}
		annotated := pod.DeepCopy()
		for most := len(r.nodes); ; most /= 2 {
			annotations := r.annotations(most)
			annotated.Annotations = maps.Clone(pod.Annotations)
			if annotated.Annotations == nil {
				annotated.Annotations = map[string]string{}
			}
			maps.Copy(annotated.Annotations, annotations)
			err := validation.ValidateAnnotationsSize(annotated.Annotations)
			if err == nil {
				break
			}
			if most == 0 {
				return nil, nil, fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			if most == len(r.nodes) {
				overflow = append(overflow, Overflow{Namespace: pod.Namespace, Name: pod.Name, Annotations: annotations})
			}
		}
		pods = append(pods, annotated)
	}
	return step.State.With(pods...), overflow, nil
}

// podResults are the verdicts of the plugins on one pod, in the form of the annotations.
type podResults struct {
	// whole has the results that are not about a node, by annotation; byNode those about each node, by annotation and node.
	whole  map[string]any
	byNode map[string]map[string]map[string]string
	// nodes are the nodes in byNode: the scored ones, the best first, then the refused ones.
	nodes    []string
	selected string
}

// newResults returns nil if the scheduler has looked at no node for the pod.
func newResults(cycle *placement.Cycle, node, nominated string) *podResults {
	if cycle == nil {
		return nil
	}
	r := &podResults{whole: map[string]any{}, byNode: map[string]map[string]map[string]string{}, selected: node}
	for _, key := range []string{filterKey, postFilterKey, scoreKey, finalScoreKey} {
		r.byNode[key] = map[string]map[string]string{}
	}
	r.whole[preFilterStatusKey] = statusTexts(cycle.PreFilter)
	r.whole[preScoreKey] = statusTexts(cycle.PreScore)
	named := map[string][]string{}
	for _, plugin := range cycle.NamedBy {
		named[plugin] = cycle.Named
	}
	r.whole[preFilterKey] = named
	for _, candidate := range cycle.Candidates {
		r.nodes = append(r.nodes, candidate.Node)
		passed := map[string]string{}
		for _, plugin := range cycle.Filters {
			passed[plugin] = "passed"
		}
		r.byNode[filterKey][candidate.Node] = passed
		if candidate.Rank == 0 {
			continue
		}
		raw, final := map[string]string{}, map[string]string{}
		for _, score := range candidate.Scores {
			raw[score.Plugin], final[score.Plugin] = strconv.FormatInt(score.Raw, 10), strconv.FormatInt(score.Weighted, 10)
		}
		r.byNode[scoreKey][candidate.Node], r.byNode[finalScoreKey][candidate.Node] = raw, final
	}
	for _, refusal := range cycle.Refusals {
		said := map[string]string{}
		for _, plugin := range cycle.Filters[:slices.Index(cycle.Filters, refusal.Plugin)+1] {
			said[plugin] = "passed"
		}
		said[refusal.Plugin] = refusal.Message
		for _, node := range refusal.Nodes {
			r.nodes = append(r.nodes, node)
			r.byNode[filterKey][node] = said
			if nominated != "" {
				r.byNode[postFilterKey][node] = map[string]string{}
			}
		}
	}
	if nominated != "" {
		r.byNode[postFilterKey][nominated] = map[string]string{"DefaultPreemption": "preemption victim"}
	}
	return r
}

// statusTexts returns the statuses as kube-scheduler-simulator writes them: "success", "" for skip, and the message of a refusal.
func statusTexts(verdicts []placement.Verdict) map[string]string {
	said := map[string]string{}
	for _, verdict := range verdicts {
		if said[verdict.Plugin] = verdict.Status; verdict.Status == "skip" {
			said[verdict.Plugin] = ""
		}
	}
	return said
}

// annotations returns the annotations. Those about nodes have only the first most nodes.
func (r *podResults) annotations(most int) map[string]string {
	annotations := map[string]string{}
	if r.selected != "" {
		annotations[selectedNodeKey] = r.selected
	}
	for key, value := range r.whole {
		annotations[key] = encodeJSON(value)
	}
	for key, values := range r.byNode {
		kept := map[string]map[string]string{}
		for _, node := range r.nodes[:most] {
			if value, found := values[node]; found {
				kept[node] = value
			}
		}
		annotations[key] = encodeJSON(kept)
	}
	return annotations
}

// encodeJSON returns the value as JSON, in which the keys of maps are sorted. The values here can always be encoded.
func encodeJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}
