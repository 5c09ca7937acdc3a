// Package consolidate finds which nodes can go. It drains one after another, the least used first, and takes back each drain that does not
// end or leaves a pod without a node. A scenario with the remaining steps gives the same result.
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
	// Among are the nodes that may go; if empty, all but control planes. Keep are the nodes that stay in any case.
	Among, Keep []string
	// Survive are the levels to survive: the loss of any one domain of them must strand no more pods than now. Mode says how nodes fail.
	Survive []string
	Mode    node.FailureMode
	// Free only drains nodes, and leaves them there: the answer says which nodes can be free of pods. Survive is then not asked about.
	Free bool
	// Drain has the options of each drain; its Nodes are not used.
	Drain scenario.Drain
	// Progress, if set, is called with the number of tries done and their total, which grows when nodes are tried again.
	Progress func(done, total int)
}

// Answer says which nodes can go, and why each other node stays.
type Answer struct {
	// Free reports that the question is which nodes can be free of pods, and not which can go. Nodes of Removed then stay, cordoned.
	Free bool `json:"free,omitempty"`
	// Nodes is the number of nodes at the start, or of those that may be free.
	Nodes int `json:"nodes"`
	// Survive are the levels of which the loss of each domain was examined.
	Survive []string `json:"survive,omitempty"`
	// Removed are the nodes that can go, in the order of their removal.
	Removed []Removed `json:"removed"`
	// Saved is the sum of what the removed nodes with a price cost per hour; missing if none has one. Unpriced is the number of removed
	// nodes without a price.
	Saved    *float64 `json:"saved,omitempty"`
	Unpriced int      `json:"unpriced,omitempty"`
	// Evicted is the number of evictions.
	Evicted int `json:"evicted"`
	// Stays are the nodes that cannot go: first the nodes that were not tried, then the others in the order of their first try.
	Stays []Stay `json:"stays"`
	// Untried is the number of nodes that an interrupted search has not tried. Unproven is the number of nodes that can go while no node
	// fails, but whose removal it has not tried together with the losses.
	Untried  int `json:"untried,omitempty"`
	Unproven int `json:"unproven,omitempty"`
	// Stranded says, for each level, how many pods the worst loss leaves without a node, before the removals and after them.
	Stranded []Stranded `json:"stranded,omitempty"`
	// Decided is what a decider makes of the nodes, if it chooses them; missing otherwise.
	Decided *Decided `json:"decided,omitempty"`

	// Steps are the steps that drain and remove the nodes.
	Steps []scenario.Step `json:"-"`
	// End is the cluster after these steps.
	End *cluster.State `json:"-"`
}

// Removed is a node that can go.
type Removed struct {
	Node string `json:"node"`
	// Evicted is the number of pods that are evicted from it.
	Evicted int `json:"evicted"`
	// Price is what the node costs per hour; missing if that is not known.
	Price *float64 `json:"price,omitempty"`
	// Why is the decider's reason; missing without a decider.
	Why string `json:"why,omitempty"`
}

// Why is the kind of reason for which a node stays.
type Why string

const (
	// Kept means that the user keeps the node, ControlPlane that it is a control plane.
	Kept         Why = "kept"
	ControlPlane Why = "control plane"
	// ByPod means that a pod cannot be evicted, whatever the budgets are; ByBudget means that a disruption budget refuses the eviction.
	ByPod    Why = "pod"
	ByBudget Why = "budget"
	// ByVolume means that no other node can attach the volume of a pod, ByRoom that no other node has room for the pod, and ByRules that
	// its rules and the taints of nodes leave no other node.
	ByVolume Why = "volume"
	ByRoom   Why = "room"
	ByRules  Why = "rules"
	// ByPreemption means that without the node a pod would be preempted that nothing replaces.
	ByPreemption Why = "preemption"
	// ByQuota means that the API server refuses the replacement of a pod.
	ByQuota Why = "not created"
	// ByFailure means that without the node the loss of a domain would strand more pods.
	ByFailure Why = "failure"
	// ByAutoscaler means that the autoscaler would add another node.
	ByAutoscaler Why = "autoscaler"
	// ByDecider means that the decider keeps the node, and Unmentioned that the decider does not know the node as one of its own.
	ByDecider   Why = "decider"
	Unmentioned Why = "not its own"
)

