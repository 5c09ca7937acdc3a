package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/action"
	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Changes that give a claim without a volume one: a storage class, or a volume that somebody creates by hand.

// provideVolumes returns the attempts that let the pod's claims without a volume get one: the class that they name, a default class if they name
// none, or new volumes where nobody provisions any.
func (p *pendingPod) provideVolumes() []attempt {
	if p.member != nil || !p.refusedBy("VolumeBinding") {
		return nil
	}
	var attempts []attempt
	var byHand []*v1.PersistentVolumeClaim
	for _, claim := range p.unboundClaims() {
		attempts = slices.Concat(attempts, p.forgetNode(claim), p.labelFree(claim), p.reclassify(claim), p.freeReleased(claim), p.widenVolume(claim), p.adaptClaim(claim))
		name := volume.GetPersistentVolumeClaimClass(claim)
		class := p.storageClass(name)
		switch {
		case !volume.PersistentVolumeClaimHasClass(claim):
			attempts = append(attempts, p.makeDefault()...)
		case class == nil && name != "":
			attempts = append(attempts, p.createClass(name)...)
		case class != nil && len(class.AllowedTopologies) > 0:
			attempts = append(attempts, p.addAllowedNodes(class)...)
		case class != nil:
			attempts = append(attempts, p.enlargeStorage(claim, class)...)
		}
		if class == nil || class.Provisioner == volume.NotSupportedProvisioner {
			byHand = append(byHand, claim)
		}
	}
	for _, claim := range p.claims() {
		if claim.Spec.VolumeName != "" && claim.Status.Phase != v1.ClaimBound {
			attempts = slices.Concat(attempts, p.freeReleased(claim), p.nameNoVolume(claim))
		}
	}
	if len(byHand) == 0 {
		return attempts
	}
	var all []candidate
	for _, node := range p.roomiest(p.matchingOpenNodes()) {
		all = append(all, p.createVolumes(byHand, node))
	}
	attempts = append(attempts, p.attemptFirst(all)...)
	return attempts
}

// forgetNode returns the attempt that lets any node have the volume of the claim, where the claim is for one node.
func (p *pendingPod) forgetNode(claim *v1.PersistentVolumeClaim) []attempt {
	node := claim.Annotations[volume.AnnSelectedNode]
	if node == "" {
		return nil
	}
	return []attempt{p.attemptOne(candidate{change: fmt.Sprintf("remove the annotation %s from claim %s (now %s)", volume.AnnSelectedNode, claim.Name, node),
		steps: []scenario.Step{action.Merge(scenario.Target{Target: "persistentvolumeclaim/" + claim.Name, Namespace: claim.Namespace},
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{volume.AnnSelectedNode: nil}}})}})}
}

// labelFree returns the attempt that gives a free volume of the claim's class the labels by which the claim selects.
func (p *pendingPod) labelFree(claim *v1.PersistentVolumeClaim) []attempt {
	if claim.Spec.Selector == nil || len(claim.Spec.Selector.MatchLabels) == 0 {
		return nil
	}
	wanted := claim.Spec.Selector.MatchLabels
	var all []candidate
	for _, pv := range p.step.State.PersistentVolumes {
		same := volume.GetPersistentVolumeClass(pv) == volume.GetPersistentVolumeClaimClass(claim)
		if same && pv.Spec.ClaimRef == nil && !labels.SelectorFromSet(wanted).Matches(labels.Set(pv.Labels)) && len(all) < maxPerDomain {
			all = append(all, candidate{change: fmt.Sprintf("label volume %s with %s, by which claim %s selects", pv.Name, words.And(pairsOf(wanted)), claim.Name),
				steps: []scenario.Step{labelStep("persistentvolume/"+pv.Name, wanted)}})
		}
	}
	return p.attemptFirst(all)
}

// reclassify returns the attempt that gives a free volume of another class, or of none, the class of the claim.
func (p *pendingPod) reclassify(claim *v1.PersistentVolumeClaim) []attempt {
	class := volume.GetPersistentVolumeClaimClass(claim)
	if class == "" {
		return nil
	}
	others := cause.VolumesOfOtherClasses(p.step.State, claim)
	all := list.Map(others[:min(len(others), maxPerDomain)], func(pv *v1.PersistentVolume) candidate {
		return candidate{change: fmt.Sprintf("give volume %s the storageClassName %s of claim %s (now %s)", pv.Name, class, claim.Name, cmp.Or(volume.GetPersistentVolumeClass(pv), "none")),
			steps: []scenario.Step{patchVolume(pv, map[string]any{"storageClassName": class})}}
	})
	return p.attemptFirst(all)
}

