package peak

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Ceiling is a limit that keeps pods from a node.
type Ceiling struct {
	// Kind is groupMaximum, nodesTotal (the flag --max-nodes-total), nodes (a resource is used up, and nothing adds nodes), podsPerNode,
	// volumesPerNode, quota, rule, volume (where volumes are), or other.
	Kind string `json:"kind" jsonschema:"enum=groupMaximum,enum=nodesTotal,enum=nodes,enum=podsPerNode,enum=volumesPerNode,enum=quota,enum=rule,enum=volume,enum=other"`
	// What names the limit: the node group, the resource, the ResourceQuota, the rule.
	What string `json:"what"`
	// Pods is the number of pods that it keeps from a node: at the peak or, if none waits there, after the worst loss.
	Pods int `json:"pods"`
	// Workloads are their workloads.
	Workloads []cluster.WorkloadRef `json:"workloads"`
}

const (
	groupMaximum   = "groupMaximum"
	nodesTotal     = "nodesTotal"
	noNodes        = "nodes"
	podsPerNode    = "podsPerNode"
	volumesPerNode = "volumesPerNode"
	quota          = "quota"
	aRule          = "rule"
	aVolume        = "volume"
	other          = "other"
)

// limit is what keeps one pod from a node, with the values of both sides in words.
type limit struct{ kind, what, says string }

// limits finds the limits of the pods of one outcome.
type limits struct {
	*outcome
	scenario *scenario.Scenario
	finder   *cause.Finder
	pending  map[types.UID]*placement.Pending
	// scaling has the autoscaler's reasons why a pod gets no new node.
	scaling map[types.NamespacedName]string
}

func newLimits(o *outcome, s *scenario.Scenario, finder *cause.Finder) *limits {
	l := &limits{outcome: o, scenario: s, finder: finder, pending: map[types.UID]*placement.Pending{}, scaling: map[types.NamespacedName]string{}}
	for i := range o.step.Pending {
		l.pending[o.step.Pending[i].Pod.UID] = &o.step.Pending[i]
	}
	if did := o.step.Autoscaling; did != nil {
		for _, e := range did.Events {
			if e.Reason == "NotTriggerScaleUp" {
				for _, pod := range e.Pods {
					l.scaling[pod.Key()] = e.Message
				}
			}
		}
	}
	return l
}

// ofMissing returns the limit of pods of a workload that do not exist; false if they only wait for a Pending pod of the workload.
func (l *limits) ofMissing(owner cluster.Ref) (limit, bool) {
	for _, r := range l.step.Refused {
		if r.Ref != owner {
			continue
		}
		if causes := cause.ExplainDenial(l.state, r); len(causes) > 0 && causes[0].Denial != nil {
			kind := other
			if causes[0].Plugin == "ResourceQuota" {
				kind = quota
			}
			return limit{kind, causes[0].Denial.Object, causes[0].Sentence}, true
		}
		return limit{other, r.Reason(), r.Reason()}, true
	}
	return limit{other, "its controller has not made them", "its controller has not made them"}, false
}

