// Package consolidate finds which nodes can go. It drains one after another, the least used first, and takes back each drain that does not end
// or leaves a pod without a node. A scenario with the steps that stay gives the same.
package consolidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Options say which nodes may go.
type Options struct {
	// Among are the nodes that may go; if empty, all but control planes. Keep are those that stay in any case.
	Among, Keep []string
	// Survive are the levels of which the loss of any one domain must strand no more pods than now, and Mode is how nodes fail.
	Survive []string
	Mode    node.FailureMode
	// Drain is how nodes are drained; its Nodes are not used.
	Drain scenario.Drain
	// Progress, if set, is called with the number of nodes that were tried, and of all.
	Progress func(done, total int)
}

// Answer is which nodes can go.
type Answer struct {
	// Nodes is the number of nodes at the start.
	Nodes int `json:"nodes"`
	// Survive are the levels of which the loss of any one domain was examined.
	Survive []string `json:"survive,omitempty"`
	// Removed are the nodes that can go, in order.
	Removed []Removed `json:"removed"`
	// Saved is what the removed nodes cost in an hour, as far as it is known; missing if of none. Unpriced is the number of those without a price.
	Saved    *float64 `json:"saved,omitempty"`
	Unpriced int      `json:"unpriced,omitempty"`
	// Evicted is the number of evictions.
	Evicted int `json:"evicted"`
	// Stays are the nodes that cannot go, in the order in which they were tried first, after those that were not asked about.
	Stays []Stay `json:"stays"`
	// Untried is the number of nodes that an interrupted search has not tried, and Unproven the number of those that can go while no node fails, and of
	// which it has not tried whether also after the losses.
	Untried  int `json:"untried,omitempty"`
	Unproven int `json:"unproven,omitempty"`
	// Stranded is, for each level, how many pods the worst loss leaves without a node before and after.
	Stranded []Stranded `json:"stranded,omitempty"`

	// Steps are the steps with which they go.
	Steps []scenario.Step `json:"-"`
	// End is the cluster after them.
	End *cluster.State `json:"-"`
}

// Removed is a node that can go.
type Removed struct {
	Node string `json:"node"`
	// Evicted is how many pods are evicted from it.
	Evicted int `json:"evicted"`
	// Price is what it costs in an hour; missing if that is not known.
	Price *float64 `json:"price,omitempty"`
}

// Why is why a node stays.
type Why string

const (
	// Kept means that the user wants it, ControlPlane that it is one.
	Kept         Why = "kept"
	ControlPlane Why = "control plane"
	// ByPod means that a pod cannot be evicted whatever the budgets are; ByBudget that a budget refuses.
	ByPod    Why = "pod"
	ByBudget Why = "budget"
	// ByVolume means that no other node can have the volume of a pod, ByRoom that none has room for it, and ByRules that none is left by its rules
	// and the taints of nodes.
	ByVolume Why = "volume"
	ByRoom   Why = "room"
	ByRules  Why = "rules"
	// ByPreemption means that without it a pod would be evicted for another one, and nothing replaces it.
	ByPreemption Why = "preemption"
	// ByQuota means that no pod is created in the place of one.
	ByQuota Why = "not created"
	// ByFailure means that without it the loss of a domain would strand more pods.
	ByFailure Why = "failure"
	// ByAutoscaler means that the autoscaler would add another one.
	ByAutoscaler Why = "autoscaler"
)

// Stay is a node that stays.
type Stay struct {
	Node string `json:"node"`
	Why  Why    `json:"why"`
	// Pods are those because of which it stays.
	Pods []cluster.PodRef `json:"pods,omitempty"`
	// Message is what kubectl, the API server or kube-scheduler says of the first of them.
	Message string `json:"message,omitempty"`

	removed int             // nodes that had gone when this one was tried
	steps   []scenario.Step // with which it was tried
}

