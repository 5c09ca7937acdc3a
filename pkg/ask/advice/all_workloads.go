package advice

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// AllOptions says which workloads [ForAllWorkloads] covers.
type AllOptions struct {
	// Namespace restricts the answer to the workloads of one namespace; "" means all namespaces. Selector, if set, has to match the labels
	// of a workload's pods.
	Namespace string
	Selector  labels.Selector
	// Progress, if set, is called after each workload with its name, the number of workloads done and their total, never concurrently.
	Progress func(workload string, done, total int)
}

// AllAdvice is the advice for every workload: what each gains by its best change, and what that costs. Each change is tried alone, in the
// cluster as it is after the last step.
type AllAdvice struct {
	Result *simulation.Result `json:"-"`
	// Levels are the topology keys with more than one domain, the widest first.
	Levels []string `json:"levels"`
	// Workloads are ranked: first the workloads whose change costs no capacity, by gain; then the others, by gain per cost; last the
	// workloads without a change.
	Workloads []WorkloadAdvice `json:"workloads"`
	// Together is the result of all second replicas at once, for the workloads whose best change is a second replica; missing if there are
	// fewer than two such workloads.
	Together *CombinedReplicas `json:"together,omitempty"`
}

// WorkloadAdvice is a workload and its best change.
type WorkloadAdvice struct {
	cluster.WorkloadRef
	Replicas int `json:"replicas"`
	// Levels has, for each level, the largest share of the workload's pods that the loss of one domain takes, now and with the change.
	Levels []Share `json:"levels"`
	// Change is the change in words; empty if no change gains anything. Why then says what prevents a gain.
	Change string `json:"change,omitempty"`
	Why    string `json:"why,omitempty"`
	// Required is true if the scheduler places no pod against the changed rule: after the loss of a domain, a pod can stay Pending because
	// of the rule.
	Required bool `json:"required,omitempty"`
	// Gain sums, over the levels, how much smaller the share of lost pods becomes: 0.5 at the zone and 0.25 at the node make 0.75. Cost is
	// the part of the cluster's allocatable CPU, memory or other resource that the change requests, of the resource where this part is
	// largest.
	Gain float64 `json:"gain,omitempty"`
	Cost float64 `json:"cost,omitempty"`
	// Patch is a JSON merge patch for the workload. Moved is the number of its pods that run on another node with the change than now.
	Patch json.RawMessage `json:"patch,omitempty" jsonschema:"type=object"`
	Moved int             `json:"moved,omitempty"`
	// Further is the number of pods that the change adds, Asks the resources that each requests, Storage the volume claims that each gets,
	// and ScaledBy the HorizontalPodAutoscaler that has to allow the change, too. Alone is true if the workload's strategy is Recreate,
	// with which pods of two revisions never run at once.
	Further  int               `json:"further,omitempty"`
	Asks     map[string]string `json:"asks,omitempty"`
	Storage  []string          `json:"storage,omitempty"`
	ScaledBy string            `json:"scaledBy,omitempty"`
	Alone    bool              `json:"alone,omitempty"`

	owner cluster.Ref
	asks  v1.ResourceList
	step  scenario.Step
}

// Share is the largest share of the pods of a workload that the loss of one domain of a level takes, between 0 and 1: Now as the workload
// is, and Then with the change.
type Share struct {
	TopologyKey string  `json:"topologyKey"`
	Now         float64 `json:"now"`
	Then        float64 `json:"then"`
}

// CombinedReplicas is the result of adding the second replicas of all workloads at once.
type CombinedReplicas struct {
	Workloads int `json:"workloads"`
	// Asks are the resources that all second replicas request together, and Pending is the number of pods that are newly Pending with all
	// of them.
	Asks    map[string]string `json:"asks"`
	Pending int               `json:"pending"`
}

// Survives reports whether the change keeps at least one pod of the workload running in any loss of the widest level, while some loss takes
// all pods now.
func (i *WorkloadAdvice) Survives() bool {
	return i.Change != "" && len(i.Levels) > 0 && i.Levels[0].Now >= 1 && i.Levels[0].Then < 1
}

// Free reports whether the change requests no more resources.
func (i *WorkloadAdvice) Free() bool { return i.Change != "" && i.Further == 0 }

// Command returns the kubectl command that makes the change; patch is the patch, quoted for a shell.
func (i *WorkloadAdvice) Command(patch string) string {
	return fmt.Sprintf("kubectl patch %s -n %s --type merge --patch %s", i.Workload, i.Namespace, patch)
}

