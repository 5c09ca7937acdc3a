package explain

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// Dimension is the kind of thing that changes in a flip.
type Dimension string

// The dimensions of a flip.
const (
	Term     Dimension = "term"
	Plugin   Dimension = "plugin"
	Capacity Dimension = "capacity"
)

// Flip is the smallest change of one thing that would have sent a pod elsewhere: the pod's node is then no longer among the best, however
// ties are decided. Each flip was verified by scheduling the pod again on the cluster as it was.
type Flip struct {
	// Of is the kind of thing that changes, and Subject describes the thing.
	Of      Dimension `json:"of" jsonschema:"enum=term,enum=plugin,enum=capacity"`
	Subject string    `json:"subject"`
	// From is the present value, and To the nearest value that sends the pod elsewhere; missing if none of the tried values does.
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	// Node is the node that the pod then gets; missing if it gets none.
	Node string `json:"node,omitempty"`
	// Searched describes the values that were tried.
	Searched string `json:"searched"`
}

const (
	// minWeight and maxWeight limit the weight of a preferred term, as the API server does.
	minWeight, maxWeight = 1, 100
	// probes is how many sizes of a node are tried before the bisection towards the nearest one that moves the pod.
	probes   = 32
	mebibyte = 1 << 20
)

// Flips finds the smallest changes that would have sent a pod elsewhere: of the weight of each of its own preferred terms, of each plugin's
// weight, and of the allocatable CPU and memory of its node and of the best other node. The placement's cycle must contain every node, and
// the cluster before it. A pod that was placed without scores has no flips.
//
// The weight of a term changes in the pod and in running pods of the same controller, since one template gives it to all of them.
func Flips(ctx context.Context, config *sched.Config, placed *placement.Placement) ([]Flip, error) {
	if placed.Cycle == nil || placed.Cycle.Before == nil {
		return nil, fmt.Errorf("pod %s/%s: the cycle was not kept with the cluster before it", placed.Pod.Namespace, placed.Pod.Name)
	}
	if placed.Scored == 0 {
		return nil, nil
	}
	f := &flipper{config: config, placed: placed}
	for _, pod := range placed.Cycle.Before.Pods {
		if pod.UID == placed.Pod.UID {
			f.pod = pod
		}
	}
	engine, err := sched.NewEngine(config, sched.Ties{})
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	f.engine = engine
	flips, err := f.termFlips(ctx)
	if err != nil {
		return nil, err
	}
	plugins, err := f.pluginFlips(ctx)
	if err != nil {
		return nil, err
	}
	sizes, err := f.sizeFlips(ctx)
	return slices.Concat(flips, plugins, sizes), err
}

// flipper schedules one pod repeatedly.
type flipper struct {
	config *sched.Config
	engine *sched.Engine
	placed *placement.Placement
	pod    *v1.Pod // the pod before it was placed
}

// leavesNode schedules the pod on the state. It reports whether the pod's node is no longer among the best, and which node the pod gets.
func (f *flipper) leavesNode(ctx context.Context, engine *sched.Engine, state *cluster.State, pod *v1.Pod) (bool, string, error) {
	engine.Reset()
	engine.StartAt(f.placed.Cycle.Start)
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{Nodes: 1, Named: []string{f.placed.Node}} }
	result, err := engine.Place(ctx, state, []*v1.Pod{pod})
	if err != nil {
		return false, "", err
	}
	if len(result.Placed) == 0 {
		return true, "", nil
	}
	again := result.Placed[0]
	for _, candidate := range again.Cycle.Candidates {
		if candidate.Node == f.placed.Node && candidate.Rank <= 1 {
			return false, again.Node, nil
		}
	}
	return true, again.Node, nil
}

// termFlips tries every other weight of each preferred term, the nearest weight first.
func (f *flipper) termFlips(ctx context.Context) ([]Flip, error) {
	var flips []Flip
	for _, r := range rule.List(&f.pod.Spec) {
		if r.Weight == 0 {
			continue
		}
		flip := Flip{
			Of: Term, Subject: "weight of the " + ruleName(r), From: fmt.Sprint(r.Weight),
			Searched: fmt.Sprintf("every weight from %d to %d", minWeight, maxWeight),
		}
		for delta := int32(1); delta < maxWeight && flip.To == ""; delta++ {
			for _, weight := range []int32{r.Weight - delta, r.Weight + delta} {
				if weight < minWeight || weight > maxWeight || flip.To != "" {
					continue
				}
				state, pod := f.reweigh(r, weight)
				moved, node, err := f.leavesNode(ctx, f.engine, state, pod)
				if err != nil {
					return nil, err
				}
				if moved {
					flip.To, flip.Node = fmt.Sprint(weight), node
				}
			}
		}
		flips = append(flips, flip)
	}
	return flips, nil
}

// ruleName describes the rule without its weight.
func ruleName(r rule.Rule) string {
	r.Weight = 0
	words := r.String()
	return words[:len(words)-len(" (weight 0)")]
}

// reweigh returns the cluster before the placement with another weight of the term in the pod and in its siblings, and the changed pod.
func (f *flipper) reweigh(r rule.Rule, weight int32) (*cluster.State, *v1.Pod) {
	var changed []cluster.Object
	var itself *v1.Pod
	for _, pod := range f.placed.Cycle.Before.Pods {
		if pod.UID != f.pod.UID && (controllerOf(pod) == "" || controllerOf(pod) != controllerOf(f.pod)) {
			continue
		}
		pod = pod.DeepCopy()
		rule.SetWeight(&pod.Spec, r, weight)
		changed = append(changed, pod)
		if pod.UID == f.pod.UID {
			itself = pod
		}
	}
	return f.placed.Cycle.Before.With(changed...), itself
}

