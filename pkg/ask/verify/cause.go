package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// Class is the possible cause of a divergence. The checks run in this order, and the first that holds is reported; see docs/verify.md.
type Class string

const (
	// SameSecond: at another position among the pods of its second, the pod's node is among the best.
	SameSecond Class = "same second"
	// LaterChange: the pod's node is among the best without the node's taints, without the pod's node affinity, or without the images on the
	// nodes.
	LaterChange Class = "later change"
	// MissingObject: the pod's node is among the best with a stand-in for an object that the dump lacks: the pod's owner, or its volumes,
	// which can also keep the pod off better nodes.
	MissingObject Class = "missing object"
	// Sampling: the pod's node is among the best if the search for feasible nodes begins at a certain node, and ends when it has found enough.
	Sampling Class = "sampling"
	// DeletedPods: the pod's node is among the best by the scores of the plugins that do not depend on the running pods.
	DeletedPods Class = "deleted pods"
	// NotUsable: the pod's node is among the best without the better nodes, and no source says that these were usable at that time.
	NotUsable Class = "may not have been usable"
	// Configuration: the pod's node is among the best without the score of one plugin.
	Configuration Class = "configuration"
	// Unexplained: no check holds.
	Unexplained Class = "unexplained"
)

// causeSearch searches for the possible cause of one divergence.
type causeSearch struct {
	*replay
	*podLife
	ranking   *ranking
	placement *Placement
	// earlier are the pods of earlier groups. bound are the pods that were placed before the pod, with those of its own group. remaining are
	// the other pods of its group.
	earlier, bound, remaining []*podLife
	endCount                  int
	state                     *cluster.State // the cluster just before the pod was placed
	attemptsSpent             bool           // the search for an order ended before it had tried all orders
}

// stateBefore returns the cluster just before the pod was placed.
func (c *causeSearch) stateBefore() *cluster.State { return c.state }

// findCause runs the checks and sets the first class that holds.
func (c *causeSearch) findCause() error {
	var err error
	if c.state, err = c.clusterAt(clusterMoment{c.moment(), c.endCount}, c.bound, c.pod); err != nil {
		return err
	}
	c.placement.Divergence = c.ranking.newDivergence(c.placement, c.ownerOf(c.pod))
	for _, check := range []struct {
		class Class
		run   func() (string, error)
	}{
		{SameSecond, c.checkSameSecond}, {LaterChange, c.checkLaterChange}, {MissingObject, c.checkMissingObject}, {Sampling, c.checkSampling},
		{DeletedPods, c.checkDeletedPods}, {NotUsable, c.checkNotUsable}, {SameSecond, c.checkOtherOrder}, {Configuration, c.checkConfiguration},
	} {
		if check.class == NotUsable && c.opts.Judge != nil {
			continue // the follower knows all changes of the nodes
		}
		found, err := check.run()
		if err != nil {
			return err
		}
		if found != "" {
			c.placement.Divergence.setCause(check.class, found)
			return nil
		}
	}
	c.placement.Divergence.setCause(Unexplained, "none of the checks explains it")
	return nil
}

// isBestOn schedules the pod on the state and reports whether the pod's real node is among the best.
func (c *causeSearch) isBestOn(state *cluster.State, pod *v1.Pod) (bool, error) {
	seen, err := c.replay.rankNodes(state, pod)
	return err == nil && seen.isBest(c.node), err
}

// checkSameSecond tries the pod before and after the other pods of its second. Pods on the same node that the scheduler cannot distinguish stay
// where they are, because swapping them has no effect.
func (c *causeSearch) checkSameSecond() (string, error) {
	same := func(other *podLife) bool {
		return alikeUID(other.running) == alikeUID(c.running) && other.node == c.node
	}
	between, others := slices.Clone(c.bound[len(c.earlier):]), slices.DeleteFunc(slices.Clone(c.remaining), same)
	first := slices.DeleteFunc(between, func(other *podLife) bool { return !same(other) })
	gone := c.endCount
	for _, other := range others {
		gone = max(gone, other.endsBefore)
	}
	for _, try := range []struct {
		bound, then []*podLife
		ends        int
		words       string
	}{{c.earlier, first, c.endCount, "before"}, {c.bound, others, gone, "after"}} {
		if len(try.bound)+len(try.then) == len(c.bound) {
			continue
		}
		state, err := c.clusterAt(clusterMoment{c.moment(), try.ends}, slices.Concat(try.bound, try.then), c.pod)
		if err != nil {
			return "", err
		}
		best, err := c.isBestOn(state, c.pod)
		if best || err != nil {
			return try.words + " the others of its second it is among the best: the order within a second is not known", err
		}
	}
	return "", nil
}