// Stay is a node that stays, with the reason.
type Stay struct {
	Node string `json:"node"`
	Why  Why    `json:"why"`
	// Pods are the pods because of which it stays.
	Pods []cluster.PodRef `json:"pods,omitempty"`
	// Message is what kubectl, the API server or kube-scheduler says about the first of these pods.
	Message string `json:"message,omitempty"`

	removedBefore int             // number of nodes that had been removed when this one was tried
	steps         []scenario.Step // the steps of the try
}

// Reason returns what nodes that stay for the same reason have in common.
func (s Stay) Reason() string { return string(s.Why) + s.Message }

// Stranded is the number of pods that the worst loss of a domain of the level leaves without a node, Before the removals and After them.
type Stranded struct {
	Level  string `json:"level"`
	Before int    `json:"before"`
	After  int    `json:"after"`
}

// Run finds the nodes that can go after the last step of the result, in a world of its scenario. If the context ends, Run returns its error
// and what is known by then, nil if no node was tried; the result's Partial then says so.
func Run(ctx context.Context, w *world.Cluster, result *simulation.Result, opts Options) (*Answer, error) {
	course, err := simulation.Continue(w, result, simulation.Options{})
	if err != nil {
		return nil, err
	}
	c := &consolidation{Options: opts, course: course, groups: result.Scenario.Autoscaler, answer: &Answer{Free: opts.Free, Survive: opts.Survive, Removed: []Removed{}, Stays: []Stay{}}, crewsBefore: course.State().PodsByWorkload(), refusedBefore: map[cluster.Ref]int{}, firstTries: map[string]int{}}
	state := course.State()
	c.owner = state.Owners()
	for _, r := range state.Refused {
		c.refusedBefore[r.Ref] += r.Pods
	}
	err = c.tryAll(ctx, state)
	if err == nil {
		err = c.keepSurviving(ctx, result, result.Last())
	}
	if err != nil {
		return c.interruptedAnswer(ctx, result, err)
	}
	c.conclude()
	return c.answer, nil
}

// interruptedAnswer returns what is known when the context has ended: the nodes that can go, the nodes that stay, and how many were not tried. If
// losses have to be survived, it keeps only the removals that are known to survive them.
func (c *consolidation) interruptedAnswer(ctx context.Context, result *simulation.Result, err error) (*Answer, error) {
	if ctx.Err() == nil || len(c.firstTries) == 0 {
		return nil, err
	}
	result.Partial = fmt.Sprintf("interrupted after %d of %s", len(c.firstTries), words.Count(len(c.firstTries)+c.answer.Untried, "node"))
	if went := len(c.answer.Removed); len(c.Survive) > 0 && went > c.survived {
		result.Partial += fmt.Sprintf("; %d can go while no node fails, and for %d of them losses of %s were not tried", went, went-c.survived, words.Or(c.Survive))
		c.answer.Unproven, c.answer.Removed = went-c.survived, c.answer.Removed[:c.survived]
		if again := c.course.Rewind(2 * c.survived); again != nil {
			return nil, again
		}
	}
	c.conclude()
	return c.answer, err
}

// consolidation is a consolidation under way.
type consolidation struct {
	Options
	course        *simulation.Course
	groups        *scenario.Autoscaler
	answer        *Answer
	owner         func(*v1.Pod) cluster.Ref
	crewsBefore   map[cluster.Ref]cluster.WorkloadPods // the pods at the start
	refusedBefore map[cluster.Ref]int                  // pods that the API server refused to create at the start
	firstTries    map[string]int                       // the position of each node in the order of first tries, from 1
	retried       []Stay                               // the results of earlier tries of the nodes that are tried again
	// survived is the number of removals that are known to survive the losses.
	survived int
}

