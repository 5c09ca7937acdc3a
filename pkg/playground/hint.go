package playground

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// maxHints is the number of things that a hint names.
const maxHints = 2

// placesToLook maps plugins to what they look at.
var placesToLook = map[string]string{
	"InterPodAffinity":                "where the pods run that the rules match",
	"NodeAffinity":                    "the labels of the nodes",
	"NodePorts":                       "the host ports that are taken",
	"NodeResourcesBalancedAllocation": "what the pods request and each node has left",
	"NodeResourcesFit":                "what the pods request and each node has left",
	"NodeUnschedulable":               "the cordons",
	"PodTopologySpread":               "how many pods each domain has",
	"TaintToleration":                 "the taints of the nodes",
	"VolumeBinding":                   "where the volumes are",
	"VolumeZone":                      "where the volumes are",
}

// hintOf says where to look for the answer to a question: at what the plugins looked at that refused nodes or decided in the step, for the
// pods in question. The Pending ones come first.
func hintOf(q *scenario.Question, step *simulation.Step) string {
	matches := questionSelector(q)
	pending := list.Where(step.Pending, func(p placement.Pending) bool { return matches.Matches(labels.Set(p.Pod.Labels)) })
	placed := list.Where(step.Placed, func(p placement.Placement) bool { return matches.Matches(labels.Set(p.Pod.Labels)) })
	if len(pending)+len(placed) == 0 {
		return "Look at which pods this step schedules. Rules are read when a pod is scheduled, and a pod that runs stays."
	}
	weight := map[string]int{} // by plugin
	if q.NotOn != nil {
		if cycle, _ := expect.CycleInQuestion(q.NotOn, step); cycle != nil {
			if refusal := cycle.RefusalOf(q.NotOn.Node); refusal != nil {
				return describePlaces([]string{refusal.Plugin})
			}
		}
	}
	for _, p := range pending {
		for _, reason := range p.Reasons {
			weight[reason.Plugin] += reason.Nodes
		}
	}
	if len(pending) == 0 {
		for _, p := range placed {
			for plugin, nodes := range p.Filtered {
				weight[plugin] += nodes
			}
			for _, plugin := range p.Deciders {
				weight[plugin] += p.Nodes
			}
		}
	}
	plugins := slices.SortedFunc(maps.Keys(weight), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
	})
	return describePlaces(plugins)
}

// describePlaces says where to look, by the first of the plugins.
func describePlaces(plugins []string) string {
	var places []string
	for _, plugin := range plugins {
		place := cmp.Or(placesToLook[plugin], "what "+plugin+" looks at")
		if !slices.Contains(places, place) && len(places) < maxHints {
			places = append(places, place)
		}
	}
	if len(places) == 0 {
		return "Look at the nodes before the step. No plugin tells them apart."
	}
	return "Look at " + strings.Join(places, ", and at ") + "."
}

// questionSelector returns the selector of the pods that a question is about.
func questionSelector(q *scenario.Question) labels.Selector {
	text := q.Selector
	switch {
	case q.Number != nil:
		text = q.Number.Selector
	case q.Nodes != nil:
		text = q.Nodes.Selector
	case q.NotOn != nil:
		text = q.NotOn.Selector
	}
	return expect.ParseSelector(text)
}
