package explain

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	volumehelpers "k8s.io/cloud-provider/volume/helpers"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes to the pod's volumes: a label that contradicts the labels of nodes, and a claim whose volume is where the pod cannot run.

// boundVolume is a claim of the pod and its volume.
type boundVolume struct {
	claim  *v1.PersistentVolumeClaim
	volume *v1.PersistentVolume
}

func (p *pendingPod) boundVolumes() []boundVolume { return boundVolumesOf(p.step.State, p.pod) }

// boundVolumesOf returns the pod's claims that are bound to a volume.
func boundVolumesOf(state *cluster.State, pod *v1.Pod) []boundVolume {
	var all []boundVolume
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		for _, claim := range state.PersistentVolumeClaims {
			if claim.Namespace != pod.Namespace || claim.Name != v.PersistentVolumeClaim.ClaimName || claim.Spec.VolumeName == "" {
				continue
			}
			at := slices.IndexFunc(state.PersistentVolumes, func(pv *v1.PersistentVolume) bool { return pv.Name == claim.Spec.VolumeName })
			if at >= 0 {
				all = append(all, boundVolume{claim, state.PersistentVolumes[at]})
			}
		}
	}
	return all
}

// labelVolumes returns the attempts that give a volume the zone and the region of a node that its own affinity admits, if its labels
// contradict the node's.
func (p *pendingPod) labelVolumes() []attempt {
	if p.member != nil || !p.refusedBy("VolumeZone") {
		return nil
	}
	var attempts []attempt
	for _, v := range p.boundVolumes() {
		var all []candidate
		for _, node := range p.nodes {
			if volume.CheckNodeAffinity(v.volume, node.Labels) != nil {
				continue
			}
			labels := map[string]string{}
			for _, key := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion} {
				now, labelled := v.volume.Labels[key]
				if zones, err := volumehelpers.LabelZonesToSet(now); labelled && node.Labels[key] != "" && (err != nil || !zones.Has(node.Labels[key])) {
					labels[key] = node.Labels[key]
				}
			}
			change := fmt.Sprintf("label volume %s with %s, as the nodes that its affinity admits", v.volume.Name, labelsWithPresent(labels, v.volume.Labels))
			if len(labels) > 0 && len(all) < maxPerDomain && !slices.ContainsFunc(all, func(c candidate) bool { return c.change == change }) {
				all = append(all, candidate{change: change, steps: []scenario.Step{labelStep("persistentvolume/"+v.volume.Name, labels)}})
			}
		}
		attempts = append(attempts, p.attemptFirst(all)...)
	}
	return attempts
}

// labelsWithPresent lists the labels and their present values.
func labelsWithPresent(labels, now map[string]string) string {
	all := ""
	for i, pair := range pairsOf(labels) {
		if i > 0 {
			all += " and "
		}
		all += pair
	}
	for _, key := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion} {
		if _, changes := labels[key]; changes {
			all += " (now " + now[key] + ")"
		}
	}
	return all
}

// deleteClaim returns the attempts that delete a StatefulSet's pod with one of its claims, so that the controller creates both again, and the pods
// that nobody replaces and that keep the claim, such as one that somebody has started to look at the files.
func (p *pendingPod) deleteClaim() []attempt {
	if p.owner.Kind != "StatefulSet" || p.object == nil || p.member != nil || !p.refusedBy("VolumeBinding", "VolumeZone", "NodeVolumeLimits") {
		return nil
	}
	var attempts []attempt
	for _, v := range p.boundVolumes() {
		users, loose := p.looseUsersOf(v.claim)
		if !loose || v.claim.DeletionTimestamp != nil {
			continue
		}
		users.names, users.targets = append([]string{p.pod.Name}, users.names...), append([]string{"persistentvolumeclaim/" + v.claim.Name, "pod/" + p.pod.Name}, users.targets...)
		which := fmt.Sprintf("pod %s and its claim %s", p.pod.Name, v.claim.Name)
		if len(users.names) > 1 {
			which = fmt.Sprintf("pods %s and the claim %s, which they have", words.And(users.names), v.claim.Name)
		}
		anew := candidate{
			change: fmt.Sprintf("delete %s: the new claim gets a volume where the pod can run", which),
			price:  []string{"what is on volume " + v.volume.Name + " is lost"}, losesData: true,
			steps: []scenario.Step{action.Delete(p.pod.Namespace, users.targets...)}, deletes: users.refs,
		}
		all := []candidate{anew}
		for _, node := range p.roomiest(p.matchingOpenNodes()) {
			if made := localVolume(v.volume, node); made != nil {
				with := anew
				with.objects = []cluster.Object{made}
				with.change = fmt.Sprintf("create a local volume of %s on %s, and delete %s, whose new one gets the volume", v.volume.Spec.Capacity.Storage(), node.Name, which)
				all = append(all, with)
			}
		}
		attempts = append(attempts, p.attemptAs(anew.change, all)...)
	}
	return attempts
}

