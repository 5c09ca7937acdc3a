package explain

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// Changes of a spread constraint that keep it: which nodes and pods it counts, and how much skew it allows.

// refineSpreads returns the attempts that change what each hard constraint counts, then the attempts that find how much skew each needs to
// allow.
func (p *pendingPod) refineSpreads() []attempt {
	if p.spec == nil || !p.refusedBy("PodTopologySpread") {
		return nil
	}
	var attempts []attempt
	for _, c := range p.refinements() {
		attempts = append(attempts, p.attemptOne(c))
	}
	for i := range p.spec.TopologySpreadConstraints {
		if c := &p.spec.TopologySpreadConstraints[i]; c.WhenUnsatisfiable == v1.DoNotSchedule {
			attempts = append(attempts, p.moreSkew(i))
		}
	}
	return attempts
}

// refinements returns the changes of what each hard constraint counts.
func (p *pendingPod) refinements() []candidate {
	if p.spec == nil {
		return nil
	}
	var all []candidate
	for i := range p.spec.TopologySpreadConstraints {
		c := &p.spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		refine := func(change, price string, edit func(*v1.TopologySpreadConstraint)) {
			all = append(all, candidate{change: change + " in the spread over " + c.TopologyKey, price: []string{price}, edit: p.ofConstraint(i, edit)})
		}
		if ptr.Deref(c.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyIgnore {
			refine("nodeTaintsPolicy: Honor", "spreads no longer over nodes whose taints the pod does not tolerate",
				func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor) })
		} else {
			refine("nodeTaintsPolicy: Ignore", "spreads also over nodes whose taints the pod does not tolerate",
				func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyIgnore) })
		}
		if ptr.Deref(c.NodeAffinityPolicy, v1.NodeInclusionPolicyHonor) == v1.NodeInclusionPolicyIgnore {
			refine("nodeAffinityPolicy: Honor", "spreads no longer over nodes that the pod's node selector and affinity leave out",
				func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyHonor) })
		} else {
			refine("nodeAffinityPolicy: Ignore", "spreads also over nodes that the pod's node selector and affinity leave out",
				func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyIgnore) })
		}
		if hash := appsv1.DefaultDeploymentUniqueLabelKey; p.owner.Kind == "Deployment" && !slices.Contains(c.MatchLabelKeys, hash) {
			refine("matchLabelKeys: ["+hash+"]", "pods of an old template count no longer",
				func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = append(c.MatchLabelKeys, hash) })
		}
		if domains := ptr.Deref(c.MinDomains, 1); domains > 1 {
			for fewer := domains - 1; fewer >= 1 && domains-fewer <= maxPerDomain; fewer-- {
				refine(fmt.Sprintf("minDomains: %d (now %d)", fewer, domains), fmt.Sprintf("%d of them will do", fewer),
					func(c *v1.TopologySpreadConstraint) { c.MinDomains = ptr.To(fewer) })
			}
		}
	}
	return all
}

// moreSkew returns the attempt that finds the smallest maxSkew that helps.
func (p *pendingPod) moreSkew(i int) attempt {
	c := &p.spec.TopologySpreadConstraints[i]
	pods := len(p.crewsBefore[p.owner].Placed) + len(p.crewsBefore[p.owner].Waiting)
	if replicas := replicasOf(p.step.State, p.owner); replicas < 1<<30 {
		pods = max(pods, replicas)
	}
	return p.attemptMost(fmt.Sprintf("a larger maxSkew in the spread over %s", c.TopologyKey), int64(c.MaxSkew)+int64(pods), int64(c.MaxSkew), func(skew int64) candidate {
		return candidate{
			change: fmt.Sprintf("maxSkew: %d (now %d) in the spread over %s", skew, c.MaxSkew, c.TopologyKey),
			edit:   p.ofConstraint(i, func(c *v1.TopologySpreadConstraint) { c.MaxSkew = int32(skew) }),
		}
	})
}

// ofConstraint returns the edit of the workload's i-th constraint.
func (p *pendingPod) ofConstraint(i int, edit func(*v1.TopologySpreadConstraint)) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		if i < len(spec.TopologySpreadConstraints) {
			edit(&spec.TopologySpreadConstraints[i])
		}
	}
}
