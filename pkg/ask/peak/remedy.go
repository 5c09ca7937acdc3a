package peak

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/capacity"
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Remedy is a change of the input after which fewer pods have no node, as its run shows.
type Remedy struct {
	// Kind is raise (the maxima of node groups), nodes (more nodes), lower (the maxima of HorizontalPodAutoscalers), or priority (of
	// workloads that lose pods to those that grow).
	Kind string `json:"kind" jsonschema:"enum=raise,enum=nodes,enum=lower,enum=priority"`
	// What says what to change.
	What string `json:"what"`
	// Raise are the node groups with the maxima that suffice, and Add the nodes to add.
	Raise []Raise    `json:"raise,omitempty"`
	Add   []Addition `json:"add,omitempty"`
	// Nodes is the number of further nodes that the maxima allow, or of those to add. Price is what they cost per hour; missing if it is not
	// known.
	Nodes int      `json:"nodes,omitempty"`
	Price *float64 `json:"price,omitempty"`
	// Commands make the change with kubectl.
	Commands []string `json:"commands,omitempty"`
	// Short is the number of pods without a node at the peak with this change, and AfterLoss the number after the loss of Domain, the worst
	// of the Losses that were tried.
	Short     int    `json:"short"`
	AfterLoss int    `json:"afterLoss,omitempty"`
	Level     string `json:"level,omitempty"`
	Domain    string `json:"domain,omitempty"`
	Losses    int    `json:"losses,omitempty"`
	// Saves are the workloads that then have a node for each of their pods, for a priority.
	Saves []cluster.WorkloadRef `json:"saves,omitempty"`
}

// Raise is a node group whose maximum is raised.
type Raise struct {
	Group string `json:"group"`
	From  int    `json:"from"`
	To    int    `json:"to"`
}

// Most returns the number of pods without a node with the change, after the worst loss that was tried if that is more.
func (r *Remedy) Most() int { return max(r.Short, r.AfterLoss) }

// findRemedies runs each change that may help, and keeps those that do. losses are those at the peak, the worst first.
func (f *finder) findRemedies(ctx context.Context, answer *Answer, losses []lost) error {
	domains := list.Map(losses[:min(triedLosses, len(losses))], func(l lost) domain { return l.domain })
	for _, find := range []func(context.Context, *Answer, []domain) (*Remedy, error){f.raiseMaxima, f.addNodes, f.lowerMaxima, f.setPriority} {
		found, err := find(ctx, answer, domains)
		if err != nil {
			return err
		}
		if found != nil {
			answer.Remedies = append(answer.Remedies, *found)
		}
	}
	slices.SortStableFunc(answer.Remedies, func(a, b Remedy) int { return cmp.Compare(a.Most(), b.Most()) })
	return nil
}

// judge sets the result of the change: the peak with it, and each of the domains lost then. It reports whether the change helps, and returns the
// results of the peak and its worst loss.
func (f *finder) judge(ctx context.Context, r *Remedy, answer *Answer, top *outcome, domains []domain) (helps bool, worst *lost, err error) {
	var there []domain
	for _, d := range domains {
		there = append(there, f.present(top, d)...)
	}
	losses, err := f.loseEach(ctx, f.worlds, top, there)
	if err != nil {
		return false, nil, err
	}
	r.Short, r.Losses = top.short, len(losses)
	for i := range losses {
		if l := &losses[i]; l.short > r.AfterLoss {
			r.AfterLoss, r.Level, r.Domain, worst = l.short, l.level, l.name, l
		}
	}
	return r.Most() < answer.Most() || r.Most() == answer.Most() && r.Short < answer.Short, worst, nil
}

// claimRemedy returns the claims about the result of a change, which the steps make.
func (f *finder) claimRemedy(r *Remedy, steps []scenario.Step, share float64, top *outcome, worst *lost) []claim.Claim {
	var claims []claim.Claim
	make := func(o *outcome, d *domain) {
		c := f.claimOutcome(share, o, d)
		c.Says = "with " + r.What + ", " + c.Says
		c.Steps = slices.Concat(c.Steps[:1], steps, c.Steps[1:])
		claims = append(claims, c)
	}
	make(top, nil)
	if worst != nil {
		make(&worst.outcome, &worst.domain)
	}
	return claims
}

