// Package plan finds what to add to a cluster, and what to change in it, so that the loss of any domain of a level strands nobody: every
// pod that runs now runs again elsewhere. It starts from today's placement, and moves no pod.
//
//	the cluster as it is ─ lose each domain ──────────▶ its stranded pods (loss.go)
//	the state after a loss ─ join nodes of one group ─▶ the fewest nodes that help, and the pods that no node helps (need.go)
//	pods that no node helps ─ one patch after another ▶ the smallest patch that frees them (change.go, attempt.go)
//	the needs of all losses ──────────────────────────▶ nodes per group and zone (place.go)
//	the cluster with these, lose each domain again ───▶ nobody is stranded, or the needs grow (plan.go)
//
// A pod is stranded if it runs now, and after the loss a pod in its place is Pending. Pods that nothing replaces, such as a StatefulSet's
// on unreachable nodes, need no room; they are counted.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Options say which losses must strand nobody.
type Options struct {
	// Survive are the topology keys of the levels to survive: any one domain of a level may fail, one level at a time. zone=b means only
	// that domain.
	Survive []string
	// Mode says how nodes fail.
	Mode node.FailureMode
	// Progress, if set, is called with a description of the current try, the number of losses or tries done, and their total; -1 if the
	// total is not known.
	Progress func(what string, done, total int)
}

// Answer is the plan: what to add to the cluster and what to change in it.
type Answer struct {
	// Survive are the levels to survive, of each of which any one domain may fail. Domains is the number of losses that were tried, one at
	// a time; not all of them if the search was interrupted.
	Survive []string         `json:"survive"`
	Mode    node.FailureMode `json:"mode"`
	Domains int              `json:"domains"`
	// Nodes is the number of nodes that the cluster has. Running is the number of pods with a node, and Pending the number of pods without one
	// before anything is lost.
	Nodes   int `json:"nodes"`
	Running int `json:"running"`
	Pending int `json:"pending"`
	// NotRunning are the workloads of which no pod runs although pods wait for a node. No loss strands anything of them.
	NotRunning []string `json:"notRunning,omitempty"`
	// Unreplaced is the largest number of pods that nothing replaces after one loss. They need no room.
	Unreplaced int `json:"unreplaced,omitempty"`
	// Autoscaled is, by group, the largest number of nodes that an autoscaler adds by itself after one loss. Add and Changes come on top of
	// that.
	Autoscaled []Autoscaled `json:"autoscaled,omitempty"`
	// Raise are the autoscaler's groups that with the plan have more nodes after some loss than their maximum.
	Raise []Raise `json:"raise,omitempty"`
	// Losses are the losses that strand pods now, the most pods first.
	Losses []Loss `json:"losses,omitempty"`
	// Add are the nodes to add. AtLeast is a lower bound by arithmetic: with fewer new nodes, some loss strands pods; 0 with an autoscaler.
	// Price is what the new nodes cost per hour; missing if a group has no price.
	Add     []Addition `json:"add,omitempty"`
	AtLeast int        `json:"atLeast,omitempty"`
	Price   *float64   `json:"price,omitempty"`
	// Changes are the patches that free pods for which no new node helps.
	Changes []Change `json:"changes,omitempty"`
	// Left are the pods that stay stranded with the plan, by workload and loss; none if the plan strands nobody.
	Left []Left `json:"left,omitempty"`
	// Unfinished means that the search ended before it knew whether more nodes or other patches help the pods in Left.
	Unfinished bool `json:"unfinished,omitempty"`
	// Steps add the nodes and make the changes, as steps of a scenario.
	Steps       []scenario.Step `json:"-"`
	triedLosses []tried
	fewerNodes  []fewerNodesPlan
}

