package plan

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/controller"
)

// attempt is the search for the patch of one workload: its patches are tried one after another, each with the whole plan, until no loss leaves a pod
// that no node helps. If none comes so far, the one that leaves the fewest is kept, provided that it leaves fewer than no patch.
type attempt struct {
	cluster.Ref
	patches []Change
	// at is the patch that is tried, or in the end kept; -1: none.
	at int
	// blocked is the number of pods that no node helps, after all losses: without a patch, and then of the best one.
	blocked, best int
	done          bool
	// stuck says of a patch that its rollout does not end.
	stuck string
}

// changes are the patches that are tried.
func (p *planner) changes() []Change {
	var all []Change
	for _, a := range p.attempts {
		if a.at >= 0 {
			all = append(all, a.patches[a.at])
		}
	}
	return all
}

// next goes on to the next patch. After the last one it returns to the best.
func (a *attempt) next(stuck bool) {
	if a.done {
		a.at = -1
		return
	}
	for a.at++; a.at < len(a.patches) && a.patches[a.at].ifStuck && !stuck; {
		a.at++
	}
	if a.at == len(a.patches) {
		a.at, a.done = a.best, true
	}
}

// change looks at the pods that no node helps after the losses: their workloads get a first patch, or the next one if they have one that leaves
// pods behind. It reports whether there are other patches than before, and whether one of those was given up for another.
func (p *planner) change(losses []loss) (other, replaced bool) {
	blocked, refusedBy := map[cluster.Ref]int{}, map[cluster.Ref]map[string]bool{}
	for i := range losses {
		for _, pod := range losses[i].blocked {
			if blocked[pod.owner]++; refusedBy[pod.owner] == nil {
				refusedBy[pod.owner] = map[string]bool{}
			}
			maps.Copy(refusedBy[pod.owner], losses[i].refusedBy[pod.UID]) // of equal pods the scheduler may try one
		}
	}
	for _, a := range p.attempts {
		n := blocked[a.Ref]
		if a.done || n == 0 {
			continue
		}
		if n < a.blocked {
			a.blocked, a.best = n, a.at
		}
		was := a.at
		a.next(false)
		other, replaced = other || a.at != was, replaced || a.at != was
	}
	for i := range losses {
		for _, pod := range losses[i].blocked {
			if slices.ContainsFunc(p.attempts, func(a *attempt) bool { return a.Ref == pod.owner }) {
				continue
			}
			a := &attempt{Ref: pod.owner, patches: p.changesFor(&losses[i], pod, refusedBy[pod.owner]), blocked: blocked[pod.owner], best: -1}
			switch {
			case len(a.patches) == 0:
				a.at, a.done = -1, true
			case len(blocked) > 1 && p.wantsOthers(pod.owner): // they may come back by their own patches
				a.at = -1
			}
			p.attempts = append(p.attempts, a)
			other = other || !a.done
		}
	}
	return other, replaced
}

// wantsOthers reports whether the workload's pods have to run near others.
func (p *planner) wantsOthers(owner cluster.Ref) bool {
	spec, _ := cluster.PodSpec(cluster.Find(p.state.Objects(), owner))
	return slices.ContainsFunc(rule.Of(spec), func(r rule.Rule) bool { return r.Hard && r.Kind == rule.Affinity })
}

// giveUp goes on to the next patch where the rollout of one does not end in the state, and reports whether there are any.
func (p *planner) giveUp(state *cluster.State) bool {
	any := false
	for _, r := range controller.Rollouts(state) {
		if !r.Stuck() {
			continue
		}
		i := slices.IndexFunc(p.attempts, func(a *attempt) bool { return a.Ref == r.Ref && a.at >= 0 })
		if i < 0 {
			continue
		}
		a := p.attempts[i]
		a.stuck, any = fmt.Sprintf("with %s its rollout does not end: %s", a.patches[a.at].Change, r.Waiting), true
		a.next(true)
	}
	return any
}

// triedFor says what was tried in vain for the workload; empty if a patch is kept, or there is none.
func (p *planner) triedFor(owner cluster.Ref) string {
	i := slices.IndexFunc(p.attempts, func(a *attempt) bool { return a.Ref == owner && a.at < 0 })
	if i < 0 {
		return ""
	}
	return p.attempts[i].stuck
}

// lostVolume names a volume of the pod that no node beside those lost can reach; empty if there is none. No patch moves a volume.
func (p *planner) lostVolume(l *loss, pod *v1.Pod) string {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		at := slices.IndexFunc(l.state.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) bool {
			return claim.Namespace == pod.Namespace && claim.Name == v.PersistentVolumeClaim.ClaimName
		})
		if at < 0 {
			continue
		}
		for _, pv := range l.state.PersistentVolumes {
			reached := slices.ContainsFunc(p.state.Nodes, func(node *v1.Node) bool {
				return !l.nodes[node.Name] && volume.CheckNodeAffinity(pv, node.Labels) == nil
			})
			if pv.Name == l.state.PersistentVolumeClaims[at].Spec.VolumeName && !reached {
				return fmt.Sprintf("its volume %s is in %s alone, and no patch moves it: the pod comes back with its nodes", pv.Name, l.domain)
			}
		}
	}
	return ""
}