// ForAllWorkloads finds the best change for each workload that asked selects. If the context ends early, it returns the error of the context and the
// workloads that were done by then; Result.Partial then says so. Without a finished workload, the answer is nil.
func ForAllWorkloads(ctx context.Context, s *scenario.Scenario, asked AllOptions) (*AllAdvice, error) {
	e := &improver{worlds: simulation.NewWorlds(s), asked: asked}
	defer e.worlds.Close()
	w, err := e.worlds.First()
	if err != nil {
		return nil, err
	}
	if e.result, err = simulation.Run(ctx, s, simulation.Options{World: w}); err != nil {
		return nil, err
	}
	e.state = e.result.State()
	e.crewsBefore = e.state.PodsByWorkload()
	e.levels = topology.MultiDomainLevels(e.state.Nodes, s.LevelKeys...)
	answer := &AllAdvice{Result: e.result, Levels: e.levels}
	all := e.workloads()
	answer.Workloads = make([]WorkloadAdvice, len(all))
	var each parallel.Options
	if asked.Progress != nil {
		each.Progress = func(last, done int) { asked.Progress(cluster.RefTo(all[last]).Qualified(), done, len(all)) }
	}
	if err := e.worlds.Each(ctx, len(all), each, func(ctx context.Context, w world.World, i int) (err error) {
		found, err := e.findBestChange(ctx, w, all[i])
		if err == nil {
			answer.Workloads[i] = found
		}
		return err
	}); err != nil {
		answer.Workloads = list.Where(answer.Workloads, func(i WorkloadAdvice) bool { return i.Workload != "" })
		if ctx.Err() == nil || len(answer.Workloads) == 0 {
			return nil, err
		}
		slices.SortStableFunc(answer.Workloads, compareByGain)
		e.result.Partial = fmt.Sprintf("interrupted after %d of %s; the ranking covers these alone", len(answer.Workloads), words.Count(len(all), "workload"))
		return answer, err
	}
	slices.SortStableFunc(answer.Workloads, compareByGain)
	if answer.Together, err = e.tryTogether(ctx, answer.Workloads); err != nil && ctx.Err() != nil {
		answer.Together, e.result.Partial = nil, "interrupted before the second replicas were tried together"
		return answer, err
	} else if err != nil {
		return nil, err
	}
	return answer, nil
}

// compareByGain sorts the workloads whose change costs nothing first, then the others by gain per cost, and the workloads without a change last.
func compareByGain(a, b WorkloadAdvice) int {
	rank := func(i *WorkloadAdvice) float64 {
		switch {
		case i.Change == "":
			return 0
		case i.Cost == 0:
			return math.Inf(1)
		}
		return i.Gain / i.Cost
	}
	survives := func(i *WorkloadAdvice) int {
		if i.Survives() {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(&b), rank(&a)), survives(&b)-survives(&a), cmp.Compare(b.Gain, a.Gain), a.owner.Compare(b.owner))
}

// improver finds the best change of each workload.
type improver struct {
	asked       AllOptions
	worlds      *simulation.Worlds
	result      *simulation.Result
	state       *cluster.State // after the last step
	crewsBefore map[cluster.Ref]cluster.WorkloadPods
	levels      []string
}

// workloads returns the workloads that asked selects, in the order of their names.
func (e *improver) workloads() []cluster.Object {
	var all []cluster.Object
	for _, obj := range e.state.Scalable() {
		ref := cluster.RefTo(obj)
		template, _ := cluster.Template(obj)
		switch {
		case !slices.Contains(Kinds, ref.Kind) || template == nil:
		case e.asked.Namespace != "" && e.asked.Namespace != ref.Namespace:
		case e.asked.Selector != nil && !e.asked.Selector.Matches(labels.Set(template.Labels)):
		default:
			if replicas, _ := cluster.Replicas(obj); replicas > 0 {
				all = append(all, obj)
			}
		}
	}
	slices.SortFunc(all, func(a, b cluster.Object) int { return cluster.RefTo(a).Compare(cluster.RefTo(b)) })
	return all
}