// Loss is a domain whose loss strands pods.
type Loss struct {
	Level  string `json:"level"`
	Domain string `json:"domain"`
	// Stranded is the number of stranded pods, and Workloads the workloads that they belong to.
	Stranded  int        `json:"stranded"`
	Workloads []Workload `json:"workloads"`
	// Needs are the new nodes that these pods need outside the domain, and Blocked is the number of pods that no number of nodes helps.
	Needs   []Need `json:"needs,omitempty"`
	Blocked int    `json:"blocked,omitempty"`
	// Open means that the search for Needs and Blocked was interrupted, so that both are unknown.
	Open   bool `json:"open,omitempty"`
	owners map[cluster.Ref]bool
}

// Workload is a workload with stranded pods.
type Workload struct {
	cluster.WorkloadRef
	Pods int `json:"pods"`
}

// Need is a number of nodes of a group.
type Need struct {
	Group string `json:"group"`
	Nodes int    `json:"nodes"`
}

// Addition is a number of nodes to add to a group in a zone.
type Addition struct {
	Group string `json:"group"`
	Zone  string `json:"zone,omitempty"`
	Nodes int    `json:"nodes"`
	// Like is the name of the node that the new ones copy. Price is what one new node costs per hour; missing if that is not known.
	Like  string   `json:"like"`
	Price *float64 `json:"price,omitempty"`
}

// Change is a patch that frees pods of a workload for which no new node helps.
type Change struct {
	cluster.WorkloadRef
	// Change describes the patch, Price says what else it costs, and Commands apply it with kubectl.
	Change   string   `json:"change"`
	Price    []string `json:"price,omitempty"`
	Commands []string `json:"commands,omitempty"`
	steps    []scenario.Step
	// ifStuck means that the patch is tried only if the rollout of the patch before it does not end.
	ifStuck bool
}

// Left is the number of pods of a workload that a loss strands in spite of the plan.
type Left struct {
	cluster.WorkloadRef
	Level  string `json:"level"`
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
	// Message is kube-scheduler's text for the first of these pods, or why it does not start.
	Message string `json:"message"`
}

// maxRounds limits how often the needs may grow after a plan was tried. Each round adds what the last one lacked; the largest number seen
// is six.
const maxRounds = 12

// Find returns the plan for the cluster after the last step of the result. If the context ends, Find returns its error and what is known by
// then: which pods the losses that were tried strand, and how many nodes they need at least; nil if no loss was tried. The result's Partial
// then says so.
func Find(ctx context.Context, base *simulation.Result, opts Options) (*Answer, error) {
	p := &planner{opts: opts, worlds: simulation.NewWorlds(base.Scenario), base: base, state: base.State()}
	defer p.worlds.Close()
	p.crewsBefore, p.losesWork = p.state.PodsByWorkload(), p.state.LosesWork()
	answer := &Answer{Survive: opts.Survive, Mode: opts.Mode, Nodes: len(p.state.Nodes)}
	answer.countPods(p.state)
	losses, err := p.loseEach(ctx, base, func(string) bool { return true })
	if err != nil {
		return p.interruptedAnswer(ctx, answer, losses, err)
	}
	p.countLosses(answer, losses)
	if p.groups, err = capacity.GroupsOf(p.state.Nodes, p.state.Pods, p.state.ResourceSlices, base.Scenario.LevelKeys); err != nil {
		return nil, err
	}
	if err := p.findNeeds(ctx, losses); err != nil {
		return p.interruptedAnswer(ctx, answer, losses, err)
	}
	answer.Losses, answer.Autoscaled = p.describeLosses(losses), autoscaledAfter(losses)
	if base.Scenario.Autoscaler == nil {
		answer.AtLeast = p.minNewNodes(losses)
	}
	if len(answer.Losses) == 0 {
		answer.triedLosses = p.harmlessResults(losses)
	} else {
		p.choosePatches(losses)
		if err := p.growPlan(ctx, losses, answer); err != nil {
			return p.interruptedAnswer(ctx, answer, losses, err)
		}
	}
	return answer, nil
}

