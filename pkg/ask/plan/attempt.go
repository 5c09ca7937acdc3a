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

// attempt is the search for the patch of one workload. Its patches are tried one after another, each with the whole plan, until no loss
// leaves a pod that no node helps. If no patch achieves that, the attempt keeps the patch that leaves the fewest such pods, provided that
// it leaves fewer than no patch.
type attempt struct {
	cluster.Ref
	patches []Change
	// at is the index of the patch that is being tried, and in the end of the patch that is kept; -1: none.
	at int
	// blocked is the smallest number of pods, over all losses, that no node helps, without a patch or with one that was tried; best is the
	// index of the patch with that number, -1 for none.
	blocked, best int
	done          bool
	// stuck says which patch was given up because its rollout does not end.
	stuck string
}

// changes returns the patch of each attempt that is being tried, or kept.
func (p *planner) changes() []Change {
	var all []Change
	for _, a := range p.attempts {
		if a.at >= 0 {
			all = append(all, a.patches[a.at])
		}
	}
	return all
}

// next goes on to the next patch, and after the last one to the best. It skips a patch that is only for a stuck rollout, unless stuck is
// true.
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

// change starts or continues the attempts for the pods that no node helps after the losses: their workloads get their first patch, or the
// next one if the present one leaves such pods. It reports whether any attempt now has another patch, and whether a patch replaced another
// one.
func (p *planner) change(losses []loss) (other, replaced bool) {
	blocked, refusedBy := map[cluster.Ref]int{}, map[cluster.Ref]map[string]bool{}
	for i := range losses {
		for _, pod := range losses[i].blocked {
			if blocked[pod.owner]++; refusedBy[pod.owner] == nil {
				refusedBy[pod.owner] = map[string]bool{}
			}
			maps.Copy(refusedBy[pod.owner], losses[i].refusedBy[pod.UID]) // the scheduler may try only one of several equal pods
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
			case len(blocked) > 1 && p.wantsOthers(pod.owner): // the pods that its own must run near may first come back by their own patches
				a.at = -1
			}
			p.attempts = append(p.attempts, a)
			other = other || !a.done
		}
	}
	return other, replaced
}

// wantsOthers reports whether the workload's pods must run near other pods, by a required pod affinity.
func (p *planner) wantsOthers(owner cluster.Ref) bool {
	spec, _ := cluster.PodSpec(cluster.Find(p.state.Objects(), owner))
	return slices.ContainsFunc(rule.Of(spec), func(r rule.Rule) bool { return r.Hard && r.Kind == rule.Affinity })
}

// giveUp goes on to the next patch of each workload whose rollout does not end in the state. It reports whether there are any such
// workloads.
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

// triedFor says which patch was tried in vain for the workload; "" if a patch is kept, or none was tried.
func (p *planner) triedFor(owner cluster.Ref) string {
	i := slices.IndexFunc(p.attempts, func(a *attempt) bool { return a.Ref == owner && a.at < 0 })
	if i < 0 {
		return ""
	}
	return p.attempts[i].stuck
}

// lostVolume says which volume of the pod only the lost nodes can reach; "" if there is none. No patch moves a volume.
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
