package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/world"
)

// decisions returns, for each binding, what the clusters make of their shares at the end of the step.
func decisions(state *cluster.State, pending []placement.Pending) []world.Decision {
	fed := state.Federation
	why := map[types.UID]string{}
	for _, p := range pending {
		why[p.Pod.UID] = p.Why()
	}
	counts := map[string]map[cluster.Ref]*world.Share{}
	owner, nodes := state.Owners(), state.NodesByName()
	for _, pod := range state.Pods {
		member, of := pod.Labels[cluster.MemberLabel], owner(pod)
		if of.Kind == "Pod" {
			_, of.Name = cluster.SplitName(of.Name)
		}
		if counts[member] == nil {
			counts[member] = map[cluster.Ref]*world.Share{}
		}
		count := counts[member][of]
		if count == nil {
			count = &world.Share{}
			counts[member][of] = count
		}
		switch on := nodes[pod.Spec.NodeName]; {
		case !cluster.IsActive(pod) || on != nil && !cluster.KubeletResponds(on):
		case pod.Spec.NodeName != "":
			count.Running++
		default:
			count.Pending++
			count.Message = cmp.Or(count.Message, why[pod.UID])
		}
	}
	templates := list.IndexBy(fed.Control.Templates, func(t *cluster.ResourceTemplate) federation.Key { return t.Key() })
	var all []world.Decision
	for _, b := range fed.Control.Bindings {
		d := world.Decision{Binding: b}
		for _, target := range b.Targets {
			member, refused := fed.Member(target.Cluster), ""
			share := world.Share{Cluster: target.Cluster, Assigned: int(target.Replicas)}
			for _, obj := range templates[b.Template.Key()].Objects {
				if count := counts[target.Cluster][cluster.RefTo(obj)]; count != nil {
					share.Running, share.Pending = share.Running+count.Running, share.Pending+count.Pending
					share.Message = cmp.Or(share.Message, count.Message)
				}
				for _, r := range member.State.Refused {
					if refused == "" && r.Ref == cluster.RefTo(obj) {
						refused = r.Message
					}
				}
			}
			share.Message = cmp.Or(share.Message, refused)
			d.Shares = append(d.Shares, share)
		}
		all = append(all, d)
	}
	return all
}

// sumRollouts returns the rollouts of all members. A workload in several clusters has one rollout, with the pods of all.
func sumRollouts(fed *cluster.Federation) []controller.Rollout {
	var all []controller.Rollout
	for _, m := range fed.Members {
		for _, one := range controller.Rollouts(m.EffectiveState(fed.Control)) {
			one.Ref = m.JoinedOwner(one.Ref)
			if one.Waiting != "" {
				one.Waiting = fmt.Sprintf("in cluster %s %s", m.Name, one.Waiting)
			}
			for i, pod := range one.NotCreated {
				one.NotCreated[i] = cluster.JoinName(m.Name, pod)
			}
			i := slices.IndexFunc(all, func(r controller.Rollout) bool { return r.Ref == one.Ref })
			if i < 0 {
				all = append(all, one)
				continue
			}
			sum := &all[i]
			sum.Desired, sum.Updated, sum.Ready = sum.Desired+one.Desired, sum.Updated+one.Updated, sum.Ready+one.Ready
			sum.Old, sum.Unavailable = sum.Old+one.Old, sum.Unavailable+one.Unavailable
			sum.Complete = sum.Complete && one.Complete
			sum.NotCreated = append(sum.NotCreated, one.NotCreated...)
			sum.Waiting = strings.TrimPrefix(strings.Join([]string{sum.Waiting, one.Waiting}, "; "), "; ")
		}
	}
	return all
}