func (c *causeSearch) checkLaterChange() (string, error) {
	state := c.stateBefore()
	node := state.Node(c.node)
	inferred := c.opts.Judge == nil // a follower knows everything but the images that nodes pull
	if inferred && (node.Spec.Unschedulable || len(node.Spec.Taints) > 0) {
		open := node.DeepCopy()
		open.Spec.Unschedulable, open.Spec.Taints = false, nil
		if best, err := c.isBestOn(state.With(open), c.pod); best || err != nil {
			return "without the taints of " + node.Name + " it is among the best: they could have come later", err
		}
	}
	if refusal := c.placement.Divergence.refusal; inferred && refusal != nil && refusal.Plugin == "NodeAffinity" {
		anywhere := c.pod.DeepCopy()
		anywhere.Spec.NodeSelector = nil
		if a := anywhere.Spec.Affinity; a != nil && a.NodeAffinity != nil {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		if best, err := c.isBestOn(state, anywhere); best || err != nil {
			return "without the pod's node selector and required node affinity " + node.Name + " is among the best: its labels could have been others then", err
		}
	}
	if c.ranking.isBestWithout("ImageLocality", c.node) {
		return "without ImageLocality it is among the best: the images on the nodes are those of now", nil
	}
	return "", nil
}

func (c *causeSearch) checkMissingObject() (string, error) {
	state := c.stateBefore()
	if owner := c.makeUpOwner(); owner != nil {
		ref := metav1.GetControllerOfNoCopy(c.pod)
		if best, err := c.isBestOn(state.With(owner), c.pod); best || err != nil {
			return fmt.Sprintf("with %s/%s, which is not in the dump and by which pods are spread, it is among the best", strings.ToLower(ref.Kind), ref.Name), err
		}
	}
	if missing := c.missingVolumes(c.pod); len(missing) > 0 {
		bare := c.pod.DeepCopy()
		bare.Spec.Volumes = slices.DeleteFunc(bare.Spec.Volumes, func(v v1.Volume) bool { return missing[v.Name] != "" })
		seen, err := c.replay.rankNodes(state, bare)
		if err != nil {
			return "", err
		}
		lacks := strings.Join(slices.Compact(slices.Sorted(maps.Values(missing))), ", ")
		switch {
		case seen.isBest(c.node):
			return "without its volumes it is among the best, and the dump lacks " + lacks, nil
		case seen.feasibleIndex(c.node) >= 0:
			return "without its volumes it fits there, and the dump lacks " + lacks + ": a volume can be one that no better node reaches", nil
		}
	}
	return "", nil
}

// makeUpOwner makes up the pod's ReplicaSet or StatefulSet if the dump lacks it. The scheduler spreads pods without spread constraints by
// the selector of that object. The pod's labels stand for the selector, which is unknown.
func (c *causeSearch) makeUpOwner() cluster.Object {
	ref := metav1.GetControllerOfNoCopy(c.pod)
	if ref == nil || len(c.pod.Spec.TopologySpreadConstraints) > 0 {
		return nil
	}
	labels := maps.Clone(c.pod.Labels)
	delete(labels, appsv1.StatefulSetPodNameLabel)
	delete(labels, appsv1.PodIndexLabel)
	meta := metav1.ObjectMeta{Namespace: c.pod.Namespace, Name: ref.Name, UID: ref.UID}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	if c.owners[cluster.Ref{Kind: ref.Kind, Namespace: meta.Namespace, Name: ref.Name}] {
		return nil
	}
	switch ref.Kind {
	case "ReplicaSet":
		return &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector}}
	case "StatefulSet":
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector}}
	}
	return nil
}

// selectorOwners returns the objects of the state by whose selectors the scheduler spreads pods.
func selectorOwners(state *cluster.State) map[cluster.Ref]bool {
	owners := map[cluster.Ref]bool{}
	for _, set := range state.ReplicaSets {
		owners[cluster.RefTo(set)] = true
	}
	for _, set := range state.StatefulSets {
		owners[cluster.RefTo(set)] = true
	}
	return owners
}