// findBestChange tries the changes of the workload that can gain something, one after another, and returns the best. It stops at a change that
// gains as much as any change can.
func (e *improver) findBestChange(ctx context.Context, w world.World, obj cluster.Object) (WorkloadAdvice, error) {
	owner := cluster.RefTo(obj)
	replicas, _ := cluster.Replicas(obj)
	best := WorkloadAdvice{WorkloadRef: owner.Workload(), Replicas: int(replicas), owner: owner}
	now, err := e.shares(ctx, w, owner, e.state)
	if err != nil {
		return best, err
	}
	for i, key := range e.levels {
		best.Levels = append(best.Levels, Share{key, now[i], now[i]})
	}
	r := &evaluator{scenario: e.result.Scenario, result: e.result, owner: owner, workload: obj, opts: &Options{}}
	all, bound, why := e.gainfulProposals(r, now)
	if best.Why = why; len(all) == 0 {
		return best, nil
	}
	course, err := simulation.Continue(w, e.result, simulation.Options{})
	if err != nil {
		return best, err
	}
	tried := 0
	for i := range all {
		patch, err := makePatch(obj, &all[i], nil)
		if err != nil || patch == nil {
			continue
		}
		tried++
		found, why, err := e.tryProposal(ctx, w, course, r, &all[i], patch, best.Levels)
		if err != nil {
			return best, err
		}
		if found == nil {
			best.Why = cmp.Or(best.Why, all[i].name+": "+why)
		} else if found.Gain > best.Gain {
			why := best.Why
			best = *found
			best.WorkloadRef, best.Replicas, best.owner, best.Why = owner.Workload(), int(replicas), owner, why
		}
		if err := course.Rewind(0); err != nil {
			return best, err
		}
		if best.Gain >= bound-epsilon {
			break // no change can gain more
		}
	}
	if best.Change != "" {
		best.Why = ""
	} else if best.Why == "" {
		best.Why = words.Count(tried, "change") + " tried, and its pods come no further apart"
	}
	return best, nil
}

// epsilon is less than any difference of two shares.
const epsilon = 1e-9

// gainfulProposals returns the changes that can gain something, the simplest first, and an upper bound of the gain. The bound is arithmetic: of n
// pods over d domains, the loss of one domain takes at least ⌈n/d⌉. With 4 pods over 3 zones that is 2 of 4; a workload that loses 3 of 4
// now can gain 0.25 at most. If no change can gain anything, it returns no proposals and the reason.
func (e *improver) gainfulProposals(r *evaluator, now []float64) (all []proposal, bound float64, why string) {
	if err := cluster.CheckChangeable(r.workload); err != nil {
		return nil, 0, err.Error()
	}
	if len(e.crewsBefore[r.owner].Placed) == 0 {
		return nil, 0, "no pod of it runs"
	}
	template, _ := cluster.Template(r.workload)
	pod := &v1.Pod{Spec: template.Spec}
	n := len(e.crewsBefore[r.owner].Placed)
	if second, why := r.secondReplicaProposals(); why != "" {
		return nil, 0, why
	} else if len(second) > 0 {
		all, n = second, replicasTried
	}
	single := len(all) == 0
	var gaining []string
	for i, key := range e.levels {
		usable := e.countUsableDomains(key, pod, e.crewsBefore[r.owner])
		most := math.Ceil(float64(n)/float64(max(1, usable))) / float64(n)
		if gain := now[i] - most; gain > epsilon {
			bound += gain
			gaining = append(gaining, key)
		}
	}
	if len(gaining) == 0 {
		return nil, 0, "no other placement loses less: its pods are as far apart as so many can be on the nodes that they can use"
	}
	if !single {
		return all, bound, ""
	}
	for _, key := range gaining {
		all = append(all, newProposal("spread "+shortKey(key)+" softly", 3, topologySpread(key, 1, false)))
	}
	wide, narrow := e.levels[0], e.levels[len(e.levels)-1]
	both := len(e.levels) > 1
	if both { // a rule over one level replaces that over the other
		all = append(all, newProposal(fmt.Sprintf("spread %s softly + %s softly", shortKey(wide), shortKey(narrow)), 4, topologySpread(wide, 1, false), topologySpread(narrow, 1, false)))
	}
	for _, key := range gaining {
		all = append(all, newProposal("spread "+shortKey(key), 5, topologySpread(key, 1, true)))
	}
	if both {
		all = append(all, newProposal(fmt.Sprintf("spread %s + softly %s", shortKey(wide), shortKey(narrow)), 6, topologySpread(wide, 1, true), topologySpread(narrow, 1, false)))
	}
	return all, bound, ""
}

// countUsableDomains returns the number of domains where pods like this one can be: domains with a node that takes such a pod, or that already runs a
// pod of the crew.
func (e *improver) countUsableDomains(key string, pod *v1.Pod, crew cluster.WorkloadPods) int {
	on := map[string]bool{}
	for _, p := range crew.Placed {
		on[p.Spec.NodeName] = true
	}
	domains, _ := topology.Domains(e.state.Nodes, key)
	return len(list.Where(domains, func(d topology.Domain) bool {
		return slices.ContainsFunc(d.Nodes, func(node *v1.Node) bool {
			return on[node.Name] || cluster.KubeletResponds(node) && !node.Spec.Unschedulable && !cluster.Repels(node, pod) && cluster.Attracts(node, pod)
		})
	}))
}