// tryAll tries each node, the one that is least used at that moment first. After others have gone it tries the nodes that stay again: a pod
// that was Pending before another node went may run now, so that its budget allows an eviction.
func (c *consolidation) tryAll(ctx context.Context, state *cluster.State) error {
	if c.answer.Nodes = len(state.Nodes); c.Free && len(c.Among) > 0 {
		c.answer.Nodes = len(c.Among)
	}
	controlPlanes := cluster.ControlPlanes(state.Nodes, state.Pods)
	var rest []string
	for _, node := range state.Nodes {
		switch {
		case slices.Contains(c.Keep, node.Name):
			c.appendStay(Stay{Node: node.Name, Why: Kept})
		case len(c.Among) == 0 && controlPlanes[node.Name]:
			c.appendStay(Stay{Node: node.Name, Why: ControlPlane})
		case len(c.Among) > 0 && !slices.Contains(c.Among, node.Name):
		default:
			rest = append(rest, node.Name)
		}
	}
	total := 0
	for ; len(rest) > 0; rest = c.takeRetries() {
		total += len(rest)
		if err := c.tryEach(ctx, rest, total); err != nil {
			return err
		}
	}
	slices.SortStableFunc(c.answer.Stays, func(a, b Stay) int { return cmp.Compare(c.firstTries[a.Node], c.firstTries[b.Node]) })
	return nil
}

// takeRetries returns the nodes that stay and were tried before the last removal, and takes them out of the answer. It leaves out nodes with a
// pod that cannot be evicted, whatever else happens.
func (c *consolidation) takeRetries() (nodes []string) {
	c.retried = nil
	there := c.course.State().NodesByName()
	c.answer.Stays = slices.DeleteFunc(c.answer.Stays, func(stay Stay) bool {
		again := stay.Why != Kept && stay.Why != ControlPlane && stay.Why != ByPod && stay.removedBefore < len(c.answer.Removed) && there[stay.Node] != nil
		if again {
			nodes = append(nodes, stay.Node)
			c.retried = append(c.retried, stay)
		}
		return again
	})
	return nodes
}

// tryEach tries the nodes; total is the number of all tries so far, including these.
func (c *consolidation) tryEach(ctx context.Context, rest []string, total int) error {
	var sorted *cluster.State // the state by which the rest is sorted: a node that stays leaves it as it was
	for len(rest) > 0 && len(c.course.State().Nodes) > 1 {
		state := c.course.State()
		there := state.NodesByName()
		if rest = slices.DeleteFunc(rest, func(name string) bool { return there[name] == nil }); len(rest) == 0 {
			break // the autoscaler has removed the remaining ones
		}
		if state != sorted {
			rest, sorted = world.SortEmptiestFirst(state, rest), state
		}
		if err := c.tryNode(ctx, there[rest[0]]); err != nil {
			c.countUntried(rest)
			return err
		}
		rest = rest[1:]
		if c.Progress != nil {
			c.Progress(total-len(rest), total)
		}
	}
	return nil
}

// countUntried counts the nodes that are not tried any more. A node that stayed before still does.
func (c *consolidation) countUntried(rest []string) {
	for _, name := range rest {
		if i := slices.IndexFunc(c.retried, func(stay Stay) bool { return stay.Node == name }); i >= 0 {
			c.appendStay(c.retried[i])
		} else {
			c.answer.Untried++
		}
	}
}

func (c *consolidation) appendStay(stay Stay) { c.answer.Stays = append(c.answer.Stays, stay) }

// tryNode drains and removes the node, and takes both steps back if the node has to stay.
func (c *consolidation) tryNode(ctx context.Context, node *v1.Node) error {
	did := len(c.course.Did)
	why, evicted, err := c.removeNode(ctx, node.Name)
	if err != nil {
		return errors.Join(err, c.course.Rewind(did))
	}
	if c.firstTries[node.Name] == 0 {
		c.firstTries[node.Name] = 1 + len(c.firstTries)
	}
	if why != nil {
		why.Node, why.removedBefore, why.steps = node.Name, len(c.answer.Removed), slices.Clone(c.course.Did[did:])
		c.appendStay(*why)
		return c.course.Rewind(did)
	}
	removed := Removed{Node: node.Name, Evicted: evicted}
	price, priced, err := c.groups.Price(node)
	if priced && !c.Free { // a free node costs what it did
		removed.Price = &price
	}
	c.answer.Removed = append(c.answer.Removed, removed)
	return err
}