// countPods counts the pods with and without a node, and finds the workloads that do not run.
func (a *Answer) countPods(state *cluster.State) {
	for _, count := range state.PodCounts() {
		a.Running, a.Pending = a.Running+count.Running, a.Pending+count.Pending
	}
	a.NotRunning = blast.NotRunning(state)
}

// countLosses counts the losses that were tried, and the most pods that nothing replaces after one.
func (p *planner) countLosses(answer *Answer, losses []loss) {
	answer.Domains = len(losses)
	for _, l := range losses {
		answer.Unreplaced = max(answer.Unreplaced, l.unreplaced)
	}
}

// interruptedAnswer returns what is known when the context has ended: what the losses that were tried strand, and how many nodes any plan needs. A
// loss whose search for nodes has not ended is Open, and needs no nodes in this count.
func (p *planner) interruptedAnswer(ctx context.Context, answer *Answer, losses []loss, err error) (*Answer, error) {
	of := len(losses)
	losses = list.Where(losses, func(l loss) bool { return l.state != nil })
	if ctx.Err() == nil || len(losses) == 0 {
		return nil, err
	}
	p.countLosses(answer, losses)
	if p.base.Partial = fmt.Sprintf("interrupted after %d of %s", len(losses), words.Pick(of, "1 loss", fmt.Sprintf("%d losses", of))); len(losses) == of {
		p.base.Partial = fmt.Sprintf("interrupted before it was known what would do; %s tried", words.Pick(of, "the 1 loss was", fmt.Sprintf("all %d losses were", of)))
	}
	if answer.Losses == nil { // otherwise they were described before the plan was tried
		answer.Losses, answer.AtLeast = p.describeLosses(losses), p.minNewNodes(losses)
	}
	if answer.AtLeast > 0 {
		p.base.Partial += fmt.Sprintf("; at least %s needed", words.Pick(answer.AtLeast, "1 node is", fmt.Sprintf("%d nodes are", answer.AtLeast)))
	}
	return answer, err
}

// planner searches for the plan.
type planner struct {
	opts   Options
	worlds *simulation.Worlds
	base   *simulation.Result
	// state is the present cluster, to which nodes are added, and [planner.crewsBefore] the pods of each workload in it.
	state       *cluster.State
	crewsBefore map[cluster.Ref]cluster.WorkloadPods
	groups      []capacity.NodeGroup
	// losesWork reports whether the work of a present pod is lost with the pod.
	losesWork func(*v1.Pod) bool
	// attempts are the searches for patches, one for each workload with a pod that no node helps, in the order in which these workloads
	// were found.
	attempts []*attempt
}

// growPlan places the nodes that the losses need, tries them with the patches, and extends both until they strand nobody except pods that
// neither helps. Until nothing grows any more, it tries only the losses that strand pods; then it tries all. At the end it completes the
// answer.
func (p *planner) growPlan(ctx context.Context, losses []loss, answer *Answer) error {
	for round, all := 1, allStrand(losses); ; round++ {
		placed := p.placeNodes(losses)
		with, err := p.runPlan(ctx, placed)
		if err != nil {
			return err
		}
		again, err := p.loseEach(ctx, with, func(domain string) bool {
			return all || slices.ContainsFunc(losses, func(l loss) bool { return l.domain == domain && len(l.stranded) > 0 })
		})
		if err != nil {
			return err
		}
		grew := false
		if round < maxRounds && anyStrands(again) {
			var replaced bool
			if losses, grew, replaced, err = p.addNeeds(ctx, losses, again, placed); err != nil {
				return err
			}
			if replaced {
				round--
			}
		}
		switch {
		case grew:
			all = allStrand(losses)
		case !all:
			all = true
		default:
			answer.Left, answer.triedLosses, answer.Raise = p.listLeft(again), answer.resultsOf(again), p.exceededMaxima(again)
			answer.Unfinished = round >= maxRounds && len(answer.Left) > 0
			p.conclude(answer, placed)
			if answer.CountNewNodes() == answer.AtLeast && len(answer.Left) == 0 {
				answer.fewerNodes, err = p.tryFewer(ctx, answer)
			}
			return err
		}
	}
}

