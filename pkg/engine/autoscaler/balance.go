package autoscaler

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// similarGroups returns the other groups whose nodes are similar to the group's, and onto which all pods fit that fit onto the group. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/processors/nodegroupset/compare_nodegroups.go.
func (x *expansion) similarGroups(group *Group) []*Group {
	if !x.options.BalanceSimilarNodeGroups || len(x.fitting[group.Name]) == 0 {
		return nil
	}
	var similar []*Group
	for _, other := range x.groups {
		fitting, valid := x.fitting[other.Name]
		if other == group || !valid || !x.healthy(other) || !x.similarTemplates(x.groupTemplates[group.Name], x.groupTemplates[other.Name]) {
			continue
		}
		lacks := func(pods *podGroup) bool { return !slices.Contains(fitting, pods) }
		if !slices.ContainsFunc(x.fitting[group.Name], lacks) {
			similar = append(similar, other)
		}
	}
	return similar
}

// ignoredLabels may differ between the nodes of similar groups.
var ignoredLabels = []string{
	v1.LabelHostname, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone, v1.LabelTopologyRegion,
	"beta.kubernetes.io/fluentd-ds-ready", "kops.k8s.io/instancegroup",
}

// similarTemplates reports whether nodes made from the two templates are similar: in size, in free resources and in labels.
func (x *expansion) similarTemplates(a, b *template) bool {
	if labels := x.options.BalancingLabels; labels != nil {
		return !slices.ContainsFunc(labels, func(key string) bool {
			value, has := a.node.Labels[key]
			other, too := b.node.Labels[key]
			return !has || !too || value != other
		})
	}
	essential := func(labels map[string]string) map[string]string {
		kept := maps.Clone(labels)
		maps.DeleteFunc(kept, func(key, _ string) bool {
			return slices.Contains(ignoredLabels, key) || slices.Contains(x.options.BalancingIgnoreLabels, key)
		})
		return kept
	}
	return cluster.SimilarSize(a.node, b.node) && cluster.SimilarResources(a.freeResources(), b.freeResources()) && maps.Equal(essential(a.node.Labels), essential(b.node.Labels))
}

// freeResources returns the node's allocatable resources minus the requests of the node's own pods. It covers CPU, memory, ephemeral storage, and
// what these pods request.
func (t *template) freeResources() v1.ResourceList {
	free := v1.ResourceList{}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		free[name] = t.node.Status.Allocatable[name].DeepCopy()
	}
	for _, pod := range t.pods {
		for name, quantity := range podRequests(pod) {
			left, has := free[name]
			if !has {
				left = t.node.Status.Allocatable[name].DeepCopy()
			}
			left.Sub(quantity)
			free[name] = left
		}
	}
	return free
}

// balanceNodes divides new nodes among the groups, so that their sizes become equal from below. Sizes 1, 2 and 5 with 4 new nodes become 4, 3
// and 5: the smallest group grows first, and the next one joins when both have the same size. A group at its maximum drops out. See
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/processors/nodegroupset/balancing_processor.go.
func balanceNodes(groups []*Group, nodes int) []Resize {
	var shares []Resize
	room := 0
	for _, group := range groups {
		if group.Target != group.Max {
			shares = append(shares, Resize{group.Name, group.Target, group.Target, group.Max})
			room += max(group.Max-group.Target, 0)
		}
	}
	slices.SortStableFunc(shares, func(a, b Resize) int { return cmp.Compare(a.From, b.From) })
	for first, turn, left := 0, 0, min(nodes, room); left > 0; {
		if share := &shares[turn]; share.To < share.Max {
			share.To++
			left--
		} else {
			shares[first], shares[turn] = shares[turn], shares[first]
			first++
		}
		if turn+1 < len(shares) && shares[turn].To > shares[turn+1].To {
			turn++
		} else {
			turn = first
		}
	}
	return slices.DeleteFunc(shares, func(share Resize) bool { return share.To == share.From })
}
