// Package plan finds what to add to a cluster, and what to change in it, so that the loss of any domain of a level strands nobody: every pod
// that runs now runs again elsewhere. It starts from today's placement, and moves no pod.
//
//	the cluster as it is ─ lose each domain ──────────▶ its stranded pods (loss.go)
//	what a loss leaves ─ join nodes of one group ─────▶ the fewest that help, and the pods that no node helps (need.go)
//	pods that no node helps ─ one patch after another ▶ the smallest that frees them (change.go, attempt.go)
//	what every loss needs ────────────────────────────▶ nodes per group and zone (place.go)
//	the cluster with these, lose each domain again ───▶ nobody is stranded, or the needs grow (plan.go)
//
// A pod is stranded if it runs now, and after the loss a pod in its place waits for a node. Pods that nothing replaces, such as those of
// StatefulSets on unreachable nodes, need no room and are counted.
package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

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
	// Survive are the topology keys of which any one domain may fail, one level at a time; zone=b is that domain alone.
	Survive []string
	// Mode is how nodes fail.
	Mode node.FailureMode
	// Progress, if set, is called with what is tried, and how many of how many losses or tries are done; of -1 where that is not known.
	Progress func(what string, done, total int)
}

// Answer is what to add and to change.
type Answer struct {
	// Survive are the levels of which any one domain may fail, and Domains the number of losses that were tried, one at a time: fewer than there are
	// if the search was interrupted.
	Survive []string         `json:"survive"`
	Mode    node.FailureMode `json:"mode"`
	Domains int              `json:"domains"`
	// Nodes is the number of nodes that the cluster has.
	Nodes int `json:"nodes"`
	// Unreplaced is the largest number of pods that nothing replaces after one loss. They need no room.
	Unreplaced int `json:"unreplaced,omitempty"`
	// Autoscaled is what an autoscaler adds by itself after one loss, at most, by its groups. Add and Changes are what is needed besides.
	Autoscaled []Autoscaled `json:"autoscaled,omitempty"`
	// Raise are the groups that have more nodes with the plan, after one loss, than the autoscaler's maximum.
	Raise []Raise `json:"raise,omitempty"`
	// Losses are those that strand pods now, the most pods first.
	Losses []Loss `json:"losses,omitempty"`
	// Add are the nodes to add, AtLeast a number of nodes below which arithmetic alone shows that pods are stranded, 0 with an autoscaler, and Price what the nodes cost
	// an hour; missing if a group has no price.
	Add     []Addition `json:"add,omitempty"`
	AtLeast int        `json:"atLeast,omitempty"`
	Price   *float64   `json:"price,omitempty"`
	// Changes are the patches that free pods which no node helps.
	Changes []Change `json:"changes,omitempty"`
	// Left are the pods that stay stranded with all that, by workload and loss; none if the plan strands nobody.
	Left []Left `json:"left,omitempty"`
	// Unfinished means that the search ended before it was known whether more nodes or other patches help these.
	Unfinished bool `json:"unfinished,omitempty"`
	// Steps make the changes and add the nodes, as steps of a scenario.
	Steps []scenario.Step `json:"-"`
	tried []tried
	fewer []fewer
}

// Loss is a domain whose loss strands pods.
type Loss struct {
	Level  string `json:"level"`
	Domain string `json:"domain"`
	// Stranded is the number of pods, and Workloads whose they are.
	Stranded  int        `json:"stranded"`
	Workloads []Workload `json:"workloads"`
	// Needs are the nodes that these pods need outside the domain, and Blocked the number of pods that no number of nodes helps.
	Needs   []Need `json:"needs,omitempty"`
	Blocked int    `json:"blocked,omitempty"`
	// Open means that the search for them was interrupted, so that neither is known.
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
	// Like is the node that they are like, and Price what one of them costs an hour; missing if that is not known.
	Like  string   `json:"like"`
	Price *float64 `json:"price,omitempty"`
}

// Change is a patch that frees pods of a workload which no node helps.
type Change struct {
	cluster.WorkloadRef
	// Change describes the patch, Price what it costs otherwise, and Commands make it with kubectl.
	Change   string   `json:"change"`
	Price    []string `json:"price,omitempty"`
	Commands []string `json:"commands,omitempty"`
	steps    []scenario.Step
	// ifStuck means that it is tried only if the rollout of the patch before it does not end.
	ifStuck bool
}

