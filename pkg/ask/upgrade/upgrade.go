// Package upgrade finds what another release of Kubernetes changes for the objects of a scenario: which pods it would place elsewhere,
// which objects it refuses or completes in another way, and which of its feature gates concern any of them.
package upgrade

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Answer has the changes from one release to another.
type Answer struct {
	// From and To are the minor releases.
	From string `json:"from"`
	To   string `json:"to"`
	// Pods is the number of pods that both releases placed again, each alone, in the cluster as it is after the last step.
	Pods int `json:"pods"`
	// Changes are the pods that the releases do not place alike.
	Changes []Change `json:"changes"`
	// Reasons are the plugins that decide the changes, the plugin of the most pods first.
	Reasons []Reason `json:"reasons,omitempty"`
	// Problems are the reasons for which the later release refuses the whole input; then nothing else is known.
	Problems []string `json:"problems,omitempty"`
	// Refused are objects that only the earlier release accepts, and Accepted are objects that only the later release accepts.
	Refused  []cluster.Ref `json:"refused,omitempty"`
	Accepted []cluster.Ref `json:"accepted,omitempty"`
	// Completed are objects that the releases store in different ways.
	Completed []Completed `json:"completed,omitempty"`
	// Gates are the feature gates that differ and concern an object.
	Gates []Gate `json:"gates,omitempty"`
	// Unserved are objects whose API version the later release does not know.
	Unserved []Unserved `json:"unserved,omitempty"`
	// NotSimulated are differences between the releases that are not simulated.
	NotSimulated []Difference `json:"notSimulated"`
}

// Change is a pod that the releases do not place alike.
type Change struct {
	cluster.PodRef
	// Node is the pod's node in the scenario; missing if it has none.
	Node string `json:"node,omitempty"`
	// From and To are the nodes on which the releases place the pod; missing if it stays Pending.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Message is the scheduler's message if the pod stays Pending in the later release.
	Message string `json:"message,omitempty"`
	// Plugin is the scheduler's plugin that judges the two nodes differently, and Why says how; missing if several plugins decide together.
	Plugin string `json:"plugin,omitempty"`
	Why    string `json:"why,omitempty"`
}

// Completed is an object that the releases store in different ways.
type Completed struct {
	cluster.Ref
	// Fields are the paths of the fields that differ.
	Fields []string `json:"fields"`
}

// Unserved is an object whose API version a release does not know.
type Unserved struct {
	APIVersion string `json:"apiVersion"`
	cluster.Ref
}

// Side is the scenario as one of the releases reads it.
type Side struct {
	*scenario.Scenario
	// outcomes has the node or the message of each pod that was placed again, alone, in the state that the question is about.
	outcomes map[cluster.Ref]podOutcome
}

type podOutcome struct{ node, message string }

// Place places each pod of the state again, alone, while all others stay. It uses the side's release, and the pod as the side's scenario
// has it. Pods of a cluster do not move by themselves, so only this question has an answer for each pod.
func (s *Side) Place(ctx context.Context, state *cluster.State, progress func(done, total int)) error {
	done := 0
	all := func(*v1.Pod) bool {
		progress(done, len(state.Pods))
		done++
		return true
	}
	s.outcomes = map[cluster.Ref]podOutcome{}
	err := s.placeEachAlone(ctx, state, nil, all, func(pod cluster.Ref, result *placement.Result) {
		switch {
		case len(result.Placed) > 0:
			s.outcomes[pod] = podOutcome{node: result.Placed[0].Node}
		case len(result.Pending) > 0:
			s.outcomes[pod] = podOutcome{message: result.Pending[0].Message}
		}
	})
	progress(len(state.Pods), len(state.Pods))
	return err
}

// isNeverPlaced reports whether no scheduler would place the pod again: it has ended, or only its kubelet creates it.
func isNeverPlaced(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// Compare returns what changes from one side to the other. Place must have been called for both sides, with the same state.
func Compare(from, to *Side, state *cluster.State) (*Answer, error) {
	older, newer := from.Config.Release(), to.Config.Release()
	a := &Answer{From: older.Minor(), To: newer.Minor(), Changes: []Change{}, NotSimulated: differencesBetween(older.Minor(), newer.Minor())}
	owner := state.Owners()
	for _, pod := range state.Pods {
		ref := cluster.RefTo(pod)
		before, asked := from.outcomes[ref]
		after, both := to.outcomes[ref]
		if !asked || !both {
			continue
		}
		if a.Pods++; before.node != after.node {
			change := Change{PodRef: cluster.NewPodRef(pod, owner(pod)), Node: pod.Spec.NodeName, From: before.node, To: after.node}
			if after.node == "" {
				change.Message = after.message
			}
			a.Changes = append(a.Changes, change)
		}
	}
	a.compareObjects(from.Objects(), to.Objects())
	a.findUnserved(to.Scenario)
	gates, err := flippedGates(older, newer, slices.Concat(from.Objects(), to.Objects()))
	a.Gates = gates
	return a, err
}

// Refusal returns the answer if the later release refuses the input. The error has one line for each problem.
func Refusal(from, to string, problems error) *Answer {
	a := &Answer{From: from, To: to, Changes: []Change{}, NotSimulated: differencesBetween(from, to)}
	for line := range strings.Lines(problems.Error()) {
		a.Problems = append(a.Problems, strings.TrimSpace(line))
	}
	return a
}

// compareObjects finds the objects that only one of the releases accepts, and the objects that they complete differently.
func (a *Answer) compareObjects(from, to []cluster.Object) {
	older, newer := objectsByRef(from), objectsByRef(to)
	for _, ref := range slices.SortedFunc(maps.Keys(older), cluster.Ref.Compare) {
		other, found := newer[ref]
		if !found {
			a.Refused = append(a.Refused, ref)
		} else if fields := differingFields(older[ref], other); len(fields) > 0 {
			a.Completed = append(a.Completed, Completed{ref, fields})
		}
	}
	for _, ref := range slices.SortedFunc(maps.Keys(newer), cluster.Ref.Compare) {
		if older[ref] == nil {
			a.Accepted = append(a.Accepted, ref)
		}
	}
}

func objectsByRef(objects []cluster.Object) map[cluster.Ref]cluster.Object {
	return list.IndexBy(objects, cluster.RefTo)
}

// differingFields returns the paths of the fields in which the objects differ.
func differingFields(a, b cluster.Object) []string {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	var fields []string
	var walk func(path string, a, b any)
	walk = func(path string, a, b any) {
		left, isMap := a.(map[string]any)
		right, both := b.(map[string]any)
		if !isMap || !both {
			if !reflect.DeepEqual(a, b) {
				fields = append(fields, path)
			}
			return
		}
		all := maps.Clone(left)
		maps.Copy(all, right)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			below := key
			if path != "" {
				below = path + "." + key
			}
			walk(below, left[key], right[key])
		}
	}
	walk("", toJSONValue(a), toJSONValue(b))
	return fields
}

func toJSONValue(obj cluster.Object) any {
	var read any
	if data, err := json.Marshal(obj); err == nil { // objects were read from JSON, so they can be written as JSON
		_ = json.Unmarshal(data, &read)
	}
	return read
}
