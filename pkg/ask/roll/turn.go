package roll

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// selectNodes returns the names of the nodes to replace, in the order of their turns.
func (r *rollRun) selectNodes() ([]string, error) {
	names, err := world.SelectNodes(r.start, field.NewPath("pool"), scenario.Nodes{Selector: r.opts.Pool})
	if err != nil {
		return nil, err
	}
	if r.opts.Order == ByZone {
		zone := func(name string) (string, string) {
			node := r.start.Node(name)
			return topology.RegionOf(node.Labels), topology.ZoneOf(node.Labels)
		}
		slices.SortStableFunc(names, func(a, b string) int {
			regionA, zoneA := zone(a)
			regionB, zoneB := zone(b)
			return cmp.Or(cmp.Compare(regionA, regionB), cmp.Compare(zoneA, zoneB))
		})
	}
	return names, nil
}

// replaceAll replaces the nodes, turn by turn.
func (r *rollRun) replaceAll(ctx context.Context, nodes []string) error {
	r.answer.Nodes = len(nodes)
	r.answer.Start = Sample{Total: len(r.start.Nodes), Price: r.pricePerHour(r.start.Nodes)}
	for len(nodes) > 0 && (r.opts.KeepGoing || r.answer.Done()) {
		there := r.course.State().NodesByName()
		left := slices.DeleteFunc(nodes, func(name string) bool { return there[name] == nil }) // the autoscaler may have removed nodes
		r.answer.Replaced += len(nodes) - len(left)
		r.doneNodes += len(nodes) - len(left)
		if nodes = left; len(nodes) == 0 {
			break
		}
		if r.opts.Order == FewestPods {
			r.fewestFirst(nodes)
		}
		n := min(r.opts.Surge+r.opts.MaxUnavailable, len(nodes))
		if err := r.replaceTogether(ctx, nodes[:n]); err != nil {
			return err
		}
		nodes = nodes[n:]
		if r.opts.Progress != nil {
			r.opts.Progress(r.doneNodes, r.answer.Nodes)
		}
	}
	return nil
}

// fewestFirst sorts the nodes by the number of their pods. Nodes with equal numbers keep their order.
func (r *rollRun) fewestFirst(nodes []string) {
	pods := map[string]int{}
	for _, pod := range r.course.State().Pods {
		if cluster.IsActive(pod) {
			pods[pod.Spec.NodeName]++
		}
	}
	slices.SortStableFunc(nodes, func(a, b string) int { return cmp.Compare(pods[a], pods[b]) })
}

// replaceTogether does one turn: it adds new nodes up to the surge, drains the old nodes, removes them, and adds the remaining new nodes.
func (r *rollRun) replaceTogether(ctx context.Context, old []string) error {
	r.beginTurn(old)
	began, turn := r.course.State().Now, Turn{Old: slices.Clone(old)}
	before := min(max(0, r.opts.Surge-r.spareNodes), len(old))
	if err := r.addNodes(ctx, old[:before], &turn); err != nil {
		return err
	}
	drain := r.opts.Drain
	drain.Nodes, drain.Together = scenario.Nodes{Names: turn.Old}, len(old) > 1
	step, err := r.doStep(ctx, "drain", scenario.Step{Drain: &drain})
	if err != nil {
		return err
	}
	var gone, stay []string
	for i := range step.Drained {
		drained := &step.Drained[i]
		turn.Evicted += len(drained.Evicted)
		for _, delayed := range drained.Delayed {
			r.recordDelay(delayed)
		}
		if drained.Ends {
			gone = append(gone, drained.Node)
			continue
		}
		stay = append(stay, drained.Node)
		r.answer.Blocked = append(r.answer.Blocked, *r.newBlocked(drained, r.doneNodes+i+1))
	}
	if len(gone) > 0 && (r.opts.KeepGoing || stay == nil) {
		after := max(0, len(gone)-before-r.spareNodes)
		if err := r.removeAndAdd(ctx, gone, gone[len(gone)-after:], &turn); err != nil {
			return err
		}
		r.spareNodes += before + after - len(gone)
	} else if stay != nil && r.opts.KeepGoing {
		r.spareNodes += before
	}
	if len(stay) > 0 && r.opts.KeepGoing {
		if _, err = r.doStep(ctx, "uncordon", scenario.Step{Uncordon: &scenario.NodesInTurn{Nodes: scenario.Nodes{Names: stay}}}); err != nil {
			return err
		}
	}
	r.doneNodes += len(old)
	end := r.course.State()
	turn.Seconds, turn.Sample = end.Now.Sub(began.Time).Seconds(), r.turnSample
	turn.Total, turn.Price = len(end.Nodes), r.pricePerHour(end.Nodes)
	r.answer.Evicted += turn.Evicted
	r.answer.Turns = append(r.answer.Turns, turn)
	return nil
}

