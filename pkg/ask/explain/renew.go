package explain

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes that bring a claim and a volume together of which one is not as the other asks. What a claim asks for cannot change, so that the claim is
// deleted and created again.

// copyClaim returns the claim as its user would write it again, without a volume.
func copyClaim(claim *v1.PersistentVolumeClaim) *v1.PersistentVolumeClaim {
	made := &v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Namespace: claim.Namespace, Labels: claim.Labels}}
	claim.Spec.DeepCopyInto(&made.Spec)
	made.Spec.VolumeName = ""
	return made
}

// freeVolumes returns the volumes that name no claim.
func (p *pendingPod) freeVolumes() []*v1.PersistentVolume {
	return list.Where(p.step.State.PersistentVolumes, func(pv *v1.PersistentVolume) bool { return pv.Spec.ClaimRef == nil })
}

// widenVolume returns the attempt that lets a free volume of the claim's class have the access modes that the claim asks for.
func (p *pendingPod) widenVolume(claim *v1.PersistentVolumeClaim) []attempt {
	var all []candidate
	for _, pv := range p.freeVolumes() {
		if volume.CheckAccessModes(claim, pv) || volume.GetPersistentVolumeClass(pv) != volume.GetPersistentVolumeClaimClass(claim) || len(all) == maxPerDomain {
			continue
		}
		modes := slices.Clone(pv.Spec.AccessModes)
		for _, mode := range claim.Spec.AccessModes {
			if !slices.Contains(modes, mode) {
				modes = append(modes, mode)
			}
		}
		all = append(all, candidate{change: fmt.Sprintf("give volume %s the access modes %s (now %s), as claim %s asks", pv.Name, cause.ModesText(modes), cause.ModesText(pv.Spec.AccessModes), claim.Name),
			price: []string{"its storage has to support that"}, steps: []scenario.Step{patchVolume(pv, map[string]any{"accessModes": modes})}})
	}
	return p.attemptFirst(all)
}

// adaptClaim returns the attempt that lets the claim ask for what a free volume has: less room, other access modes or, if the claim has no class, the class
// of the volume. The volume from which the claim differs least comes first.
func (p *pendingPod) adaptClaim(claim *v1.PersistentVolumeClaim) []attempt {
	type adapted struct {
		candidate
		differs int
	}
	var all []adapted
	for _, pv := range p.freeVolumes() {
		made, says := adaptClaimTo(claim, pv)
		if len(says) == 0 || volume.GetPersistentVolumeClass(pv) != volume.GetPersistentVolumeClaimClass(made) {
			continue
		}
		all = append(all, adapted{candidate{change: fmt.Sprintf("delete claim %s and create it again with %s, as volume %s has", claim.Name, words.And(says), pv.Name), renewed: []cluster.Object{made}}, len(says)})
	}
	slices.SortStableFunc(all, func(a, b adapted) int { return cmp.Compare(a.differs, b.differs) })
	return p.attemptFirst(list.Map(all[:min(len(all), maxPerDomain)], func(a adapted) candidate { return a.candidate }))
}

// adaptClaimTo returns the claim as the volume suits it, and what changes, with what it asks for now.
func adaptClaimTo(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) (made *v1.PersistentVolumeClaim, says []string) {
	made = copyClaim(claim)
	if asked, size := claim.Spec.Resources.Requests.Storage(), pv.Spec.Capacity.Storage(); size.Cmp(*asked) < 0 {
		made.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: *size}
		says = append(says, fmt.Sprintf("a size of %s (now %s)", size, asked))
	}
	if !volume.CheckAccessModes(claim, pv) {
		made.Spec.AccessModes = pv.Spec.AccessModes
		says = append(says, fmt.Sprintf("the access modes %s (now %s)", cause.ModesText(pv.Spec.AccessModes), cause.ModesText(claim.Spec.AccessModes)))
	}
	if class := volume.GetPersistentVolumeClass(pv); class != "" && volume.GetPersistentVolumeClaimClass(claim) == "" {
		made.Spec.StorageClassName = &class
		says = append(says, fmt.Sprintf("storageClassName %s (now none)", class))
	}
	return made, says
}