// patchVolume returns the step that changes the spec of a volume.
func patchVolume(pv *v1.PersistentVolume, spec map[string]any) scenario.Step {
	return action.Merge(scenario.Target{Target: "persistentvolume/" + pv.Name}, map[string]any{"spec": spec})
}

// freeReleased returns the attempt that lets the claim have a volume that is kept for another claim, which does not exist.
func (p *pendingPod) freeReleased(claim *v1.PersistentVolumeClaim) []attempt {
	kept := list.Without(cause.ReleasedVolumes(p.step.State, claim), func(pv *v1.PersistentVolume) bool {
		return cause.IsAwaited(p.step.State, pv) || claim.Spec.VolumeName != "" && pv.Name != claim.Spec.VolumeName
	})
	price := []string{"claim " + claim.Name + " gets what is on it"}
	return p.attemptFirst(list.Map(kept[:min(len(kept), maxPerDomain)], func(pv *v1.PersistentVolume) candidate {
		if pv.Spec.ClaimRef.UID != "" {
			return candidate{change: fmt.Sprintf("free volume %s, which is kept for claim %s that is gone: remove its claimRef", pv.Name, pv.Spec.ClaimRef.Name), price: price,
				steps: []scenario.Step{patchVolume(pv, map[string]any{"claimRef": nil})}}
		}
		return candidate{change: fmt.Sprintf("let the claimRef of volume %s name claim %s (now %s)", pv.Name, claim.Name, cause.KeptFor(p.step.State, pv, claim)), price: price,
			steps: []scenario.Step{patchVolume(pv, map[string]any{"claimRef": map[string]any{"namespace": claim.Namespace, "name": claim.Name}})}}
	}))
}

// nameNoVolume returns the attempts that create a claim again which does not get the volume that it names: with the class of that volume, or without its
// name, so that the claim gets another.
func (p *pendingPod) nameNoVolume(claim *v1.PersistentVolumeClaim) []attempt {
	at := slices.IndexFunc(p.step.State.PersistentVolumes, func(pv *v1.PersistentVolume) bool { return pv.Name == claim.Spec.VolumeName })
	if at < 0 {
		return nil // as renewClaims says
	}
	var attempts []attempt
	pv := p.step.State.PersistentVolumes[at]
	if class, now := volume.GetPersistentVolumeClass(pv), volume.GetPersistentVolumeClaimClass(claim); class != now && pv.Spec.ClaimRef == nil {
		made := copyClaim(claim)
		made.Spec.StorageClassName, made.Spec.VolumeName = &class, pv.Name
		attempts = append(attempts, p.attemptOne(candidate{change: fmt.Sprintf("delete claim %s and create it again with storageClassName %q, as volume %s has (now %q)", claim.Name, class, pv.Name, now),
			renewed: []cluster.Object{made}}))
	}
	return append(attempts, p.attemptOne(candidate{change: fmt.Sprintf("delete claim %s and create it again without volumeName (now %s)", claim.Name, claim.Spec.VolumeName),
		price: []string{"the volume is an empty one"}, renewed: []cluster.Object{copyClaim(claim)}}))
}