// raiseMaxima finds the maxima of the autoscaler's groups that suffice: the sizes that the groups get at the peak and after its losses if no
// maximum holds them back.
func (f *finder) raiseMaxima(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	if f.base.Scenario.Autoscaler == nil {
		return nil, nil
	}
	needed, err := f.sizesWithout(ctx, domains)
	if err != nil {
		return nil, err
	}
	raised := f.copyAutoscaler()
	r := &Remedy{Kind: "raise"}
	var parts []string
	price, priced := 0.0, true
	for i := range raised.NodeGroups {
		g := &raised.NodeGroups[i]
		answer.Groups[i].Needed = needed[i]
		if needed[i] <= g.Max {
			continue
		}
		r.Raise, r.Nodes = append(r.Raise, Raise{g.Name, g.Max, needed[i]}), r.Nodes+needed[i]-g.Max
		parts = append(parts, fmt.Sprintf("%s from %d to %d", g.Name, g.Max, needed[i]))
		price, priced = price+g.Price*float64(needed[i]-g.Max), priced && g.Price > 0
		g.Max = needed[i]
	}
	if total := raised.Flags[maxNodesTotal]; total != "" && (len(parts) > 0 || slices.ContainsFunc(answer.Ceilings, func(c Ceiling) bool { return c.Kind == nodesTotal })) {
		delete(raised.Flags, maxNodesTotal)
		parts = append(parts, "no "+maxNodesTotal)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	if priced && r.Nodes > 0 {
		r.Price = &price
	}
	r.What = "a higher maximum of " + words.And(parts)
	if len(r.Raise) == 0 {
		r.What = words.And(parts)
	}
	other, top, err := f.rerun(ctx, raised)
	if err != nil {
		return nil, err
	}
	defer other.close()
	helps, worst, err := other.judge(ctx, r, answer, top, domains)
	if err != nil || !helps {
		return nil, err
	}
	claims := other.claimRemedy(r, nil, answer.Share, top, worst)
	for i := range claims {
		claims[i].Autoscaler = raised
	}
	answer.claims = append(answer.claims, claims...)
	return r, nil
}

const maxNodesTotal = "max-nodes-total"

// copyAutoscaler returns a copy of the scenario's autoscaler whose groups name their nodes themselves.
func (f *finder) copyAutoscaler() *scenario.Autoscaler {
	a := *f.base.Scenario.Autoscaler
	a.NodeGroups, a.Flags, a.GroupsBy = slices.Clone(a.NodeGroups), maps.Clone(a.Flags), ""
	return &a
}

// rerun runs the input with another autoscaler, and the peak after it. The caller closes the finder.
func (f *finder) rerun(ctx context.Context, with *scenario.Autoscaler) (*finder, *outcome, error) {
	s := *f.base.Scenario
	s.Autoscaler = with
	base, err := simulation.Run(ctx, &s, simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	other := newFinder(base, f.opts)
	other.targets = f.targets
	top, err := other.runPeak(ctx, f.opts.Peak.Way())
	if err != nil {
		other.close()
		return nil, nil, err
	}
	return other, top, nil
}

// sizesWithout returns how many nodes each group of the autoscaler gets, at the peak or after one of the losses, if neither its maximum nor
// the number of all nodes holds it back.
func (f *finder) sizesWithout(ctx context.Context, domains []domain) ([]int, error) {
	unlimited := f.copyAutoscaler()
	for i := range unlimited.NodeGroups {
		unlimited.NodeGroups[i].Max = max(unlimited.NodeGroups[i].Max, scenario.AssumedMaxNodes)
	}
	delete(unlimited.Flags, maxNodesTotal)
	other, top, err := f.rerun(ctx, unlimited)
	if err != nil {
		return nil, err
	}
	defer other.close()
	var there []domain
	for _, d := range domains {
		there = append(there, other.present(top, d)...)
	}
	losses, err := other.loseEach(ctx, other.worlds, top, there)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(unlimited.NodeGroups))
	for i := range sizes {
		sizes[i] = countNodes(top.state, &unlimited.NodeGroups[i])
		for j := range losses {
			sizes[i] = max(sizes[i], countNodes(losses[j].state, &unlimited.NodeGroups[i]))
		}
	}
	return sizes, nil
}

// grownLosses is the largest number of losses for which an autoscaler looks for nodes: the worst ones. The nodes that it finds are tried with
// all losses that other changes are tried with. Above fewPods without a node, which take it many seconds each time, it looks for the worst
// loss alone.
const grownLosses, fewPods = 3, 300

// growingGroup is a group of equal nodes in one zone, of which more can be added.
type growingGroup struct {
	scenario.AutoscaledGroup
	group, zone string
	nodes       []*v1.Node
}

// growingGroups returns the groups of which more nodes can be added.
func (f *finder) growingGroups() ([]growingGroup, error) {
	state := f.before.state
	found, err := capacity.GroupsOf(state.Nodes, state.Pods, state.ResourceSlices, f.base.Scenario.LevelKeys)
	if err != nil {
		return nil, err
	}
	var all []growingGroup
	for _, g := range found {
		for _, zone := range g.Zones {
			nodes := list.Where(zone.Nodes, cluster.KubeletResponds)
			if g.Kept || len(nodes) == 0 {
				continue
			}
			name := strings.TrimSuffix(g.Name+"/"+zone.Name, "/")
			all = append(all, growingGroup{scenario.AutoscaledGroup{Name: name, Max: scenario.AssumedMaxNodes, Template: nodes[0].Name, Price: g.Price}, g.Name, zone.Name, nodes})
		}
	}
	return all, nil
}

// addNodes finds nodes to add. It lets a Cluster Autoscaler without limits, whose groups are the kinds of nodes of each zone, add nodes at the
// peak and, outside the lost domain, after each of its losses. Of each group the largest number is then added in advance, and tried.
func (f *finder) addNodes(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	groups, err := f.growingGroups()
	if err != nil || f.base.Scenario.Autoscaler != nil || len(groups) == 0 {
		return nil, err
	}
	var grown []*domain
	for i := range domains {
		if i < grownLosses && (i == 0 || answer.Most() <= fewPods) {
			grown = append(grown, &domains[i])
		}
	}
	if len(grown) == 0 {
		grown = []*domain{nil} // the peak itself
	}
	needed := make([][]int, len(grown))
	f.expect(len(needed))
	name := func(i int) string {
		if grown[i] == nil {
			return "nodes for the peak"
		}
		return "nodes for the loss of " + grown[i].name
	}
	err = parallel.Each(ctx, len(needed), f.progress(name), func(ctx context.Context, _, i int) (err error) {
		needed[i], err = f.grow(ctx, groups, grown[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &Remedy{Kind: "nodes"}
	var steps []scenario.Step
	var parts []string
	price, priced := 0.0, true
	for g := range groups {
		most := 0
		for i := range needed {
			most = max(most, needed[i][g])
		}
		if most == 0 {
			continue
		}
		add := Addition{Group: groups[g].group, Zone: groups[g].zone, Nodes: most, Like: groups[g].Template}
		if groups[g].Price > 0 {
			add.Price = &groups[g].Price
		}
		r.Add, r.Nodes, steps = append(r.Add, add), r.Nodes+most, append(steps, add.Step())
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s %s", most, add.Group, add.Zone)))
		price, priced = price+groups[g].Price*float64(most), priced && add.Price != nil
	}
	if r.Nodes == 0 {
		return nil, nil
	}
	if priced {
		r.Price = &price
	}
	r.What = fmt.Sprintf("%s (%s)", words.Count(r.Nodes, "more node"), words.Few(parts))
	return f.trySteps(ctx, r, answer, list.Map(steps, func(s scenario.Step) scenario.LoadedStep { return scenario.LoadedStep{Step: s} }), domains)
}

// grow returns how many nodes of each group an autoscaler without limits adds at the peak, or at the peak and the loss of the domain, without
// nodes in that domain.
func (f *finder) grow(ctx context.Context, groups []growingGroup, d *domain) ([]int, error) {
	s := *f.base.Scenario
	s.Autoscaler = &scenario.Autoscaler{Flags: map[string]string{"balance-similar-node-groups": "true"}}
	at := make([]int, len(groups))
	for i := range groups {
		g := groups[i].AutoscaledGroup
		at[i] = -1
		if d != nil {
			left := slices.IndexFunc(groups[i].nodes, func(n *v1.Node) bool { return !d.has(n) })
			if left < 0 {
				continue
			}
			g.Template = groups[i].nodes[left].Name
		}
		at[i] = len(s.Autoscaler.NodeGroups)
		s.Autoscaler.NodeGroups = append(s.Autoscaler.NodeGroups, g)
	}
	added := make([]int, len(groups))
	if len(s.Autoscaler.NodeGroups) == 0 {
		return added, nil
	}
	w, err := simulation.NewCluster(&s)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	course, err := simulation.Continue(w, f.base, simulation.Options{})
	if err != nil {
		return nil, err
	}
	steps := []scenario.Step{f.peakStep(f.opts.Peak.Way())}
	if d != nil {
		steps = append(steps, f.failStep(d))
	}
	for _, step := range steps {
		if _, err := course.Do(ctx, step); err != nil {
			return nil, err
		}
	}
	for i := range groups {
		if at[i] >= 0 {
			added[i] = countNodes(course.State(), &s.Autoscaler.NodeGroups[at[i]])
		}
	}
	return added, nil
}

// has reports whether the node is in the domain.
func (d *domain) has(node *v1.Node) bool {
	key, _, one := topology.SplitValue(d.level)
	if !one {
		key = d.level
	}
	value, _ := topology.Value(node.Labels, key)
	return value == d.name
}

// trySteps does the steps and the peak after them, and judges the result. It returns nil if they do not help.
func (f *finder) trySteps(ctx context.Context, r *Remedy, answer *Answer, steps []scenario.LoadedStep, domains []domain) (*Remedy, error) {
	top, err := f.runSteps(ctx, steps)
	if err != nil {
		return nil, err
	}
	helps, worst, err := f.judge(ctx, r, answer, top, domains)
	if saved := r.keepSaved(top, worst); err != nil || !helps && !saved {
		return nil, err
	}
	if !slices.ContainsFunc(steps, func(s scenario.LoadedStep) bool { return s.Apply != nil }) { // a claim has no files
		plain := list.Map(steps, func(s scenario.LoadedStep) scenario.Step { return s.Step })
		answer.claims = append(answer.claims, f.claimRemedy(r, plain, answer.Share, top, worst)...)
	}
	return r, nil
}

// runSteps returns the peak after the steps.
func (f *finder) runSteps(ctx context.Context, steps []scenario.LoadedStep) (*outcome, error) {
	w, err := f.worlds.First()
	if err != nil {
		return nil, err
	}
	course, err := simulation.Continue(w, f.base, simulation.Options{})
	if err != nil {
		return nil, err
	}
	for _, step := range append(steps, scenario.LoadedStep{Step: f.peakStep(f.opts.Peak.Way())}) {
		if _, err := course.DoLoaded(ctx, step); err != nil {
			return nil, err
		}
	}
	return f.before.newOutcome(&course.Result), nil
}

// lowerMaxima tries the maxima of HorizontalPodAutoscalers that the safe share of the way asks for.
func (f *finder) lowerMaxima(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	safe := answer.Safe
	if safe == nil || safe.Share == 0 || safe.Share >= answer.Share || answer.Share < 1 {
		return nil, nil
	}
	r := &Remedy{Kind: "lower"}
	var steps []scenario.LoadedStep
	for _, t := range f.targetsAt(safe.Share) {
		if t.Autoscaler == nil || t.Replicas >= t.Most {
			continue
		}
		target := scenario.Target{Target: "hpa/" + t.Autoscaler.Name, Namespace: t.Autoscaler.Namespace}
		patch := patchOf(map[string]any{"spec": map[string]any{"maxReplicas": t.Replicas}})
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "patch " + target.Argument(), Patch: &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: patch}}}})
		command := fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", target.Argument(), patch)
		if by := t.Autoscaler.Labels[world.KEDALabel]; by != "" { // KEDA would take back a patch of its HorizontalPodAutoscaler
			command = fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", cluster.KubectlArgument(t.Autoscaler.Namespace, "scaledobject/"+by), patchOf(map[string]any{"spec": map[string]any{"maxReplicaCount": t.Replicas}}))
		}
		r.Commands = append(r.Commands, command)
	}
	if len(steps) == 0 {
		return nil, nil
	}
	r.What = fmt.Sprintf("%s of the growth of %s", percentText(safe.Share), words.Count(len(steps), "HorizontalPodAutoscaler"))
	return f.trySteps(ctx, r, answer, steps, domains)
}

