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
	// current is the index of the patch that is being tried, and in the end of the patch that is kept; -1: none.
	current int
	// blocked is the smallest number of pods, over all losses, that no node helps, without a patch or with one that was tried; best is the
	// index of the patch with that number, -1 for none.
	blocked, best int
	done          bool
	// stuck says which patch was given up because its rollout does not end.
	stuck string
}

// currentPatches returns the patch of each attempt that is being tried, or kept.
func (p *planner) currentPatches() []Change {
	var all []Change
	for _, a := range p.attempts {
		if a.current >= 0 {
			all = append(all, a.patches[a.current])
		}
	}
	return all
}

// nextPatch goes on to the next patch, and after the last one to the best. It skips a patch that is only for a stuck rollout, unless stuck is
// true.
func (a *attempt) nextPatch(stuck bool) {
	if a.done {
		a.current = -1
		return
	}
	for a.current++; a.current < len(a.patches) && a.patches[a.current].ifStuck && !stuck; {
		a.current++
	}
	if a.current == len(a.patches) {
		a.current, a.done = a.best, true
	}
}

// choosePatches starts or continues the attempts for the pods that no node helps after the losses: their workloads get their first patch, or the
// next one if the present one leaves such pods. It reports whether any attempt now has another patch, and whether a patch replaced another
// one.
func (p *planner) choosePatches(losses []loss) (other, replaced bool) {
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
			a.blocked, a.best = n, a.current
		}
		was := a.current
		a.nextPatch(false)
		other, replaced = other || a.current != was, replaced || a.current != was
	}
	for i := range losses {
		for _, pod := range losses[i].blocked {
			if slices.ContainsFunc(p.attempts, func(a *attempt) bool { return a.Ref == pod.owner }) {
				continue
			}
			a := &attempt{Ref: pod.owner, patches: p.listPatches(&losses[i], pod, refusedBy[pod.owner]), blocked: blocked[pod.owner], best: -1}
			switch {
			case len(a.patches) == 0:
				a.current, a.done = -1, true
			case len(blocked) > 1 && p.hasRequiredAffinity(pod.owner): // the pods that its own must run near may first come back by their own patches
				a.current = -1
			}
			p.attempts = append(p.attempts, a)
			other = other || !a.done
		}
	}
	return other, replaced
}

// hasRequiredAffinity reports whether the workload's pods must run near other pods, by a required pod affinity.
func (p *planner) hasRequiredAffinity(owner cluster.Ref) bool {
	spec, _ := cluster.PodSpec(cluster.Find(p.state.Objects(), owner))
	return slices.ContainsFunc(rule.List(spec), func(r rule.Rule) bool { return r.Hard && r.Kind == rule.Affinity })
}

// giveUpStuckPatches goes on to the next patch of each workload whose rollout does not end in the state. It reports whether there are any such
// workloads.
func (p *planner) giveUpStuckPatches(state *cluster.State) bool {
	any := false
	for _, r := range controller.Rollouts(state) {
		if !r.Stuck() {
			continue
		}
		i := slices.IndexFunc(p.attempts, func(a *attempt) bool { return a.Ref == r.Ref && a.current >= 0 })
		if i < 0 {
			continue
		}
		a := p.attempts[i]
		a.stuck, any = fmt.Sprintf("with %s its rollout does not end: %s", a.patches[a.current].Change, r.Waiting), true
		a.nextPatch(true)
	}
	return any
}

// explainStuckPatch says which patch was tried in vain for the workload; "" if a patch is kept, or none was tried.
func (p *planner) explainStuckPatch(owner cluster.Ref) string {
	i := slices.IndexFunc(p.attempts, func(a *attempt) bool { return a.Ref == owner && a.current < 0 })
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