// createClaims returns the attempt that creates the claims which the pod names and which are not there; nil if there are all. Nothing else helps then.
func (p *pendingPod) createClaims() []attempt {
	var missing []string
	for _, v := range p.pod.Spec.Volumes {
		of := v.PersistentVolumeClaim
		if of != nil && !slices.ContainsFunc(p.step.State.PersistentVolumeClaims, func(claim *v1.PersistentVolumeClaim) bool {
			return claim.Namespace == p.pod.Namespace && claim.Name == of.ClaimName
		}) {
			missing = append(missing, of.ClaimName)
		}
	}
	if len(missing) == 0 || p.member != nil {
		return nil
	}
	create := fmt.Sprintf("create %s %s in namespace %s", words.Pick(len(missing), "claim", "claims"), words.And(missing), p.pod.Namespace)
	claimsOf := func(class string) []cluster.Object {
		return list.Map(missing, func(name string) cluster.Object { return smallClaim(p.pod.Namespace, name, class) })
	}
	var all []candidate
	for _, class := range p.provisioningClasses() {
		all = append(all, candidate{change: create + ", of class " + class.Name, objects: claimsOf(class.Name)})
	}
	for _, node := range p.roomiest(p.matchingOpenNodes()) {
		c := candidate{change: create + ", and a volume for it on node " + node.Name, objects: claimsOf("")}
		for _, claim := range c.objects {
			c.objects = append(c.objects, volumeFor(claim.(*v1.PersistentVolumeClaim), node))
		}
		all = append(all, c)
	}
	return p.attemptAs(create, all)
}

// smallClaim returns a claim of 1Gi, of the class or, for "", of none.
func smallClaim(namespace, name, class string) *v1.PersistentVolumeClaim {
	made := &v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	made.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	made.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	made.Spec.StorageClassName = &class // none: a volume without a class
	return made
}

// unboundClaims returns the claims of the pod that have no volume.
func (p *pendingPod) unboundClaims() []*v1.PersistentVolumeClaim {
	var all []*v1.PersistentVolumeClaim
	for _, v := range p.pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		for _, claim := range p.step.State.PersistentVolumeClaims {
			if claim.Namespace == p.pod.Namespace && claim.Name == v.PersistentVolumeClaim.ClaimName && claim.Spec.VolumeName == "" {
				all = append(all, claim)
			}
		}
	}
	return all
}

// storageClass returns the class of that name; nil if there is none.
func (p *pendingPod) storageClass(name string) *storagev1.StorageClass {
	at := slices.IndexFunc(p.step.State.StorageClasses, func(class *storagev1.StorageClass) bool { return class.Name == name })
	if at < 0 {
		return nil
	}
	return p.step.State.StorageClasses[at]
}

// provisioningClasses returns the first classes whose volumes somebody provisions.
func (p *pendingPod) provisioningClasses() []*storagev1.StorageClass {
	var all []*storagev1.StorageClass
	for _, class := range p.step.State.StorageClasses {
		if class.Provisioner != volume.NotSupportedProvisioner && len(all) < maxPerDomain {
			all = append(all, class)
		}
	}
	return all
}

// makeDefault returns the attempt that makes one of the classes the default, which claims without a class then get.
func (p *pendingPod) makeDefault() []attempt {
	annotations := map[string]string{storageutil.IsDefaultStorageClassAnnotation: "true"}
	if len(p.provisioningClasses()) == 0 {
		return p.installDriver("a StorageClass that is the default", metav1.ObjectMeta{Name: "standard", Annotations: annotations})
	}
	var all []candidate
	for _, class := range p.provisioningClasses() {
		all = append(all, candidate{change: fmt.Sprintf("make StorageClass %s the default: annotate it with %s", class.Name, pairsOf(annotations)[0]),
			price: []string{"every claim without a class gets it"},
			steps: []scenario.Step{action.Merge(scenario.Target{Target: "storageclass/" + class.Name}, map[string]any{"metadata": map[string]any{"annotations": annotations}})}})
	}
	return p.attemptFirst(all)
}

// installDriver returns the attempt that brings a storage class, where nobody provisions volumes yet.
func (p *pendingPod) installDriver(with string, class metav1.ObjectMeta) []attempt {
	made := &storagev1.StorageClass{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}, ObjectMeta: class,
		Provisioner: "csi.example.com", VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}
	return []attempt{p.attemptOne(candidate{change: "install a CSI driver that provisions volumes, with " + with, byHand: true, objects: []cluster.Object{made}})}
}

// createClass returns the attempt that creates the class that the claim names, like one that is there.
func (p *pendingPod) createClass(name string) []attempt {
	if len(p.provisioningClasses()) == 0 {
		return p.installDriver("a StorageClass "+name, metav1.ObjectMeta{Name: name})
	}
	var all []candidate
	for _, like := range p.provisioningClasses() {
		made := like.DeepCopy()
		made.TypeMeta = metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}
		made.ObjectMeta = metav1.ObjectMeta{Name: name, Annotations: like.Annotations}
		all = append(all, candidate{change: fmt.Sprintf("create StorageClass %s, like %s (provisioner %s)", name, like.Name, like.Provisioner), objects: []cluster.Object{made}})
	}
	return p.attemptFirst(all)
}