// ofPod returns the limit of a Pending pod.
func (l *limits) ofPod(ctx context.Context, pod *v1.Pod) (limit, error) {
	p := l.pending[pod.UID]
	if p == nil {
		return limit{other, "the scheduler has not tried it", "the scheduler has not tried it"}, nil
	}
	causes, err := l.finder.ExplainPending(ctx, l.state, p)
	if err != nil {
		return limit{}, err
	}
	// What a pod's own rules say about a kind of nodes is no ceiling, as long as the nodes of its kind refuse it for another reason.
	moving := list.Where(causes, func(c cause.Cause) bool {
		return len(c.Taints) == 0 && len(c.Cordoned) == 0 && c.NodeAffinity == nil && c.Preemption == nil && c.Rollout == nil
	})
	if len(moving) == 0 {
		moving = causes
	}
	slices.SortStableFunc(moving, func(a, b cause.Cause) int { return b.Nodes - a.Nodes })
	says := cause.Brief(moving)
	if len(moving) == 0 {
		return limit{other, p.Why(), p.Why()}, nil
	}
	first := &moving[0]
	found := limit{other, says, says}
	switch {
	case first.Resource != nil && first.Resource.Resource == v1.ResourcePods:
		found = limit{podsPerNode, "the number of pods that a node takes", says}
	case first.Resource != nil:
		found = limit{noNodes, string(first.Resource.Resource), says}
	case first.Spread != nil:
		found = limit{aRule, "the spread over " + first.Spread.TopologyKey, says}
	case first.PodAffinity != nil && first.PodAffinity.Anti:
		found = limit{aRule, "anti-affinity over " + first.PodAffinity.TopologyKey, says}
	case first.PodAffinity != nil:
		found = limit{aRule, "affinity over " + first.PodAffinity.TopologyKey, says}
	case first.HostPort != nil:
		found = limit{aRule, fmt.Sprintf("host port %d", first.HostPort.Port), says}
	case first.Volume != nil && first.Volume.Driver != "":
		found = limit{volumesPerNode, fmt.Sprintf("the number of volumes of %s that a node takes", first.Volume.Driver), says}
	case first.Volume != nil:
		found = limit{aVolume, "the place of volumes", says}
	case first.NodeAffinity != nil:
		found = limit{aRule, "node affinity", says}
	}
	return l.scaledLimit(pod, found), nil
}

// scaledLimit returns the limit of the autoscaler, if it would otherwise add a node for the pod.
func (l *limits) scaledLimit(pod *v1.Pod, found limit) limit {
	a := l.scenario.Autoscaler
	switch {
	case a == nil:
		return found
	case l.isCapped() && slices.Contains([]string{noNodes, podsPerNode, volumesPerNode}, found.kind):
		return limit{nodesTotal, "max-nodes-total " + a.Flags["max-nodes-total"] + " of the autoscaler", found.says}
	case !strings.Contains(l.scaling[cluster.NameOf(pod)], "max node group size reached"):
		return found
	}
	var full []string
	for i := range a.NodeGroups {
		g := &a.NodeGroups[i]
		takes := slices.ContainsFunc(l.state.Nodes, func(n *v1.Node) bool { return g.Has(n) && cluster.Attracts(n, pod) && !cluster.Repels(n, pod) })
		if nodes := countNodes(l.state, g); nodes >= g.Max && takes {
			full = append(full, fmt.Sprintf("%s of %d", g.Name, g.Max))
		}
	}
	if len(full) == 0 {
		return found
	}
	return limit{groupMaximum, "the maximum of " + words.And(full), found.says}
}

// isCapped reports whether the autoscaler has reached its limit of nodes in all groups together.
func (l *limits) isCapped() bool {
	return l.step.Autoscaling != nil && slices.ContainsFunc(l.step.Autoscaling.Events, func(e world.ScalingEvent) bool { return e.Reason == "MaxNodesTotalReached" })
}

// ofShortage returns the limits of the workload's pods, each with its number of pods, those with the most pods first. Pods with one message
// share their limit.
func (l *limits) ofShortage(ctx context.Context, owner cluster.Ref, short *shortage) (all []limit, pods []int, err error) {
	count := func(of limit, n int) {
		at := slices.IndexFunc(all, func(other limit) bool { return other.kind == of.kind && other.what == of.what })
		if at < 0 {
			at = len(all)
			all, pods = append(all, of), append(pods, 0)
		}
		pods[at] += n
	}
	for _, alike := range list.GroupBy(short.pending, l.message) {
		of, err := l.ofPod(ctx, alike[0])
		if err != nil {
			return nil, nil, err
		}
		count(of, len(alike))
	}
	if short.missing > 0 {
		of, refused := l.ofMissing(owner)
		if !refused && len(all) > 0 {
			of = all[0] // a StatefulSet makes one pod after the other
		}
		count(of, short.missing)
	}
	return all, pods, nil
}

// message returns why a Pending pod has no node, in the words of scheduler and autoscaler.
func (l *limits) message(pod *v1.Pod) string {
	if p := l.pending[pod.UID]; p != nil {
		return p.Why() + "\n" + l.scaling[cluster.NameOf(pod)]
	}
	return ""
}