// renewClaims returns the attempts that delete a claim and create it again: one that is being deleted, whose volume does not exist, or whose volume is where
// the volumes of the pod's other claims are not. A claim that another pod of a controller has on a node stays; other pods that have it are deleted, too.
func (p *pendingPod) renewClaims() []attempt {
	if p.member != nil || !p.refusedBy("VolumeBinding", "VolumeZone") {
		return nil
	}
	bound := p.boundVolumes()
	var attempts []attempt
	for _, claim := range p.claims() {
		users, loose := p.looseUsersOf(claim)
		if !loose || len(users.names) > 0 && claim.DeletionTimestamp == nil {
			continue
		}
		c := candidate{change: fmt.Sprintf("delete claim %s and create it again", claim.Name), renewed: []cluster.Object{copyClaim(claim)}}
		at := slices.IndexFunc(bound, func(b boundVolume) bool { return b.claim == claim })
		switch {
		case claim.DeletionTimestamp != nil:
			c.change = fmt.Sprintf("create claim %s again, once the present one is gone", claim.Name)
			switch {
			case len(users.names) > 0 && p.owner.Kind == "StatefulSet":
				c = candidate{change: fmt.Sprintf("delete %s, so that claim %s goes: its StatefulSet creates a new one", users.text(), claim.Name)}
			case len(users.names) > 0:
				c.change = fmt.Sprintf("delete %s, so that claim %s goes, and create the claim again", users.text(), claim.Name)
			}
			if len(users.names) > 0 && claim.Spec.VolumeName != "" {
				c.price, c.losesData = []string{"what is on volume " + claim.Spec.VolumeName + " is lost"}, true
			}
			if kept := foreignFinalizers(claim); len(kept) > 0 {
				c.change = fmt.Sprintf("remove the %s %s of claim %s, which then is gone, and create it again", words.Pick(len(kept), "finalizer", "finalizers"), words.And(kept), claim.Name)
				c.price = append(c.price, "whoever set it has not done its work")
				c.steps = []scenario.Step{action.Merge(action.Target(cluster.RefTo(claim)), map[string]any{"metadata": map[string]any{"finalizers": nil}})}
			}
		case claim.Spec.VolumeName == "":
			continue
		case at < 0:
			c.change += fmt.Sprintf(": its volume %s does not exist", claim.Spec.VolumeName)
			c.price = []string{"what was on the volume is lost"}
		case p.owner.Kind != "StatefulSet" && p.isApart(bound, at):
			class := p.storageClass(volume.GetPersistentVolumeClaimClass(claim))
			c.change += ": the new one gets a volume where the pod's other volumes are"
			if waits := p.waitingClass(); !isDelayed(class) && waits == nil {
				continue // its class makes the volume at once, in a zone of the provisioner's choice
			} else if !isDelayed(class) {
				made := copyClaim(claim)
				made.Spec.StorageClassName = &waits.Name
				c.renewed = []cluster.Object{made}
				c.change = fmt.Sprintf("delete claim %s and create it again with the class %s, which waits for the pod (now %s, which makes a volume at once, in any zone)", claim.Name, waits.Name, class.Name)
			}
			c.price, c.losesData = []string{"what is on volume " + bound[at].volume.Name + " is lost"}, true
		default:
			continue
		}
		if len(users.names) > 0 {
			c.steps, c.deletes = append(c.steps, action.Delete(claim.Namespace, users.targets...)), users.refs
		}
		attempts = append(attempts, p.attemptOne(c))
	}
	return attempts
}

// isDelayed reports whether volumes of the class are made only once the scheduler has selected a node for the pod.
func isDelayed(class *storagev1.StorageClass) bool {
	return class == nil || class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// waitingClass returns the first class whose volumes are made for the pod's node; nil if there is none.
func (p *pendingPod) waitingClass() *storagev1.StorageClass {
	all := p.provisioningClasses()
	if at := slices.IndexFunc(all, isDelayed); at >= 0 {
		return all[at]
	}
	return nil
}

// foreignFinalizers returns the finalizers of a claim besides Kubernetes' own, which goes when no pod has the claim.
func foreignFinalizers(claim *v1.PersistentVolumeClaim) []string {
	return list.Without(claim.Finalizers, func(name string) bool { return name == cluster.ClaimProtection })
}

// isApart reports whether nodes reach all of the volumes but the one, and no node reaches all.
func (p *pendingPod) isApart(bound []boundVolume, one int) bool {
	others := slices.Delete(slices.Clone(bound), one, one+1)
	reached := func(all []boundVolume) bool {
		return slices.ContainsFunc(p.nodes, func(node *v1.Node) bool {
			return !slices.ContainsFunc(all, func(b boundVolume) bool { return volume.CheckNodeAffinity(b.volume, node.Labels) != nil })
		})
	}
	return len(others) > 0 && reached(others) && !reached(bound)
}

// claims returns the claims of the pod's volumes that exist.
func (p *pendingPod) claims() []*v1.PersistentVolumeClaim {
	var all []*v1.PersistentVolumeClaim
	for _, v := range p.pod.Spec.Volumes {
		for _, claim := range p.step.State.PersistentVolumeClaims {
			if v.PersistentVolumeClaim != nil && claim.Namespace == p.pod.Namespace && claim.Name == v.PersistentVolumeClaim.ClaimName {
				all = append(all, claim)
			}
		}
	}
	return all
}

// claimUsers are the pods with a node that have a claim, and as targets of a step. A claim that is deleted stays as long as they do.
type claimUsers struct {
	names, targets []string
	refs           []cluster.Ref
}

// text returns, for example, "pod inspector" or "pods a and b".
func (u claimUsers) text() string {
	return words.Pick(len(u.names), "pod ", "pods ") + words.And(u.names)
}

// looseUsersOf returns the pods with a node that have the claim, and false if a controller would replace one of them.
func (p *pendingPod) looseUsersOf(claim *v1.PersistentVolumeClaim) (users claimUsers, loose bool) {
	for _, pod := range p.step.State.Pods {
		switch {
		case pod.Spec.NodeName == "" || cluster.IsTerminal(pod) || !cluster.HasClaim(pod, claim):
			continue
		case metav1.GetControllerOfNoCopy(pod) != nil:
			return claimUsers{}, false
		}
		users.names, users.targets, users.refs = append(users.names, pod.Name), append(users.targets, "pod/"+pod.Name), append(users.refs, cluster.RefTo(pod))
	}
	return users, true
}