// addAllowedNodes returns the attempts that add a node where the class allows volumes, like each distinct node.
func (p *pendingPod) addAllowedNodes(class *storagev1.StorageClass) []attempt {
	var all []candidate
	for _, term := range class.AllowedTopologies {
		labels := map[string]string{}
		for _, r := range term.MatchLabelExpressions {
			if len(r.Values) > 0 {
				labels[r.Key] = r.Values[0]
			}
		}
		for _, node := range p.different(p.matchingOpenNodes()) {
			if len(all) < maxPerKind {
				all = append(all, candidate{change: fmt.Sprintf("one more node like %s with %s, where class %s allows volumes", node.Name, words.And(pairsOf(labels)), class.Name),
					steps: []scenario.Step{{AddNodes: &scenario.AddNodes{Count: 1, Like: node.Name, Labels: labels}}}})
			}
		}
	}
	return p.attemptFirst(all)
}

// enlargeStorage returns the attempt that gives the storage of a node as much room as the claim asks for, where the class has less on each node.
func (p *pendingPod) enlargeStorage(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass) []attempt {
	asked, nodes := claim.Spec.Resources.Requests.Storage(), p.matchingOpenNodes()
	var all []candidate
	for _, capacity := range p.step.State.CSIStorageCapacities {
		selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
		if err != nil || capacity.StorageClassName != class.Name || capacity.Capacity == nil || len(all) == maxPerDomain {
			continue
		}
		at := slices.IndexFunc(nodes, func(node *v1.Node) bool { return selector.Matches(labels.Set(node.Labels)) })
		if at < 0 || capacity.Capacity.Cmp(*asked) >= 0 {
			continue
		}
		larger := capacity.DeepCopy()
		larger.Capacity, larger.MaximumVolumeSize = asked, nil
		if patch, err := patchBetween(capacity, larger); err == nil && patch != nil {
			all = append(all, candidate{change: fmt.Sprintf("give the storage of class %s on node %s room for %s (now %s), as its CSIStorageCapacity then says",
				class.Name, nodes[at].Name, asked, capacity.Capacity), byHand: true, steps: []scenario.Step{{Patch: patch}}})
		}
	}
	return p.attemptFirst(all)
}

// createVolumes returns the change that creates a volume on the node for each of the claims.
func (p *pendingPod) createVolumes(claims []*v1.PersistentVolumeClaim, node *v1.Node) candidate {
	c := candidate{}
	var says []string
	for _, claim := range claims {
		c.objects = append(c.objects, volumeFor(claim, node))
		says = append(says, fmt.Sprintf("of %s for claim %s", claim.Spec.Resources.Requests.Storage(), claim.Name))
	}
	c.change = fmt.Sprintf("create %s on node %s: %s", words.Pick(len(says), "a local volume", "local volumes"), node.Name, strings.Join(says, ", "))
	return c
}

// volumeFor returns a local volume of the node that suits the claim.
func volumeFor(claim *v1.PersistentVolumeClaim, node *v1.Node) *v1.PersistentVolume {
	made := &v1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: claim.Name + "-" + node.Name}}
	if claim.Spec.Selector != nil {
		made.Labels = claim.Spec.Selector.MatchLabels
	}
	made.Spec = v1.PersistentVolumeSpec{
		Capacity:               v1.ResourceList{v1.ResourceStorage: *claim.Spec.Resources.Requests.Storage()},
		AccessModes:            claim.Spec.AccessModes,
		StorageClassName:       volume.GetPersistentVolumeClaimClass(claim),
		VolumeMode:             claim.Spec.VolumeMode,
		PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/mnt/" + claim.Name}},
		NodeAffinity:           onlyOn(node),
	}
	return made
}

// onlyOn is the affinity of a volume that only the node reaches.
func onlyOn(node *v1.Node) *v1.VolumeNodeAffinity {
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node.Labels[v1.LabelHostname]}}}}}}}
}
