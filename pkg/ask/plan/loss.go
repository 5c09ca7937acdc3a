package plan

import (
	"cmp"
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/parallel"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// loss is the loss of a domain and its result.
type loss struct {
	level, domain string
	nodes         map[string]bool
	// state is the cluster once nothing moves any more. stranded are the pods that replace a present pod and have no node, or do not start
	// on theirs.
	state    *cluster.State
	stranded []strandedPod
	// messages are kube-scheduler's texts for the Pending pods.
	messages map[types.UID]string
	// autoscaling is what an autoscaler did; nil if it did nothing, or if there is none.
	autoscaling *world.Autoscaling
	// unreplaced is the number of pods that nothing replaces.
	unreplaced int
	// refusedBy are the plugins that refuse nodes to a Pending pod, including new nodes.
	refusedBy map[types.UID]map[string]bool
	// needs is the number of new nodes that the stranded pods need, by the index of the group. blocked are the pods that no number of nodes
	// helps.
	needs   map[int]int
	blocked []strandedPod
	// open means that the search for needs and blocked has not ended.
	open bool
}

// strandedPod is a stranded pod, which takes the place of one that runs today, and its workload.
type strandedPod struct {
	owner cluster.Ref
	*v1.Pod
}

// loseEach loses each wanted domain of each level, one at a time, after the last step of the result.
func (p *planner) loseEach(ctx context.Context, from *simulation.Result, wanted func(domain string) bool) ([]loss, error) {
	var all []loss
	for _, level := range p.opts.Survive {
		analysis, err := blast.Lost(from.State(), blast.Options{Levels: []string{level}, Simultaneous: 1, Mode: p.opts.Mode})
		if err != nil {
			return nil, err
		}
		for _, f := range analysis.Levels[0].Failures {
			if wanted(f.Domains[0]) {
				all = append(all, loss{level: level, domain: f.Domains[0], nodes: list.KeySet(f.Nodes, func(name string) string { return name }), needs: map[int]int{}})
			}
		}
	}
	var each parallel.Options
	if p.opts.Progress != nil {
		each.Progress = func(last, done int) { p.opts.Progress("loss of "+all[last].domain, done, len(all)) }
	}
	return all, p.worlds.Each(ctx, len(all), each, func(ctx context.Context, w world.World, i int) error {
		return p.loseDomain(ctx, w, from, &all[i])
	})
}

// loseDomain loses one domain after the last step of the result, by a step that fails its nodes.
func (p *planner) loseDomain(ctx context.Context, w world.World, from *simulation.Result, l *loss) error {
	course, err := simulation.Continue(w, from, simulation.Options{})
	if err != nil {
		return err
	}
	fails := scenario.Step{Name: "loss of " + l.domain, Fail: &scenario.Fail{Nodes: scenario.Nodes{Names: slices.Sorted(maps.Keys(l.nodes))}, Mode: string(p.opts.Mode)}}
	step, err := course.Do(ctx, fails)
	if err != nil {
		return err
	}
	l.state, l.messages, l.refusedBy = step.State, map[types.UID]string{}, map[types.UID]map[string]bool{}
	for _, pending := range step.Pending {
		l.messages[pending.Pod.UID] = pending.Message
	}
	l.addRefusals(step.Pending)
	l.autoscaling = step.Autoscaling
	l.stranded, l.unreplaced = p.findStranded(l.state)
	l.open = len(l.stranded) > 0
	return nil
}

// addRefusals adds the plugins that refuse nodes to the Pending pods.
func (l *loss) addRefusals(waiting []placement.Pending) {
	for _, pending := range waiting {
		plugins := list.KeySet(pending.Reasons, func(r placement.Reason) string { return r.Plugin })
		maps.Copy(plugins, l.refusedBy[pending.Pod.UID])
		l.refusedBy[pending.Pod.UID] = plugins
	}
}

// findStranded returns the stranded pods of the state: pods that are Pending, or wait on their node for a volume, in the place of a pod that
// runs today. Where a name lasts, as in a StatefulSet, places are compared by name. Otherwise only numbers count: if 2 pods of a Deployment
// fewer have a node than today, at most 2 of its newly Pending pods are stranded. unreplaced is the number of present pods that nothing
// replaces, without pods of DaemonSets, which live and die with their nodes, and without pods whose work is lost.
func (p *planner) findStranded(state *cluster.State) (all []strandedPod, unreplaced int) {
	now := state.PodsByWorkload()
	for _, owner := range sortedOwners(p.crewsBefore) {
		was, is := p.crewsBefore[owner], now[owner]
		short := 0
		var named, waiting []*v1.Pod
		for id, pod := range was.Placed {
			if _, lasts := cluster.Identity(owner, pod); lasts && is.Placed[id] == nil && is.Waiting[id] != nil {
				named = append(named, is.Waiting[id])
			} else if !lasts {
				short++
			}
		}
		for id, pod := range is.Placed {
			if _, lasts := cluster.Identity(owner, pod); !lasts {
				short--
			}
			if was.Placed[id] == nil && cluster.WaitsForVolume(pod) != "" {
				named = append(named, pod)
			}
		}
		for id, pod := range is.Waiting {
			if _, lasts := cluster.Identity(owner, pod); !lasts && was.Waiting[id] == nil {
				waiting = append(waiting, pod)
			}
		}
		sortByName(named)
		sortByName(waiting)
		stranded := slices.Concat(named, waiting[:max(0, min(short, len(waiting)))])
		for _, pod := range stranded {
			all = append(all, strandedPod{owner, pod})
		}
		if owner.Kind != "DaemonSet" && !slices.ContainsFunc(slices.Collect(maps.Values(was.Placed)), p.losesWork) {
			unreplaced += max(0, was.CountLost(owner, is)-len(stranded))
		}
	}
	return all, unreplaced
}

func sortByName(pods []*v1.Pod) {
	slices.SortFunc(pods, func(a, b *v1.Pod) int { return cmp.Compare(a.Name, b.Name) })
}

func sortedOwners(crews map[cluster.Ref]cluster.WorkloadPods) []cluster.Ref {
	owners := make([]cluster.Ref, 0, len(crews))
	for owner := range crews {
		owners = append(owners, owner)
	}
	slices.SortFunc(owners, func(a, b cluster.Ref) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return owners
}

// describeLosses returns the losses that strand pods, the most pods first.
func (p *planner) describeLosses(losses []loss) []Loss {
	var all []Loss
	for _, l := range losses {
		if len(l.stranded) == 0 {
			continue
		}
		d := Loss{Level: l.level, Domain: l.domain, Stranded: len(l.stranded), Blocked: len(l.blocked), Open: l.open, owners: map[cluster.Ref]bool{}}
		for _, group := range list.GroupBy(l.stranded, func(pod strandedPod) cluster.Ref { return pod.owner }) {
			d.owners[group[0].owner] = true
			d.Workloads = append(d.Workloads, Workload{group[0].owner.Workload(), len(group)})
		}
		for g := range p.groups {
			if n := l.needs[g]; n > 0 && !l.open {
				d.Needs = append(d.Needs, Need{p.groups[g].Name, n})
			}
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b Loss) int { return b.Stranded - a.Stranded })
	return all
}

// listLeft returns the pods that the losses strand, by loss and workload, with a message for each.
func (p *planner) listLeft(losses []loss) []Left {
	var all []Left
	for _, l := range losses {
		for _, group := range list.GroupBy(l.stranded, func(pod strandedPod) cluster.Ref { return pod.owner }) {
			ref := group[0].owner.Workload()
			message := cmp.Or(p.lostVolume(&l, group[0].Pod), p.explainStuckPatch(group[0].owner), l.messages[group[0].UID])
			all = append(all, Left{ref, l.level, l.domain, len(group), message})
		}
	}
	return all
}