// removeAndAdd removes the nodes gone, and then adds a node for each node of anew. A cluster cannot be without nodes, so if gone are all its
// nodes, it adds the new nodes first.
func (r *rollRun) removeAndAdd(ctx context.Context, gone, anew []string, turn *Turn) error {
	remove := func() error {
		_, err := r.doStep(ctx, "remove", scenario.Step{RemoveNodes: &scenario.RemoveNodes{Nodes: scenario.Nodes{Names: gone}}})
		return err
	}
	add := func() error { return r.addNodes(ctx, anew, turn) }
	order := []func() error{remove, add}
	if len(gone) == len(r.course.State().Nodes) {
		order = []func() error{add, remove}
	}
	for _, do := range order {
		if err := do(); err != nil {
			return err
		}
	}
	r.answer.Replaced += len(gone)
	return nil
}

// doStep does a step of the current turn.
func (r *rollRun) doStep(ctx context.Context, what string, step scenario.Step) (*simulation.Step, error) {
	step.Name = fmt.Sprintf("turn %d: %s", r.turn, what)
	return r.course.Do(ctx, step)
}

// addNodes adds a node for each old node. All new nodes start at the same time.
func (r *rollRun) addNodes(ctx context.Context, old []string, turn *Turn) error {
	for i, name := range old {
		add := r.opts.New
		add.Count, add.InPlaceOf = 1, name
		if add.Like = cmp.Or(add.Like, name); add.Like == name {
			add.InPlaceOf = ""
		}
		if i > 0 {
			add.After = ""
		}
		before := r.course.State().NodesByName()
		step, err := r.doStep(ctx, "add in place of "+name, scenario.Step{AddNodes: &add})
		if err != nil {
			return err
		}
		var scaled []string // nodes that the autoscaler added at the same time
		if step.Autoscaling != nil {
			scaled = step.Autoscaling.Added
		}
		for _, node := range step.State.Nodes {
			if before[node.Name] == nil && !slices.Contains(scaled, node.Name) {
				turn.New = append(turn.New, node.Name)
			}
		}
	}
	return nil
}

// newBlocked describes why the node's drain does not end.
func (r *rollRun) newBlocked(drained *world.DrainedNode, number int) *Blocked {
	stop := &Blocked{Turn: r.turn, Node: drained.Node, Number: number, Stays: drained.BlockingPods()}
	state := r.course.State()
	guards := state.Budgets()
	refused := map[types.NamespacedName]bool{}
	for _, pod := range drained.Refused {
		refused[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = true
	}
	for _, pod := range state.Pods {
		if !refused[cluster.NameOf(pod)] || pod.DeletionTimestamp != nil {
			continue
		}
		guarding := guards(pod)
		if len(guarding) != 1 {
			continue
		}
		pdb := guarding[0]
		stop.budgets = append(stop.budgets, pdb)
		if first := drained.Refused[0]; pod.Namespace == first.Namespace && pod.Name == first.Name {
			stop.Budget = &Budget{pdb.Namespace + "/" + pdb.Name, int(pdb.Status.DesiredHealthy), int(pdb.Status.CurrentHealthy)}
		}
	}
	return stop
}