// Left are pods of a workload that a loss strands whatever is added.
type Left struct {
	cluster.WorkloadRef
	Level  string `json:"level"`
	Domain string `json:"domain"`
	Pods   int    `json:"pods"`
	// Message is kube-scheduler's text for the first of them, or why it does not start.
	Message string `json:"message"`
}

// maxRounds is how often the needs may grow after a plan was tried. Each round adds what the last one lacked; six are the most that was seen.
const maxRounds = 12

// Find returns the plan for the cluster after the last step of the result. If the context ends, the answer is what the losses that were tried by
// then strand, and how many nodes they need at least, and nil if none was tried; the result then says that it is partial.
func Find(ctx context.Context, base *simulation.Result, opts Options) (*Answer, error) {
	p := &planner{opts: opts, worlds: simulation.NewWorlds(base.Scenario), base: base, state: lastState(base)}
	defer p.worlds.Close()
	p.before, p.losesWork = p.state.Crews(), p.state.LosesWork()
	answer := &Answer{Survive: opts.Survive, Mode: opts.Mode, Nodes: len(p.state.Nodes)}
	losses, err := p.loseEach(ctx, base, func(string) bool { return true })
	if err != nil {
		return p.partly(ctx, answer, losses, err)
	}
	p.sumUp(answer, losses)
	if p.groups, err = capacity.GroupsOf(p.state.Nodes, p.state.Pods, p.state.ResourceSlices, base.Scenario.LevelKeys); err != nil {
		return nil, err
	}
	if err := p.findNeeds(ctx, losses); err != nil {
		return p.partly(ctx, answer, losses, err)
	}
	answer.Losses, answer.Autoscaled = p.describe(losses), autoscaledAfter(losses)
	if base.Scenario.Autoscaler == nil {
		answer.AtLeast = p.atLeast(losses)
	}
	if len(answer.Losses) == 0 {
		answer.tried = p.harmless(losses)
	} else {
		p.change(losses)
		if err := p.grow(ctx, losses, answer); err != nil {
			return p.partly(ctx, answer, losses, err)
		}
	}
	return answer, nil
}

// sumUp counts the losses, which were tried, and what nothing replaces after one.
func (p *planner) sumUp(answer *Answer, losses []loss) {
	answer.Domains = len(losses)
	for _, l := range losses {
		answer.Unreplaced = max(answer.Unreplaced, l.unreplaced)
	}
}

// partly returns what is known when the context has ended: what the losses that were tried strand, and how many nodes no plan can do without.
// Losses whose search for nodes has not ended are Open, and count for no node.
func (p *planner) partly(ctx context.Context, answer *Answer, losses []loss, err error) (*Answer, error) {
	of := len(losses)
	losses = list.Where(losses, func(l loss) bool { return l.state != nil })
	if ctx.Err() == nil || len(losses) == 0 {
		return nil, err
	}
	p.sumUp(answer, losses)
	if p.base.Partial = fmt.Sprintf("interrupted after %d of %s", len(losses), words.Pick(of, "1 loss", fmt.Sprintf("%d losses", of))); len(losses) == of {
		p.base.Partial = fmt.Sprintf("interrupted before it was known what would do; %s tried", words.Pick(of, "the 1 loss was", fmt.Sprintf("all %d losses were", of)))
	}
	if answer.Losses == nil { // else they are as they were found, before the plan was tried
		answer.Losses, answer.AtLeast = p.describe(losses), p.atLeast(losses)
	}
	if answer.AtLeast > 0 {
		p.base.Partial += fmt.Sprintf("; at least %s needed", words.Pick(answer.AtLeast, "1 node is", fmt.Sprintf("%d nodes are", answer.AtLeast)))
	}
	return answer, err
}