// addReachingNodes returns the attempts that add a node which reaches a volume of the pod that no node reaches.
func (p *pendingPod) addReachingNodes(open []*v1.Node) []attempt {
	if p.member != nil || !p.refusedBy("VolumeBinding") {
		return nil
	}
	var attempts []attempt
	for _, v := range p.boundVolumes() {
		reached := slices.ContainsFunc(p.nodes, func(node *v1.Node) bool { return volume.CheckNodeAffinity(v.volume, node.Labels) == nil })
		if reached || v.volume.Spec.NodeAffinity == nil {
			continue
		}
		labels := map[string]string{} // a new node has a name of its own
		for _, r := range v.volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions {
			if len(r.Values) > 0 {
				labels[r.Key] = r.Values[0]
			}
		}
		if labels[v1.LabelHostname] != "" || len(labels) == 0 {
			continue
		}
		c := candidate{change: fmt.Sprintf("one more node like %s with %s, which reaches volume %s", open[0].Name, words.And(pairsOf(labels)), v.volume.Name),
			steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: open[0].Name, Labels: labels}}}}
		attempts = append(attempts, p.attemptOne(c))
	}
	return attempts
}

// attachMore returns the attempts that let a node attach as many volumes of a driver as the pod has, if no node can do so even while it has no
// other.
func (p *pendingPod) attachMore() []attempt {
	if p.member != nil || !p.refusedBy("NodeVolumeLimits") {
		return nil
	}
	var attempts []attempt
	counts := cause.CountVolumes(p.step.State, p.pod)
	for _, driver := range slices.Sorted(maps.Keys(counts)) {
		asked := counts[driver]
		var all []candidate
		for _, csi := range p.step.State.CSINodes {
			of := slices.IndexFunc(csi.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
			matches := slices.ContainsFunc(p.matchingOpenNodes(), func(node *v1.Node) bool { return node.Name == csi.Name })
			if of < 0 || !matches || csi.Spec.Drivers[of].Allocatable == nil || csi.Spec.Drivers[of].Allocatable.Count == nil {
				continue
			}
			now := *csi.Spec.Drivers[of].Allocatable.Count
			if int(now) >= asked {
				return nil // an emptier node helps
			}
			more := csi.DeepCopy()
			more.Spec.Drivers[of].Allocatable.Count = ptr.To(int32(asked))
			if patch, err := patchBetween(csi, more); err == nil && patch != nil && len(all) < maxPerDomain {
				all = append(all, candidate{change: fmt.Sprintf("let %s attach %d volumes on a node like %s (now %d), by another type of machine or the driver's own limit", driver, asked, csi.Name, now),
					byHand: true, steps: []scenario.Step{{Patch: patch}}})
			}
		}
		attempts = append(attempts, p.attemptFirst(all)...)
	}
	return attempts
}

// localVolume is a volume like a local one, on another node; nil if the volume is not local.
func localVolume(like *v1.PersistentVolume, node *v1.Node) *v1.PersistentVolume {
	if like.Spec.Local == nil || node.Labels[v1.LabelHostname] == "" {
		return nil
	}
	made := &v1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: like.Name + "-" + node.Name, Labels: like.Labels}}
	like.Spec.DeepCopyInto(&made.Spec)
	made.Spec.ClaimRef = nil
	made.Spec.NodeAffinity = onlyOn(node)
	return made
}