func controllerOf(pod *v1.Pod) types.UID {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return ref.UID
	}
	return ""
}

// pluginFlips finds the nearest weight of each plugin with which another node beats the pod's. Normalised scores do not depend on the weights,
// so the weight follows from the scores by arithmetic. A run with that weight must then agree.
func (f *flipper) pluginFlips(ctx context.Context) ([]Flip, error) {
	candidates := f.placed.Cycle.Candidates
	chosen := candidates[slices.IndexFunc(candidates, func(c placement.Candidate) bool { return c.Node == f.placed.Node })]
	var flips []Flip
	for i, score := range chosen.Scores {
		flip := Flip{Of: Plugin, Subject: "weight of " + score.Plugin, From: fmt.Sprint(score.Weight), Searched: "every weight from 0"}
		nearest, found := int64(0), false
		for _, other := range candidates {
			ahead := other.Total - chosen.Total - (other.Scores[i].Weighted - score.Weighted) // the lead of the other node by all other plugins
			if weight, beats := nearestBeatingWeight(ahead, other.Scores[i].Normalised-score.Normalised); beats &&
				(!found || distance(weight, score.Weight) < distance(nearest, score.Weight)) {
				nearest, found = weight, true
			}
		}
		if found {
			config := f.config.WithScoreWeight(f.pod.Spec.SchedulerName, score.Plugin, int32(nearest))
			engine, err := sched.NewEngine(config, sched.Ties{})
			if err != nil {
				return nil, err
			}
			moved, node, err := f.leavesNode(ctx, engine, f.placed.Cycle.Before, f.pod)
			engine.Close()
			if err != nil {
				return nil, err
			}
			if !moved {
				return nil, fmt.Errorf("with %s of weight %d pod %s/%s should leave %s by its scores, and stays",
					score.Plugin, nearest, f.pod.Namespace, f.pod.Name, f.placed.Node)
			}
			flip.To, flip.Node = fmt.Sprint(nearest), node
		}
		flips = append(flips, flip)
	}
	return flips, nil
}

// nearestBeatingWeight returns the weight, at least 0 and nearest to the present one, with which ahead + weight×gain > 0. With the present weight this
// does not hold, since the pod's node is among the best. For ahead −10 and gain 3 it is 4: −10 + 4×3 = 2.
func nearestBeatingWeight(ahead, gain int64) (int64, bool) {
	switch {
	case gain > 0:
		return -ahead/gain + 1, true
	case gain < 0 && ahead > 0:
		return (ahead - 1) / -gain, true
	}
	return 0, false
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// sizeFlips finds how much smaller the pod's node, and how much larger the best other node, would have to be.
func (f *flipper) sizeFlips(ctx context.Context) ([]Flip, error) {
	var flips []Flip
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		flip, err := f.sizeFlip(ctx, f.placed.Node, name, -1)
		if err != nil {
			return nil, err
		}
		flips = append(flips, *flip)
		if f.placed.RunnerUp == "" {
			continue
		}
		if flip, err = f.sizeFlip(ctx, f.placed.RunnerUp, name, +1); err != nil {
			return nil, err
		}
		flips = append(flips, *flip)
	}
	return flips, nil
}

// sizeFlip finds the smallest change of a node's allocatable, down to nothing or up to twice as much, that moves the pod. Scores are not
// monotonic in sizes, so it first samples sizes in equal steps, and then bisects before the first that moves the pod.
func (f *flipper) sizeFlip(ctx context.Context, name string, of v1.ResourceName, sign int64) (*Flip, error) {
	node := f.placed.Cycle.Before.Node(name)
	unit, now := int64(1), node.Status.Allocatable.Cpu().MilliValue()
	word := "CPU"
	if of == v1.ResourceMemory {
		unit, now, word = mebibyte, node.Status.Allocatable.Memory().Value(), "memory"
	}
	most := now / unit
	value := func(change int64) resource.Quantity {
		if of == v1.ResourceMemory {
			return *resource.NewQuantity(now+sign*change*unit, resource.BinarySI)
		}
		return *resource.NewMilliQuantity(now+sign*change*unit, resource.DecimalSI)
	}
	try := func(change int64) (bool, string, error) {
		sized := node.DeepCopy()
		sized.Status.Allocatable[of] = value(change)
		return f.leavesNode(ctx, f.engine, f.placed.Cycle.Before.With(sized), f.pod)
	}
	now0 := value(0)
	flip := &Flip{Of: Capacity, Subject: fmt.Sprintf("allocatable %s of %s", word, name), From: now0.String()}
	limit := value(most)
	flip.Searched = fmt.Sprintf("%d sizes to %s, then between two of them", probes, limit.String())
	stays, moves := int64(0), int64(0)
	for i := int64(1); i <= probes && moves == 0; i++ {
		change := most * i / probes
		moved, _, err := try(change)
		if err != nil {
			return nil, err
		}
		if moved {
			moves = change
		} else {
			stays = change
		}
	}
	if moves == 0 {
		return flip, nil
	}
	for moves-stays > 1 {
		middle := (stays + moves) / 2
		moved, _, err := try(middle)
		if err != nil {
			return nil, err
		}
		if moved {
			moves = middle
		} else {
			stays = middle
		}
	}
	_, at, err := try(moves)
	if err != nil {
		return nil, err
	}
	to := value(moves)
	flip.To, flip.Node = to.String(), at
	return flip, nil
}