// tryProposal makes the change by a step, as kubectl patch does. It returns nil and the reason if a pod of any workload is newly Pending, if a
// rollout does not end, or if a loss takes a larger share of the workload than now.
func (e *improver) tryProposal(ctx context.Context, w world.World, course *simulation.Course, r *evaluator, p *proposal, patch json.RawMessage, now []Share) (*WorkloadAdvice, string, error) {
	step := scenario.Step{Name: "patch " + r.owner.Qualified(), Patch: &patchVariant(r.owner, "", patch).Patches[0]}
	done, err := course.Do(ctx, step)
	if err != nil {
		return nil, "", err
	}
	for _, rollout := range done.Rollouts {
		if rollout.Ref == r.owner && !rollout.Complete {
			return nil, "its rollout does not end: " + rollout.Waiting, nil
		}
	}
	if short := cluster.Shortfalls(e.crewsBefore, done.State); len(short) > 0 {
		why := fmt.Sprintf("%s of %s would be newly Pending", short[0].Pending[0].Name, short[0].Qualified())
		for _, pending := range done.Pending {
			if pending.Pod.UID == short[0].Pending[0].UID {
				why += ": " + pending.Why()
			}
		}
		return nil, why, nil
	}
	then, err := e.shares(ctx, w, r.owner, done.State)
	if err != nil {
		return nil, "", err
	}
	found := &WorkloadAdvice{Change: p.name, Patch: patch, step: step, Moved: metric.CountMovesOf(e.state, done.State, func(owner cluster.Ref) bool { return owner == r.owner })}
	found.Required = slices.ContainsFunc(p.rules, func(by rule.Apart) bool { return by.Required })
	for i, share := range now {
		if then[i] > share.Now+epsilon {
			return nil, fmt.Sprintf("the loss of a %s would take more of it than now", domainWord(share.TopologyKey)), nil
		}
		found.Levels = append(found.Levels, Share{share.TopologyKey, share.Now, then[i]})
		found.Gain += share.Now - then[i]
	}
	if p.replicas > 0 {
		var c Candidate
		r.setReplicaCost(&c, p.replicas)
		template, _ := cluster.Template(r.workload)
		found.Asks, found.Storage, found.ScaledBy, found.Alone = c.Asks, c.Storage, c.ScaledBy, c.Alone
		found.asks = resource.PodRequests(&v1.Pod{Spec: template.Spec}, resource.PodResourcesOptions{})
		found.Further = int(p.replicas) - 1
		found.Cost = e.capacityShare(found.asks)
	}
	return found, "", nil
}

// capacityShare returns the part of the cluster's allocatable resources that asks requests, of the resource where this part is largest. Without
// requests, it is one pod's part of the pods that the nodes allow.
func (e *improver) capacityShare(asks v1.ResourceList) float64 {
	sum := map[v1.ResourceName]float64{}
	for _, node := range e.state.Nodes {
		for name, quantity := range node.Status.Allocatable {
			sum[name] += quantity.AsApproximateFloat64()
		}
	}
	most := 0.0
	if sum[v1.ResourcePods] > 0 {
		most = 1 / sum[v1.ResourcePods]
	}
	for name, quantity := range asks {
		if sum[name] > 0 {
			most = max(most, quantity.AsApproximateFloat64()/sum[name])
		}
	}
	return most
}

// shares returns, for each level, the largest share of the workload that the loss of one domain takes.
func (e *improver) shares(ctx context.Context, w world.World, owner cluster.Ref, state *cluster.State) ([]float64, error) {
	metrics, err := metric.Measure(ctx, w, e.result.Scenario, state, metric.Options{Workloads: []cluster.Ref{owner}, Levels: e.levels})
	if err != nil {
		return nil, err
	}
	all := make([]float64, len(e.levels))
	for i, key := range e.levels {
		if level := metrics.Level(key); level != nil {
			all[i] = level.Radius
		}
	}
	return all, nil
}

// tryTogether adds the second replicas of all workloads, one after another, since each of them may take the room of another.
func (e *improver) tryTogether(ctx context.Context, all []WorkloadAdvice) (*CombinedReplicas, error) {
	second := list.Where(all, func(i WorkloadAdvice) bool { return i.Further > 0 })
	if len(second) < 2 {
		return nil, nil
	}
	w, err := e.worlds.First()
	if err != nil {
		return nil, err
	}
	course, err := simulation.Continue(w, e.result, simulation.Options{})
	if err != nil {
		return nil, err
	}
	t := &CombinedReplicas{Workloads: len(second), Asks: map[string]string{}}
	sum := v1.ResourceList{}
	for i := range second {
		if _, err := course.Do(ctx, second[i].step); err != nil {
			return nil, err
		}
		for name, quantity := range second[i].asks {
			of := sum[name]
			of.Add(quantity)
			sum[name] = of
		}
	}
	for name, quantity := range sum {
		t.Asks[string(name)] = quantity.String()
	}
	for _, short := range cluster.Shortfalls(e.crewsBefore, course.State()) {
		t.Pending += len(short.Pending)
	}
	return t, nil
}