// addNeeds adds to the needs of each loss the nodes that it still lacked when it was tried again, and goes on to other patches for pods that
// no node helped. It reports whether the plan grew, and whether a patch replaced another one. Losses may gain an element: the loss of a new
// node onto which pods have moved.
func (p *planner) addNeeds(ctx context.Context, losses, again []loss, placed [][]int) (_ []loss, grew, replaced bool, err error) {
	if err := p.findNeeds(ctx, again); err != nil {
		return nil, false, false, err
	}
	other, replaced := p.choosePatches(again)
	if replaced { // what these losses lack is known only once the patches are settled
		return losses, true, true, nil
	}
	grew = other
	for i := range again {
		at := slices.IndexFunc(losses, func(l loss) bool { return l.level == again[i].level && l.domain == again[i].domain })
		if at < 0 {
			at = len(losses)
			losses = append(losses, loss{level: again[i].level, domain: again[i].domain, needs: map[int]int{}})
		}
		for g, n := range again[i].needs {
			losses[at].needs[g] = p.countOutside(placed[g], g, &again[i]) + n
			grew = grew || n > 0
		}
		if len(losses[at].stranded) == 0 { // each further round tries this loss
			losses[at].stranded = again[i].stranded
		}
	}
	return losses, grew, false, nil
}

func allStrand(losses []loss) bool {
	return !slices.ContainsFunc(losses, func(l loss) bool { return len(l.stranded) == 0 })
}

func anyStrands(losses []loss) bool {
	return slices.ContainsFunc(losses, func(l loss) bool { return len(l.stranded) > 0 })
}

// additions returns the nodes to add, by group and zone.
func (p *planner) additions(placed [][]int) []Addition {
	var all []Addition
	for g, zones := range placed {
		group := &p.groups[g]
		for z, n := range zones {
			if n == 0 {
				continue
			}
			a := Addition{Group: group.Name, Zone: group.Zones[z].Name, Nodes: n, Like: p.templateNode(g, z, "", "").Name}
			if group.Priced {
				price := group.Price
				a.Price = &price
			}
			all = append(all, a)
		}
	}
	return all
}

// Step returns the step that adds the nodes.
func (a *Addition) Step() scenario.Step {
	name := strings.TrimSpace(fmt.Sprintf("add %s %s", a.Group, a.Zone))
	return scenario.Step{Name: name, AddNodes: &scenario.AddNodes{Count: a.Nodes, Like: a.Like}}
}

// conclude describes the nodes and the patches of the plan, and the steps that add and make them.
func (p *planner) conclude(answer *Answer, placed [][]int) {
	answer.Add, answer.Changes = p.additions(placed), p.currentPatches()
	sum, priced := 0.0, len(answer.Add) > 0
	for _, a := range answer.Add {
		answer.Steps = append(answer.Steps, a.Step())
		if priced = priced && a.Price != nil; priced {
			sum += *a.Price * float64(a.Nodes)
		}
	}
	if priced {
		answer.Price = &sum
	}
	for _, c := range answer.Changes {
		answer.Steps = append(answer.Steps, c.steps...)
	}
}

// CountNewNodes returns the number of nodes that the plan adds.
func (a *Answer) CountNewNodes() int {
	n := 0
	for _, add := range a.Add {
		n += add.Nodes
	}
	return n
}

// MaxLeft returns the largest number of pods that stay stranded after one loss.
func (a *Answer) MaxLeft() int {
	most := 0
	for _, group := range list.GroupBy(a.Left, func(l Left) [2]string { return [2]string{l.Level, l.Domain} }) {
		n := 0
		for _, l := range group {
			n += l.Pods
		}
		most = max(most, n)
	}
	return most
}