// Stranded is what the worst loss of a domain of a level leaves without a node.
type Stranded struct {
	Level  string `json:"level"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// Run finds the nodes that can go after the last step of the result, in a world of its scenario. If the context ends, the answer has the nodes of
// which it is known by then, and is nil if there is none; the result then says that it is partial.
func Run(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	course, err := simulation.GoOn(w, result, simulation.Options{})
	if err != nil {
		return nil, err
	}
	c := &consolidation{Options: opts, course: course, groups: result.Scenario.Autoscaler, answer: &Answer{Survive: opts.Survive, Removed: []Removed{}, Stays: []Stay{}}, before: course.State().Crews(), refused: map[cluster.Ref]int{}, first: map[string]int{}}
	state := course.State()
	c.owner = state.Owners()
	for _, r := range state.Refused {
		c.refused[r.Ref] += r.Pods
	}
	err = c.all(ctx, state)
	if err == nil {
		err = c.survive(ctx, result, &result.Steps[len(result.Steps)-1])
	}
	if err != nil {
		return c.partly(ctx, result, err)
	}
	c.conclude()
	return c.answer, nil
}

// partly returns what is known when the context has ended: the nodes that went, those that stay, and how many were not tried. Where losses are to be
// survived, only the nodes that went are left of which that is known.
func (c *consolidation) partly(ctx context.Context, result *simulation.Result, err error) (*Answer, error) {
	if ctx.Err() == nil || len(c.first) == 0 {
		return nil, err
	}
	result.Partial = fmt.Sprintf("interrupted after %d of %s", len(c.first), words.Count(len(c.first)+c.answer.Untried, "node"))
	if went := len(c.answer.Removed); len(c.Survive) > 0 && went > c.survived {
		result.Partial += fmt.Sprintf("; %d can go while no node fails, and for %d of them losses of %s were not tried", went, went-c.survived, words.Or(c.Survive))
		c.answer.Unproven, c.answer.Removed = went-c.survived, c.answer.Removed[:c.survived]
		if again := c.course.Back(2 * c.survived); again != nil {
			return nil, again
		}
	}
	c.conclude()
	return c.answer, err
}

// consolidation is one under way.
type consolidation struct {
	Options
	course  *simulation.Course
	groups  *scenario.Autoscaler
	answer  *Answer
	owner   func(*v1.Pod) cluster.Ref
	before  map[cluster.Ref]cluster.Crew // the pods at the start
	refused map[cluster.Ref]int          // pods that were not created at the start
	first   map[string]int               // the place of each node among those that were tried, when it was for the first time
	retried []Stay                       // why the nodes of again stayed before
	// survived is how many of the nodes that went are known to survive the losses.
	survived int
}

// all tries each node, the least used first, as it is then, and those that stay again once others have gone: a pod that waited before another node
// went may run now, so that its budget allows an eviction.
func (c *consolidation) all(ctx context.Context, state *cluster.State) error {
	c.answer.Nodes = len(state.Nodes)
	controlPlanes := cluster.ControlPlanes(state.Nodes, state.Pods)
	var rest []string
	for _, node := range state.Nodes {
		switch {
		case slices.Contains(c.Keep, node.Name):
			c.stays(Stay{Node: node.Name, Why: Kept})
		case len(c.Among) == 0 && controlPlanes[node.Name]:
			c.stays(Stay{Node: node.Name, Why: ControlPlane})
		case len(c.Among) > 0 && !slices.Contains(c.Among, node.Name):
		default:
			rest = append(rest, node.Name)
		}
	}
	total := 0
	for ; len(rest) > 0; rest = c.again() {
		total += len(rest)
		if err := c.each(ctx, rest, total); err != nil {
			return err
		}
	}
	slices.SortStableFunc(c.answer.Stays, func(a, b Stay) int { return cmp.Compare(c.first[a.Node], c.first[b.Node]) })
	return nil
}

// again returns the nodes that were tried before the last of the others went. They no longer stay. Those with a pod that cannot be evicted whatever
// happens are not among them.
func (c *consolidation) again() (nodes []string) {
	c.retried = nil
	there := c.course.State().NodesByName()
	c.answer.Stays = slices.DeleteFunc(c.answer.Stays, func(stay Stay) bool {
		again := stay.Why != Kept && stay.Why != ControlPlane && stay.Why != ByPod && stay.removed < len(c.answer.Removed) && there[stay.Node] != nil
		if again {
			nodes = append(nodes, stay.Node)
			c.retried = append(c.retried, stay)
		}
		return again
	})
	return nodes
}

// each tries the nodes, the last of that many.
func (c *consolidation) each(ctx context.Context, rest []string, total int) error {
	for len(rest) > 0 && len(c.course.State().Nodes) > 1 {
		there := c.course.State().NodesByName()
		if rest = slices.DeleteFunc(rest, func(name string) bool { return there[name] == nil }); len(rest) == 0 {
			break // the autoscaler has removed the last of them
		}
		rest = world.Emptiest(c.course.State(), rest)
		if err := c.try(ctx, there[rest[0]]); err != nil {
			c.leave(rest)
			return err
		}
		rest = rest[1:]
		if c.Progress != nil {
			c.Progress(total-len(rest), total)
		}
	}
	return nil
}

// leave counts the nodes that are not tried any more. Those that stayed before still do.
func (c *consolidation) leave(rest []string) {
	for _, name := range rest {
		if i := slices.IndexFunc(c.retried, func(stay Stay) bool { return stay.Node == name }); i >= 0 {
			c.stays(c.retried[i])
		} else {
			c.answer.Untried++
		}
	}
}

func (c *consolidation) stays(stay Stay) { c.answer.Stays = append(c.answer.Stays, stay) }

// try drains and removes the node, and takes it back if that leaves anything behind.
func (c *consolidation) try(ctx context.Context, node *v1.Node) error {
	did := len(c.course.Did)
	why, evicted, err := c.remove(ctx, node.Name)
	if err != nil {
		return errors.Join(err, c.course.Back(did))
	}
	if c.first[node.Name] == 0 {
		c.first[node.Name] = 1 + len(c.first)
	}
	if why != nil {
		why.Node, why.removed, why.steps = node.Name, len(c.answer.Removed), slices.Clone(c.course.Did[did:])
		c.stays(*why)
		return c.course.Back(did)
	}
	removed := Removed{Node: node.Name, Evicted: evicted}
	price, priced, err := c.groups.Price(node)
	if priced {
		removed.Price = &price
	}
	c.answer.Removed = append(c.answer.Removed, removed)
	return err
}

// remove does the steps with which the node goes. It returns why it stays, if it does.
func (c *consolidation) remove(ctx context.Context, name string) (*Stay, int, error) {
	drain := c.Drain
	drain.Nodes = scenario.Nodes{Names: []string{name}}
	step, err := c.course.Do(ctx, scenario.Step{Name: "drain " + name, Drain: &drain})
	if err != nil {
		return nil, 0, err
	}
	drained := step.Drained[0]
	if stays := drained.Stays(); len(stays) > 0 {
		why := &Stay{Why: ByPod, Message: stays[0].Reason}
		if strings.Contains(why.Message, "disruption budget") || strings.Contains(why.Message, "PodDisruptionBudget") {
			why.Why = ByBudget
		}
		for _, pod := range stays {
			why.Pods = append(why.Pods, pod.PodRef)
		}
		return why, 0, nil
	}
	if why := c.left(step); why != nil {
		return why, 0, nil
	}
	step, err = c.course.Do(ctx, scenario.Step{Name: "remove " + name, RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: []string{name}}}})
	if err != nil {
		return nil, 0, err
	}
	return c.left(step), len(drained.Evicted), nil
}

// left returns what the step leaves behind that was not so at the start; nil if there is nothing.
func (c *consolidation) left(step *simulation.Step) *Stay {
	var why *Stay
	newly := cluster.NewlyPending(c.before, step.State)
	for _, p := range step.Pending {
		if !newly[p.Pod.UID] {
			continue
		}
		if why == nil {
			why = &Stay{Why: reason(&p), Message: p.Message}
		}
		why.Pods = append(why.Pods, cluster.NewPodRef(p.Pod, c.owner(p.Pod)))
	}
	if why != nil {
		return why
	}
	for _, preempted := range step.Preempted {
		if owner := c.owner(preempted.Victim); owner.Kind == "Pod" {
			return &Stay{Why: ByPreemption, Pods: []cluster.PodRef{cluster.NewPodRef(preempted.Victim, owner)},
				Message: fmt.Sprintf("pod %s/%s would preempt it, and nothing replaces it", preempted.For.Namespace, preempted.For.Name)}
		}
	}
	for _, r := range step.State.Refused {
		if r.OfWorkload() && r.Pods > c.refused[r.Ref] {
			return &Stay{Why: ByQuota, Message: r.Message}
		}
	}
	if did := step.Autoscaling; did != nil && len(did.Added) > 0 {
		return &Stay{Why: ByAutoscaler, Message: did.Words()}
	}
	return nil
}

// reason is why no node takes the pod: a volume that only some nodes can have, room, or rules.
func reason(p *placement.Pending) Why {
	why := ByRules
	for _, r := range p.Reasons {
		switch {
		case strings.HasPrefix(r.Plugin, "Volume") || r.Plugin == "NodeVolumeLimits":
			return ByVolume
		case r.Plugin == "NodeResourcesFit" || r.Plugin == "DynamicResources":
			why = ByRoom
		}
	}
	return why
}

// survive takes back the last removals until no loss of a domain strands more pods than at the start. That fewer removals survive where more
// do not is not certain, but the answer is what was seen to survive.
func (c *consolidation) survive(ctx context.Context, result *simulation.Result, start *simulation.Step) error {
	if len(c.Survive) == 0 {
		return nil
	}
	w, err := simulation.NewWorld(result.Scenario)
	if err != nil {
		return err
	}
	defer w.Close()
	before, _, err := c.stranded(ctx, w, start, nil)
	if err != nil {
		return err
	}
	at := func(removed int) *simulation.Step {
		if removed == 0 {
			return start
		}
		return &c.course.Steps[len(c.course.Steps)-len(c.course.Did)+2*removed-1]
	}
	// The largest number of removals that survives is from low to high.
	low, high := 0, len(c.answer.Removed)
	after, message := before, ""
	for low < high {
		middle := (low + high + 1) / 2
		found, why, err := c.stranded(ctx, w, at(middle), before)
		if err != nil {
			return err
		}
		if why == "" {
			low, after, c.survived = middle, found, middle
		} else {
			high, message = middle-1, why
		}
	}
	for _, r := range c.answer.Removed[low:] {
		c.stays(Stay{Node: r.Node, Why: ByFailure, Message: message})
	}
	c.answer.Removed = c.answer.Removed[:low]
	for i, level := range c.Survive {
		c.answer.Stranded = append(c.answer.Stranded, Stranded{level, before[i], after[i]})
	}
	return c.course.Back(2 * low)
}

// stranded returns the most pods that the loss of a domain of each level leaves without a node. If that is more than allowed, it says where; what
// comes after is not examined.
func (c *consolidation) stranded(ctx context.Context, w world.World, after *simulation.Step, allowed []int) (most []int, why string, err error) {
	for i, level := range c.Survive {
		opts := blast.Options{Levels: []string{level}, Simultaneous: 1, Mode: c.Mode, From: after.Mark()}
		worse := func(r *blast.Recovery) bool { return allowed != nil && len(r.Pending) > allowed[i] }
		opts.Until = func(_ *blast.Failure, r *blast.Recovery) bool { return worse(r) }
		analysis, err := blast.Lost(after.State, opts)
		if err == nil {
			err = blast.RecoverIn(ctx, w, after.State, analysis, opts)
		}
		if err != nil {
			return nil, "", err
		}
		most = append(most, 0)
		for _, failure := range analysis.Levels[0].Failures {
			if r := failure.Recovery; r != nil {
				most[i] = max(most[i], len(r.Pending))
				if worse(r) {
					return most, fmt.Sprintf("after the loss of %s %s %d pods have no node, %s: %s", level, failure.Domains[0], len(r.Pending), cluster.RefTo(r.Pending[0].Pod).Qualified(), r.Pending[0].Message), nil
				}
			}
		}
	}
	return most, "", nil
}

// conclude sums up.
func (c *consolidation) conclude() {
	a := c.answer
	sum, priced := 0.0, false
	for _, r := range a.Removed {
		a.Evicted += r.Evicted
		if r.Price == nil {
			a.Unpriced++
			continue
		}
		sum, priced = sum+*r.Price, true
	}
	if priced {
		a.Saved = &sum
	}
	a.Steps, a.End = c.course.Did, c.course.State()
}