// removeNode does the steps that drain and remove the node. It returns why the node has to stay, if it does, and the number of evicted pods.
func (c *consolidation) removeNode(ctx context.Context, name string) (*Stay, int, error) {
	drain := c.Drain
	drain.Nodes = scenario.Nodes{Names: []string{name}}
	step, err := c.course.Do(ctx, scenario.Step{Name: "drain " + name, Drain: &drain})
	if err != nil {
		return nil, 0, err
	}
	drained := step.Drained[0]
	if stays := drained.BlockingPods(); len(stays) > 0 {
		why := &Stay{Why: ByPod, Message: stays[0].Reason}
		if strings.Contains(why.Message, "disruption budget") || strings.Contains(why.Message, "PodDisruptionBudget") {
			why.Why = ByBudget
		}
		for _, pod := range stays {
			why.Pods = append(why.Pods, pod.PodRef)
		}
		return why, 0, nil
	}
	if why := c.explainWorse(step); why != nil || c.Free {
		return why, len(drained.Evicted), nil
	}
	step, err = c.course.Do(ctx, scenario.Step{Name: "remove " + name, RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: []string{name}}}})
	if err != nil {
		return nil, 0, err
	}
	return c.explainWorse(step), len(drained.Evicted), nil
}

// explainWorse returns why the node has to stay after the step, by what is worse than at the start; nil if nothing is.
func (c *consolidation) explainWorse(step *simulation.Step) *Stay {
	var why *Stay
	newly := cluster.NewlyPending(c.crewsBefore, step.State)
	for _, p := range step.Pending {
		if !newly[p.Pod.UID] {
			continue
		}
		if why == nil {
			why = &Stay{Why: reasonPending(&p), Message: p.Message}
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
		if r.OfWorkload() && r.Pods > c.refusedBefore[r.Ref] {
			return &Stay{Why: ByQuota, Message: r.Message}
		}
	}
	if did := step.Autoscaling; did != nil && len(did.Added) > 0 {
		return &Stay{Why: ByAutoscaler, Message: did.DescribeSizes()}
	}
	return nil
}

// reasonPending returns why no node takes the pod: a volume that only some nodes can attach, room, or rules.
func reasonPending(p *placement.Pending) Why {
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

// keepSurviving takes back the last removals until no loss of a domain strands more pods than at the start. It bisects, although fewer removals
// need not survive where more do; the number that it returns was seen to survive.
func (c *consolidation) keepSurviving(ctx context.Context, result *simulation.Result, start *simulation.Step) error {
	if len(c.Survive) == 0 {
		return nil
	}
	w, err := simulation.NewWorld(result.Scenario)
	if err != nil {
		return err
	}
	defer w.Close()
	before, _, err := c.countStranded(ctx, w, start, nil)
	if err != nil {
		return err
	}
	at := func(removed int) *simulation.Step {
		if removed == 0 {
			return start
		}
		return &c.course.Steps[len(c.course.Steps)-len(c.course.Did)+2*removed-1]
	}
	// The largest number of removals that survives is between low and high.
	low, high := 0, len(c.answer.Removed)
	after, message := before, ""
	for low < high {
		middle := (low + high + 1) / 2
		found, why, err := c.countStranded(ctx, w, at(middle), before)
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
		c.appendStay(Stay{Node: r.Node, Why: ByFailure, Message: message})
	}
	c.answer.Removed = c.answer.Removed[:low]
	for i, level := range c.Survive {
		c.answer.Stranded = append(c.answer.Stranded, Stranded{level, before[i], after[i]})
	}
	return c.course.Rewind(2 * low)
}

// countStranded returns, for each level, the largest number of pods that the loss of a domain leaves without a node. If a loss leaves more than
// allowed, why says which; later losses are then not examined.
func (c *consolidation) countStranded(ctx context.Context, w world.World, after *simulation.Step, allowed []int) (most []int, why string, err error) {
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

// conclude adds the sums, the steps and the last state to the answer.
func (c *consolidation) conclude() {
	a := c.answer
	sum, priced := 0.0, false
	for _, r := range a.Removed {
		a.Evicted += r.Evicted
		if r.Price == nil {
			if !a.Free {
				a.Unpriced++
			}
			continue
		}
		sum, priced = sum+*r.Price, true
	}
	if priced {
		a.Saved = &sum
	}
	a.Steps, a.End = c.course.Did, c.course.State()
}