// patchOf returns the patch as JSON.
func patchOf(patch map[string]any) []byte {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err) // it has texts and numbers
	}
	return data
}

// setPriority tries a priority above those of the workloads that grow, for workloads that do not grow and yet lose pods to them.
func (f *finder) setPriority(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	above := int32(0)
	for _, t := range f.targets {
		above = max(above, f.priority(&outcome{state: f.before.state}, f.crewOf(t.Ref)))
	}
	losing := list.Where(answer.Starved, func(s Starved) bool {
		spec, _ := cluster.PodSpec(f.before.state.Find(s.ref))
		return !s.Grows && s.Priority <= above && spec != nil && slices.Contains([]string{"Deployment", "StatefulSet"}, s.ref.Kind)
	})
	if len(f.targets) == 0 || len(losing) == 0 || len(losing) > maxPreferred || above >= maxUserPriority {
		return nil, nil
	}
	r := &Remedy{Kind: "priority"}
	var steps []scenario.LoadedStep
	class := f.classAbove(above)
	if class == "" {
		class = "survives-peak"
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "add priorityclass/" + class, Apply: &scenario.Source{}}, Objects: []cluster.Object{
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: above + 1}}})
		r.Commands = append(r.Commands, fmt.Sprintf("kubectl create priorityclass %s --value=%d", class, above+1))
	}
	for _, s := range losing {
		_, path := cluster.PodSpec(f.before.state.Find(s.ref))
		var value any = map[string]any{"priorityClassName": class, "priority": nil}
		for _, field := range slices.Backward(strings.Split(path, ".")) {
			value = map[string]any{field: value}
		}
		patch := patchOf(value.(map[string]any))
		target := scenario.Target{Target: s.ref.String(), Namespace: s.ref.Namespace}
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "patch " + target.Argument(), Patch: &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: patch}}}})
		r.Commands = append(r.Commands, fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", target.Argument(), patch))
		r.Saves = append(r.Saves, s.WorkloadRef)
	}
	r.What = fmt.Sprintf("priority class %s for %s", class, words.Few(list.Map(losing, func(s Starved) string { return s.Qualified() })))
	return f.trySteps(ctx, r, answer, steps, domains)
}

// maxPreferred is the largest number of workloads that get a higher priority. A priority for most workloads prefers none.
const maxPreferred = 10

// maxUserPriority is the largest priority that a class of a user can have.
const maxUserPriority = int32(1_000_000_000)

// classAbove returns the name of the user's PriorityClass with the least priority above the given one; "" if there is none.
func (f *finder) classAbove(priority int32) string {
	var best *schedulingv1.PriorityClass
	for _, class := range f.before.state.PriorityClasses {
		if class.Value > priority && class.Value <= maxUserPriority && (best == nil || class.Value < best.Value) {
			best = class
		}
	}
	if best == nil {
		return ""
	}
	return best.Name
}

// keepSaved keeps in Saves the workloads that have a node for each pod, at the peak and after its worst loss. It reports whether there are any.
func (r *Remedy) keepSaved(top *outcome, worst *lost) bool {
	short := map[cluster.WorkloadRef]bool{}
	for owner := range top.shortages {
		short[owner.Workload()] = true
	}
	if worst != nil {
		for owner := range worst.shortages {
			short[owner.Workload()] = true
		}
	}
	r.Saves = list.Where(r.Saves, func(of cluster.WorkloadRef) bool { return !short[of] })
	return len(r.Saves) > 0
}