// missingVolumes maps the names of the pod's volumes to the object that the dump lacks for them. An object that the loader has assumed
// counts as missing.
func (r *replay) missingVolumes(pod *v1.Pod) map[string]string {
	missing := map[string]string{}
	for _, volume := range pod.Spec.Volumes {
		var name string
		switch {
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		case volume.Ephemeral != nil:
			name = pod.Name + "-" + volume.Name
		default:
			continue
		}
		at := slices.IndexFunc(r.State.PersistentVolumeClaims, func(p *v1.PersistentVolumeClaim) bool {
			return p.Namespace == pod.Namespace && p.Name == name && !cluster.IsAssumed(p)
		})
		if at < 0 {
			missing[volume.Name] = "persistentvolumeclaim/" + name
			continue
		}
		claim := r.State.PersistentVolumeClaims[at]
		bound := slices.ContainsFunc(r.State.PersistentVolumes, func(p *v1.PersistentVolume) bool {
			return p.Name == claim.Spec.VolumeName && !cluster.IsAssumed(p)
		})
		if claim.Spec.VolumeName != "" && !bound {
			missing[volume.Name] = "persistentvolume/" + claim.Spec.VolumeName
		}
	}
	return missing
}

// assumesVolumes reports whether the loader has assumed a claim of the pod, or the volume of such a claim.
func (r *replay) assumesVolumes(pod *v1.Pod) bool {
	names := map[string]bool{}
	for _, volume := range pod.Spec.Volumes {
		switch {
		case volume.PersistentVolumeClaim != nil:
			names[volume.PersistentVolumeClaim.ClaimName] = true
		case volume.Ephemeral != nil:
			names[pod.Name+"-"+volume.Name] = true
		}
	}
	return len(names) > 0 && slices.ContainsFunc(r.State.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) bool {
		return claim.Namespace == pod.Namespace && names[claim.Name] && (cluster.IsAssumed(claim) ||
			slices.ContainsFunc(r.State.PersistentVolumes, func(p *v1.PersistentVolume) bool { return p.Name == claim.Spec.VolumeName && cluster.IsAssumed(p) }))
	})
}

// podDependentPlugins are the plugins whose scores depend on the running pods.
var podDependentPlugins = []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread", "InterPodAffinity"}

// checkDeletedPods compares the scores that do not depend on pods. If pods keep this pod off its node by a rule, the check first drops such
// rules. If all pods that came and went are recorded, only the pods with an unknown end or spec can be the cause.
func (c *causeSearch) checkDeletedPods() (string, error) {
	others := "others, deleted since, could have been there"
	if c.historyComplete {
		workloads := map[string]bool{}
		for l, group := range c.unknownByLife {
			if l.at.Before(c.at) && c.endCount <= l.endsUntilGone {
				workloads[group.workload.String()] = true
			}
		}
		if len(workloads) == 0 {
			return "", nil
		}
		others = "nobody has recorded what the pods of " + strings.Join(slices.Sorted(maps.Keys(workloads)), ", ") + " were like, or when they were gone"
	}
	seen := c.ranking
	if refusal := c.placement.Divergence.refusal; refusal != nil {
		free := withoutRules(c.pod, refusal.Plugin)
		if free == nil {
			return "", nil
		}
		var err error
		if seen, err = c.replay.rankNodes(c.stateBefore(), free); err != nil {
			return "", err
		}
	}
	node := seen.feasibleIndex(c.node)
	if node < 0 {
		return "", nil
	}
	apart := seen.totalsWithout(podDependentPlugins...)
	switch {
	case apart[node] < slices.Max(apart):
		return "", nil
	case c.placement.Divergence.refusal != nil:
		return "only the pods that are known keep it from being among the best: " + others, nil
	}
	return "the better nodes are ahead only by scores that depend on the pods which ran: " + others, nil
}