// planner looks for a plan.
type planner struct {
	opts   Options
	worlds *simulation.Worlds
	base   *simulation.Result
	// state is the cluster that nodes are added to, and before whose pods run in the cluster as it is today.
	state  *cluster.State
	before map[cluster.Ref]cluster.Crew
	groups []capacity.NodeGroup
	// losesWork reports whether the loss of a pod of today is lost work.
	losesWork func(*v1.Pod) bool
	// attempts are the patches of workloads of which no node helps a pod, in the order in which these were found.
	attempts []*attempt
}

// grow places what the losses need, tries it with the changes, and lets both grow until nobody is stranded but the pods that neither helps. Until
// nothing grows any more it tries only the losses that strand pods, and then all. At the end it completes the answer.
func (p *planner) grow(ctx context.Context, losses []loss, answer *Answer) error {
	for round, all := 1, allStrand(losses); ; round++ {
		placed := p.place(losses)
		with, err := p.join(ctx, placed)
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
		if round < maxRounds && stranding(again) {
			var replaced bool
			if losses, grew, replaced, err = p.growBy(ctx, losses, again, placed); err != nil {
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
			answer.Left, answer.tried, answer.Raise = p.left(again), answer.triedOf(again), p.exceeded(again)
			answer.Unfinished = round >= maxRounds && len(answer.Left) > 0
			p.conclude(answer, placed)
			if answer.More() == answer.AtLeast && len(answer.Left) == 0 {
				answer.fewer, err = p.tryFewer(ctx, answer)
			}
			return err
		}
	}
}

// growBy adds to the nodes that are placed what the losses lacked when they were tried again with these, and goes on to other patches for pods that
// no node helped. It reports whether it did either, and whether a patch took the place of another. The loss of a new node, onto which pods have
// moved, can be one more.
func (p *planner) growBy(ctx context.Context, losses, again []loss, placed [][]int) (_ []loss, grew, replaced bool, err error) {
	if err := p.findNeeds(ctx, again); err != nil {
		return nil, false, false, err
	}
	other, replaced := p.change(again)
	if replaced { // what these losses lack is known once the patches are
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
			losses[at].needs[g] = p.outside(placed[g], g, &again[i]) + n
			grew = grew || n > 0
		}
		if len(losses[at].stranded) == 0 { // from now on it is tried in each round
			losses[at].stranded = again[i].stranded
		}
	}
	return losses, grew, false, nil
}

func allStrand(losses []loss) bool {
	return !slices.ContainsFunc(losses, func(l loss) bool { return len(l.stranded) == 0 })
}

func stranding(losses []loss) bool {
	return slices.ContainsFunc(losses, func(l loss) bool { return len(l.stranded) > 0 })
}

// additions are the nodes that are placed, by group and zone.
func (p *planner) additions(placed [][]int) []Addition {
	var all []Addition
	for g, zones := range placed {
		group := &p.groups[g]
		for z, n := range zones {
			if n == 0 {
				continue
			}
			a := Addition{Group: group.Name, Zone: group.Zones[z].Name, Nodes: n, Like: p.like(g, z, "", "").Name}
			if group.Priced {
				price := group.Price
				a.Price = &price
			}
			all = append(all, a)
		}
	}
	return all
}

// step adds the nodes.
func (a *Addition) step() scenario.Step {
	name := strings.TrimSpace(fmt.Sprintf("add %s %s", a.Group, a.Zone))
	return scenario.Step{Name: name, AddNodes: &scenario.AddNodes{Count: a.Nodes, Like: a.Like}}
}

// conclude describes the nodes and the changes of the plan, with the steps that add and make them.
func (p *planner) conclude(answer *Answer, placed [][]int) {
	answer.Add, answer.Changes = p.additions(placed), p.changes()
	sum, priced := 0.0, len(answer.Add) > 0
	for _, a := range answer.Add {
		answer.Steps = append(answer.Steps, a.step())
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

// More is the number of nodes that the plan adds.
func (a *Answer) More() int {
	n := 0
	for _, add := range a.Add {
		n += add.Nodes
	}
	return n
}

// MostLeft is the largest number of pods that stay stranded after one loss.
func (a *Answer) MostLeft() int {
	most := 0
	for _, group := range list.Group(a.Left, func(l Left) [2]string { return [2]string{l.Level, l.Domain} }) {
		n := 0
		for _, l := range group {
			n += l.Pods
		}
		most = max(most, n)
	}
	return most
}