// describeStarved adds the workloads without a node for some of their pods at the peak or after its worst loss, and the ceilings. worst is nil if
// nothing is lost.
func (f *finder) describeStarved(ctx context.Context, answer *Answer, top, worst *outcome) error {
	finder, err := cause.NewFinder(f.base.Scenario.Config)
	if err != nil {
		return err
	}
	defer finder.Close()
	grows := list.KeySet(f.targets, func(t world.PeakTarget) cluster.Ref { return f.crewOf(t.Ref) })
	var starved []Starved
	var ceilings []Ceiling
	at := map[cluster.Ref]int{}
	for _, o := range []*outcome{top, worst} {
		if o == nil {
			continue
		}
		l := newLimits(o, f.base.Scenario, finder)
		for _, owner := range o.sortedOwners() {
			short := o.shortages[owner]
			if _, known := at[owner]; !known {
				at[owner] = len(starved)
				found, pods, err := l.ofShortage(ctx, owner, short)
				if err != nil {
					return err
				}
				for i := range found {
					ceilings = countCeiling(ceilings, found[i], pods[i], owner.Workload())
				}
				starved = append(starved, Starved{WorkloadRef: owner.Workload(), Priority: f.priority(o, owner), Grows: grows[owner], Ceiling: found[0].says, ref: owner})
			}
			s := &starved[at[owner]]
			if o == top {
				s.Short, s.Lost = short.count(), short.lost
				s.By, s.Preempts = f.takers(o, owner, s.Priority)
			} else {
				s.AfterLoss = short.count()
			}
		}
	}
	slices.SortStableFunc(starved, func(a, b Starved) int { return max(b.Short, b.AfterLoss) - max(a.Short, a.AfterLoss) })
	slices.SortStableFunc(ceilings, func(a, b Ceiling) int { return b.Pods - a.Pods })
	answer.Starved, answer.Ceilings = starved, ceilings
	return nil
}

// countCeiling counts the pods for the ceiling.
func countCeiling(all []Ceiling, of limit, pods int, workload cluster.WorkloadRef) []Ceiling {
	at := slices.IndexFunc(all, func(c Ceiling) bool { return c.Kind == of.kind && c.What == of.what })
	if at < 0 {
		at = len(all)
		all = append(all, Ceiling{Kind: of.kind, What: of.what})
	}
	all[at].Pods += pods
	all[at].Workloads = append(all[at].Workloads, workload)
	return all
}

// priority returns the priority of the workload's pods.
func (f *finder) priority(o *outcome, owner cluster.Ref) int32 {
	for _, state := range []*cluster.State{o.state, f.before.state} {
		of := state.Owners()
		for _, pod := range state.Pods {
			if of(pod) == owner {
				return ptr.Deref(pod.Spec.Priority, 0)
			}
		}
	}
	return 0
}

// takers returns the workloads that preempted pods of the workload; if none did, the growing workloads of a higher priority, with their new
// pods that have a node.
func (f *finder) takers(o *outcome, owner cluster.Ref, priority int32) (by []By, preempts bool) {
	of := o.state.Owners()
	before := f.before.state.Owners()
	ownerOf := func(pod *v1.Pod) cluster.Ref {
		if found := before(pod); f.before.crews[found].Placed != nil {
			return found
		}
		return of(pod)
	}
	victims := list.Where(o.step.Preempted, func(p placement.Preemption) bool { return ownerOf(p.Victim) == owner })
	for _, same := range list.GroupBy(victims, func(p placement.Preemption) cluster.Ref { return ownerOf(p.For) }) {
		by = append(by, By{ownerOf(same[0].For).Workload(), len(same), ptr.Deref(same[0].For.Spec.Priority, 0)})
	}
	preempts = len(by) > 0
	if !preempts {
		crews := o.state.PodsByWorkload()
		for _, t := range f.targets {
			taker := f.crewOf(t.Ref)
			more := len(crews[taker].Placed) - len(f.before.crews[taker].Placed)
			if is := f.priority(o, taker); more > 0 && is > priority {
				by = append(by, By{taker.Workload(), more, is})
			}
		}
	}
	slices.SortStableFunc(by, func(a, b By) int { return cmp.Or(b.Pods-a.Pods, a.Compare(b.WorkloadRef)) })
	return by, preempts
}