// checkNotUsable tries without the better nodes, unless they were certainly usable. If the pod's node is rejected, other changes can have
// happened as well: the check then also drops the taints or the rules that the earlier checks drop alone.
func (c *causeSearch) checkNotUsable() (string, error) {
	state, pod := c.stateBefore(), c.pod
	var changes []string
	watched := c.hasAuditedNodes(c.podLife)
	if node := state.Node(c.node); !watched && len(node.Spec.Taints) > 0 {
		open := node.DeepCopy()
		open.Spec.Unschedulable, open.Spec.Taints = false, nil
		state, changes = state.With(open), []string{"the taints of " + node.Name}
	}
	seen, err := c.replay.rankNodes(state, pod)
	if err != nil {
		return "", err
	}
	for range 2 { // once for a spread constraint, and once for an affinity
		refusal := seen.refusal(c.node)
		if seen.feasibleIndex(c.node) >= 0 || c.historyComplete {
			break
		}
		free := withoutRules(pod, refusal.Plugin)
		if free == nil {
			break
		}
		pod, changes = free, append(changes, "the rules of "+refusal.Plugin)
		if seen, err = c.replay.rankNodes(state, pod); err != nil {
			return "", err
		}
	}
	mine := seen.feasibleIndex(c.node)
	if mine < 0 {
		return "", nil
	}
	used, apart := c.usedNodes(), seen.totalsWithout(podDependentPlugins...)
	without := map[string]bool{}
	for i, node := range seen.points.Nodes {
		if seen.points.Totals[i] > seen.points.Totals[mine] {
			avoided := !used[node] && (!watched || c.preemptedOn(node))
			without[node] = avoided || !c.historyComplete && apart[i] <= apart[mine] // or pods that are gone were on the node
		}
	}
	left := *state
	left.Nodes = slices.Clone(left.Nodes)
	for i, node := range left.Nodes {
		if without[node.Name] {
			left.Nodes[i] = c.fillNode(node)
		}
	}
	best, err := c.isBestOn(&left, pod)
	if !best || err != nil {
		return "", err
	}
	changes = append(changes, "the better nodes")
	return "without " + words.And(changes) + " it is among the best: nothing says that it was not so", nil
}

// usedNodes returns the nodes that got a pod which tolerates no NoSchedule taint in the same second: they were usable.
func (c *causeSearch) usedNodes() map[string]bool {
	used := map[string]bool{}
	second := c.at.Truncate(time.Second)
	for _, other := range slices.Concat(c.bound, c.remaining) {
		if other.at.Truncate(time.Second).Equal(second) && !other.skipped && other.pod != nil &&
			!tolerates(other.pod.Spec.Tolerations, func(string) bool { return true }) {
			used[other.node] = true
		}
	}
	return used
}

// preemptedOn reports whether pods were preempted on the node just before, so that an unknown pod may have been waiting for their room.
func (c *causeSearch) preemptedOn(node string) bool {
	return slices.ContainsFunc(c.past.lives, func(l *podLife) bool {
		return l.node == node && l.preempted && l.preemptor == "" && l.gone != nil && !l.gone.lo.After(c.hi) && c.lo.Sub(l.gone.at) < maxNominationWait
	})
}

// withoutRules returns the pod without its required rules about other pods that the plugin enforces, or nil if the plugin enforces none.
func withoutRules(pod *v1.Pod, plugin string) *v1.Pod {
	free := pod.DeepCopy()
	switch a := free.Spec.Affinity; {
	case plugin == "PodTopologySpread":
		free.Spec.TopologySpreadConstraints = slices.DeleteFunc(free.Spec.TopologySpreadConstraints, func(t v1.TopologySpreadConstraint) bool {
			return t.WhenUnsatisfiable == v1.DoNotSchedule
		})
	case plugin == "InterPodAffinity" && a != nil && a.PodAffinity != nil:
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	default:
		return nil
	}
	return free
}

// checkOtherOrder finds another pod of the same second on a better node if the search for an order ended before it had tried all orders.
func (c *causeSearch) checkOtherOrder() (string, error) {
	mine := c.ranking.feasibleIndex(c.node)
	if mine < 0 || !c.attemptsSpent {
		return "", nil
	}
	for _, other := range slices.Concat(c.bound[len(c.earlier):], c.remaining) {
		if better := c.ranking.feasibleIndex(other.node); better >= 0 && c.ranking.points.Totals[better] > c.ranking.points.Totals[mine] {
			return "others of its second came to a better node, and not all orders were tried", nil
		}
	}
	return "", nil
}

func (c *causeSearch) checkConfiguration() (string, error) {
	if c.ranking.feasibleIndex(c.node) < 0 {
		return "", nil
	}
	for _, plugin := range c.ranking.points.Plugins {
		if c.ranking.isBestWithout(plugin, c.node) {
			return "without the score of " + plugin + " it is among the best: the scheduler could be configured otherwise", nil
		}
	}
	return "", nil
}
