package cause

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Volume is a claim of the pod that keeps it off nodes.
type Volume struct {
	// Claim is the name of the claim, and Volume the name of the volume to which it is bound; empty if it is not bound.
	Claim  string `json:"claim"`
	Volume string `json:"volume,omitempty"`
	// Class and Asked are the storage class and the size that an unbound claim asks for.
	Class string `json:"class,omitempty"`
	Asked string `json:"asked,omitempty"`
	// SelectedNode is the node that alone may get the volume of an unbound claim, by the claim's annotation volume.kubernetes.io/selected-node.
	SelectedNode string `json:"selectedNode,omitempty"`
	// Allowed are the labels of the nodes to which the storage class of an unbound claim limits volumes.
	Allowed []string `json:"allowed,omitempty"`
	// Wants are the labels that a node needs to reach the volume, and Reached the nodes that have them, by the reason why they take no pod.
	Wants   []string  `json:"wants,omitempty"`
	Reached []Blocked `json:"reached,omitempty"`
	// Has are the values of these labels on the refused nodes.
	Has []string `json:"has,omitempty"`
	// UsedBy are the pods that use the claim, which only one pod may use at a time.
	UsedBy []LocatedPod `json:"usedBy,omitempty"`
	// Free are the volumes of the class that have no claim, each with why it does not suit.
	Free []FreeVolume `json:"free,omitempty"`
	// Released are the volumes of the class that are kept for claims which are gone, each with that claim.
	Released []FreeVolume `json:"released,omitempty"`
	// OtherClasses are free volumes that suit the claim but for their class, if none of its class is free.
	OtherClasses []FreeVolume `json:"otherClasses,omitempty"`
	// Limit is the number of volumes of the driver that the node can attach, and Attached the number that it has.
	Driver   string `json:"driver,omitempty"`
	Node     string `json:"node,omitempty"`
	Limit    int32  `json:"limit,omitempty"`
	Attached int    `json:"attached,omitempty"`
}

// FreeVolume is a volume without a claim, and why it is not for the claim.
type FreeVolume struct {
	Volume string `json:"volume"`
	Why    string `json:"why"`
}

// unfit says why a volume of the class is not for the claim, as FindMatchingVolume in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go does, or which nodes reach it.
func (v *view) unfit(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) string {
	if why := misfit(pv, claim); why != "" {
		return why
	}
	reached := v.blockedNodes(func(node *v1.Node) bool { return storagehelpers.CheckNodeAffinity(pv, node.Labels) == nil })
	if len(reached) == 0 {
		return "is on a node that is not there"
	}
	return "is on " + strings.Join(list.Map(reached, func(b Blocked) string { return words.Few(b.Nodes) + " (" + b.Why + ")" }), "; ")
}

// misfit says what of the volume itself is not as the claim asks; "" if all is.
func misfit(pv *v1.PersistentVolume, claim *v1.PersistentVolumeClaim) string {
	size, asked := pv.Spec.Capacity.Storage(), claim.Spec.Resources.Requests.Storage()
	selector, err := metav1.LabelSelectorAsSelector(claim.Spec.Selector)
	switch {
	case size.Cmp(*asked) < 0:
		return "has " + size.String()
	case storagehelpers.CheckVolumeModeMismatches(&claim.Spec, &pv.Spec):
		return fmt.Sprintf("has volumeMode %s", ptr.Deref(pv.Spec.VolumeMode, v1.PersistentVolumeFilesystem))
	case !storagehelpers.CheckAccessModes(claim, pv):
		return fmt.Sprintf("is %s, and the claim asks for %s", ModesText(pv.Spec.AccessModes), ModesText(claim.Spec.AccessModes))
	case claim.Spec.Selector != nil && err == nil && !selector.Matches(labels.Set(pv.Labels)):
		return fmt.Sprintf("has %s, and the claim selects %s", words.And(otherLabels(claim.Spec.Selector, pv.Labels)), selector)
	}
	return ""
}

// ModesText names the access modes, for example, "ReadWriteOnce and ReadOnlyMany".
func ModesText(modes []v1.PersistentVolumeAccessMode) string {
	return words.And(list.Map(modes, func(m v1.PersistentVolumeAccessMode) string { return string(m) }))
}

// otherLabels returns the labels that there are of the keys by which the selector chooses, where they have other values, such as tier=gold, or "no tier".
func otherLabels(selector *metav1.LabelSelector, has map[string]string) []string {
	keys := slices.Collect(maps.Keys(selector.MatchLabels))
	for _, r := range selector.MatchExpressions {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	var others []string
	for _, key := range slices.Compact(keys) {
		switch value, labelled := has[key]; {
		case !labelled:
			others = append(others, "no "+key)
		case value != selector.MatchLabels[key]:
			others = append(others, key+"="+value)
		}
	}
	return others
}

// claimsOf returns the claims of the pod, in the order of its volumes; an object is nil if no claim has the name.
func (v *view) claimsOf(pod *v1.Pod) (names []string, claims []*v1.PersistentVolumeClaim) {
	names = cluster.ClaimNames(pod)
	for _, name := range names {
		at := slices.IndexFunc(v.state.PersistentVolumeClaims, func(c *v1.PersistentVolumeClaim) bool { return c.Namespace == pod.Namespace && c.Name == name })
		var claim *v1.PersistentVolumeClaim
		if at >= 0 {
			claim = v.state.PersistentVolumeClaims[at]
		}
		claims = append(claims, claim)
	}
	return names, claims
}

// unreachedClaims returns the claims of the pod whose volumes the node does not reach.
func (v *view) unreachedClaims(node *v1.Node) []string {
	var away []string
	names, claims := v.claimsOf(v.pod)
	for i, claim := range claims {
		if pv := v.volumeOf(claim); pv != nil && storagehelpers.CheckNodeAffinity(pv, node.Labels) != nil {
			away = append(away, names[i])
		}
	}
	return away
}

func (v *view) volumeOf(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	if claim == nil || claim.Spec.VolumeName == "" {
		return nil
	}
	at := slices.IndexFunc(v.state.PersistentVolumes, func(pv *v1.PersistentVolume) bool { return pv.Name == claim.Spec.VolumeName })
	if at < 0 {
		return nil
	}
	return v.state.PersistentVolumes[at]
}

// volumeBindings returns why VolumeBinding refuses the nodes. For each bound claim of the pod: the nodes that do not reach its volume. For
// each claim that is not bound: that it finds no volume, or no room for one, on the nodes.
func volumeBindings(v *view, r refused) []Cause {
	var causes []Cause
	names, claims := v.claimsOf(v.pod)
	for i, claim := range claims {
		fact := Volume{Claim: names[i]}
		pv := v.volumeOf(claim)
		switch {
		case claim == nil:
			causes = append(causes, v.missingClaim("VolumeBinding", names[i]))
		case claim.DeletionTimestamp != nil && len(r.nodes) == 0:
			causes = append(causes, Cause{Plugin: "VolumeBinding", Sentence: v.endingSentence(&fact, claim), Volume: &fact})
		case pv != nil && !isBound(pv, claim):
			fact.Volume = pv.Name
			causes = append(causes, Cause{Plugin: "VolumeBinding", Nodes: len(r.nodes), Sentence: namedSentence(v.state, pv, claim), Volume: &fact})
		case pv != nil:
			fact.Volume = pv.Name
			away := list.Where(r.nodes, func(node *v1.Node) bool { return storagehelpers.CheckNodeAffinity(pv, node.Labels) != nil })
			if len(away) == 0 {
				continue
			}
			for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
				fact.Wants = append(fact.Wants, words.And(list.Map(term.MatchExpressions, func(e v1.NodeSelectorRequirement) string { return expressionText(&e) })))
			}
			fact.Reached = v.blockedNodes(func(node *v1.Node) bool { return storagehelpers.CheckNodeAffinity(pv, node.Labels) == nil })
			causes = append(causes, Cause{Plugin: "VolumeBinding", Nodes: len(away), Sentence: fact.reachSentence(), Volume: &fact})
		case claim.Spec.VolumeName != "":
			fact.Volume = claim.Spec.VolumeName
			causes = append(causes, Cause{Plugin: "VolumeBinding", Nodes: len(r.nodes), Volume: &fact,
				Sentence: fmt.Sprintf("claim %s is bound to volume %s, and there is no such volume", fact.Claim, fact.Volume)})
		default:
			fact.Class = storagehelpers.GetPersistentVolumeClaimClass(claim)
			fact.Asked = claim.Spec.Resources.Requests.Storage().String()
			causes = append(causes, Cause{Plugin: "VolumeBinding", Nodes: len(r.nodes), Sentence: v.unboundSentence(&fact, claim), Volume: &fact})
		}
	}
	return causes
}

// endingSentence says that a claim is being deleted, and which pods keep it.
func (v *view) endingSentence(f *Volume, claim *v1.PersistentVolumeClaim) string {
	line := fmt.Sprintf("claim %s is being deleted", f.Claim)
	f.UsedBy = v.usersOf(claim)
	switch users := list.Map(f.UsedBy, func(pod LocatedPod) string { return pod.Pod + " on " + pod.Node }); {
	case len(users) > 0:
		line += fmt.Sprintf(" and stays as long as %s %s it", words.Few(users), words.Pick(len(users), "has", "have"))
	case len(claim.Finalizers) > 0:
		line += fmt.Sprintf(" and stays, since %s %s it", words.Pick(len(claim.Finalizers), "the finalizer", "the finalizers")+" "+words.And(claim.Finalizers), words.Pick(len(claim.Finalizers), "keeps", "keep"))
	}
	return line + fmt.Sprintf("; no new pod gets it since %s", claim.DeletionTimestamp.UTC().Format(time.RFC3339))
}

// usersOf returns the pods with a node that have the claim.
func (v *view) usersOf(claim *v1.PersistentVolumeClaim) []LocatedPod {
	var users []LocatedPod
	for _, node := range v.state.Nodes {
		for _, other := range v.podsOn[node.Name] {
			if cluster.HasClaim(other, claim) {
				users = append(users, LocatedPod{Pod: other.Namespace + "/" + other.Name, Node: node.Name})
			}
		}
	}
	return users
}

// missingClaim returns the cause that the pod names a claim which does not exist.
func (v *view) missingClaim(plugin, name string) Cause {
	return Cause{Plugin: plugin, Sentence: fmt.Sprintf("there is no claim %s in namespace %s", name, v.pod.Namespace), Volume: &Volume{Claim: name}}
}

// blockedNodes returns the nodes that satisfy the function, grouped by why they take no pod.
func (v *view) blockedNodes(is func(*v1.Node) bool) []Blocked {
	var all []Blocked
	for _, node := range v.state.Nodes {
		if !is(node) {
			continue
		}
		why := v.explainRefusal(node)
		at := slices.IndexFunc(all, func(b Blocked) bool { return b.Why == why })
		if at < 0 {
			at = len(all)
			all = append(all, Blocked{Why: why})
		}
		all[at].Nodes = append(all[at].Nodes, node.Name)
	}
	return all
}

// reachSentence returns, for example, "claim data is bound to volume pv-1, which only nodes with zone=zc reach: c-1 (no answer from the
// kubelet)".
func (f *Volume) reachSentence() string {
	s := fmt.Sprintf("claim %s is bound to volume %s, which only nodes with %s reach", f.Claim, f.Volume, words.Or(f.Wants))
	if len(f.Reached) == 0 {
		return s + ", and there is none"
	}
	return s + ": " + strings.Join(list.Map(f.Reached, func(b Blocked) string { return words.Few(b.Nodes) + " (" + b.Why + ")" }), "; ")
}

// unboundSentence says why a claim without a volume gets none on the nodes.
func (v *view) unboundSentence(f *Volume, claim *v1.PersistentVolumeClaim) string {
	asks := fmt.Sprintf("claim %s (%s, storage class %s) is not bound", f.Claim, f.Asked, f.Class)
	if f.Class == "" {
		asks = fmt.Sprintf("claim %s (%s, no storage class) is not bound", f.Claim, f.Asked)
	}
	if f.SelectedNode = claim.Annotations[storagehelpers.AnnSelectedNode]; f.SelectedNode != "" {
		return asks + v.selectedSentence(f)
	}
	at := slices.IndexFunc(v.state.StorageClasses, func(c *storagev1.StorageClass) bool { return c.Name == f.Class })
	free := list.Where(v.state.PersistentVolumes, func(pv *v1.PersistentVolume) bool {
		return storagehelpers.GetPersistentVolumeClass(pv) == f.Class && (pv.Spec.ClaimRef == nil || storagehelpers.IsVolumeBoundToClaim(pv, claim))
	})
	volumes := fmt.Sprintf("; %s of the class %s free", words.Count(len(free), "volume"), words.Pick(len(free), "is", "are"))
	f.Free = list.Map(free, func(pv *v1.PersistentVolume) FreeVolume { return FreeVolume{pv.Name, v.unfit(pv, claim)} })
	if len(free) > 0 {
		volumes += ": " + words.Few(list.Map(f.Free, func(free FreeVolume) string { return free.Volume + " " + free.Why }))
	}
	for _, pv := range ReleasedVolumes(v.state, claim) {
		f.Released = append(f.Released, FreeVolume{pv.Name, "is kept for claim " + KeptFor(v.state, pv, claim)})
	}
	if len(f.Released) > 0 {
		volumes += "; " + words.Few(list.Map(f.Released, func(kept FreeVolume) string { return kept.Volume + " " + kept.Why }))
	}
	for _, pv := range VolumesOfOtherClasses(v.state, claim) {
		why := "is of class " + storagehelpers.GetPersistentVolumeClass(pv)
		if storagehelpers.GetPersistentVolumeClass(pv) == "" {
			why = "has no class"
		}
		f.OtherClasses = append(f.OtherClasses, FreeVolume{pv.Name, why})
	}
	if len(f.OtherClasses) > 0 {
		volumes += "; " + words.Few(list.Map(f.OtherClasses, func(other FreeVolume) string { return other.Volume + " would do, but " + other.Why }))
	}
	switch {
	case f.Class == "":
		if !storagehelpers.PersistentVolumeClaimHasClass(claim) {
			asks += ", and no class is the default" + v.existingClasses()
		}
		return asks + volumes
	case at < 0:
		return asks + ", and there is no such class" + v.existingClasses() + volumes
	}
	class := v.state.StorageClasses[at]
	switch {
	case class.Provisioner == noProvisioner:
		return asks + ", and the class has no provisioner" + volumes
	case class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate:
		return asks + ": its class binds at once, before the pod has a node, and nothing has bound it"
	case len(class.AllowedTopologies) > 0:
		f.Allowed = allowedLabels(class.AllowedTopologies)
		return fmt.Sprintf("%s, and its class allows volumes only where a node has %s", asks, words.Or(f.Allowed)) + volumes
	}
	var room []string
	for _, capacity := range v.state.CSIStorageCapacities {
		if capacity.StorageClassName == f.Class && capacity.Capacity != nil {
			room = append(room, capacity.Capacity.String())
		}
	}
	if len(room) > 0 {
		return fmt.Sprintf("%s, and no CSIStorageCapacity of the class on these nodes has room for it (there are %s)", asks, words.Few(room))
	}
	return asks + volumes
}

// selectedSentence says that a claim is for a node, which the scheduler has selected before, and why that node does not take the pod. See
// FindPodVolumes in https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/volumebinding/binder.go.
func (v *view) selectedSentence(f *Volume) string {
	line := fmt.Sprintf(", and by its annotation %s its volume is for node %s alone, which ", storagehelpers.AnnSelectedNode, f.SelectedNode)
	node := v.state.Node(f.SelectedNode)
	if node == nil {
		return line + "does not exist"
	}
	return line + "takes no pod (" + v.explainRefusal(node) + ")"
}

// existingClasses returns, for example, " (there are gp3 and io2)".
func (v *view) existingClasses() string {
	names := list.Map(v.state.StorageClasses, func(c *storagev1.StorageClass) string { return c.Name })
	if len(names) == 0 {
		return " (there is none)"
	}
	return fmt.Sprintf(" (there %s %s)", words.Pick(len(names), "is", "are"), words.Few(names))
}

// allowedLabels returns, for example, "topology.kubernetes.io/zone=eu-1c".
func allowedLabels(terms []v1.TopologySelectorTerm) []string {
	return list.Map(terms, func(term v1.TopologySelectorTerm) string {
		return words.And(list.Map(term.MatchLabelExpressions, func(r v1.TopologySelectorLabelRequirement) string {
			return expressionText(&v1.NodeSelectorRequirement{Key: r.Key, Operator: v1.NodeSelectorOpIn, Values: r.Values})
		}))
	})
}

// noProvisioner is the provisioner of storage classes whose volumes somebody creates by hand, such as local volumes.
const noProvisioner = "kubernetes.io/no-provisioner"

// volumeZones returns the labels of the pod's volumes that nodes refused by VolumeZone do not have.
func volumeZones(v *view, r refused) []Cause {
	var causes []Cause
	names, claims := v.claimsOf(v.pod)
	for i, claim := range claims {
		pv := v.volumeOf(claim)
		if pv == nil {
			continue
		}
		for _, key := range []string{v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone, v1.LabelTopologyRegion} {
			value, labelled := pv.Labels[key]
			if !labelled {
				continue
			}
			values := sets.New(strings.Split(value, "__")...)
			away := list.Where(r.nodes, func(node *v1.Node) bool { return !values.Has(node.Labels[key]) })
			if len(away) == 0 {
				continue
			}
			fact := Volume{Claim: names[i], Volume: pv.Name, Wants: []string{key + "=" + value}}
			fact.Has = list.Distinct(list.Map(away, func(node *v1.Node) string { return key + "=" + node.Labels[key] }))
			causes = append(causes, Cause{Plugin: "VolumeZone", Nodes: len(away), Volume: &fact, Sentence: fmt.Sprintf(
				"volume %s of claim %s has the label %s; %s %s %s", pv.Name, names[i], fact.Wants[0],
				words.Few(list.Map(away, func(node *v1.Node) string { return node.Name })), words.Pick(len(away), "has", "have"), words.Few(fact.Has))})
		}
	}
	return causes
}

// volumeLimits returns the drivers for which the nodes that NodeVolumeLimits refuses can attach no more volumes, each with the node that
// has the most room.
func volumeLimits(v *view, r refused) []Cause {
	var causes []Cause
	asked := v.attachedVolumes([]*v1.Pod{v.pod})
	for _, driver := range slices.Sorted(maps.Keys(asked)) {
		fact := Volume{Driver: driver}
		n := 0
		for _, node := range r.nodes {
			limit := v.limitOf(node.Name, driver)
			on := v.attachedVolumes(append(slices.Clip(v.podsOn[node.Name]), v.pod))[driver]
			if limit < 0 || len(on) <= int(limit) {
				continue
			}
			has := len(v.attachedVolumes(v.podsOn[node.Name])[driver])
			if n++; n == 1 || int(limit)-has > int(fact.Limit)-fact.Attached {
				fact.Node, fact.Limit, fact.Attached = node.Name, limit, has
			}
		}
		if n > 0 {
			causes = append(causes, Cause{Plugin: "NodeVolumeLimits", Nodes: n, Volume: &fact, Sentence: fmt.Sprintf(
				"asks for %s of %s; the node with most room, %s, can attach %d and has %d", words.Count(len(asked[driver]), "volume"), driver, fact.Node, fact.Limit, fact.Attached)})
		}
	}
	return causes
}

// CountVolumes returns how many volumes of each driver the pod has.
func CountVolumes(state *cluster.State, pod *v1.Pod) map[string]int {
	counts := map[string]int{}
	for driver, handles := range (&view{state: state}).attachedVolumes([]*v1.Pod{pod}) {
		counts[driver] = handles.Len()
	}
	return counts
}

// limitOf returns how many volumes of the driver the node can attach; -1 if there is no limit.
func (v *view) limitOf(node, driver string) int32 {
	for _, csi := range v.state.CSINodes {
		if csi.Name != node {
			continue
		}
		for _, d := range csi.Spec.Drivers {
			if d.Name == driver && d.Allocatable != nil && d.Allocatable.Count != nil {
				return *d.Allocatable.Count
			}
		}
	}
	return -1
}

// attachedVolumes returns the volumes of the pods' claims by driver. A claim that is not bound counts for the provisioner of its storage class.
func (v *view) attachedVolumes(pods []*v1.Pod) map[string]sets.Set[string] {
	by := map[string]sets.Set[string]{}
	for _, pod := range pods {
		_, claims := v.claimsOf(pod)
		for _, claim := range claims {
			driver, handle := v.driverOf(claim)
			if driver == "" {
				continue
			}
			if by[driver] == nil {
				by[driver] = sets.New[string]()
			}
			by[driver].Insert(handle)
		}
	}
	return by
}

func (v *view) driverOf(claim *v1.PersistentVolumeClaim) (driver, handle string) {
	if claim == nil {
		return "", ""
	}
	if pv := v.volumeOf(claim); pv != nil {
		if pv.Spec.CSI == nil {
			return "", ""
		}
		return pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
	}
	name := storagehelpers.GetPersistentVolumeClaimClass(claim)
	for _, class := range v.state.StorageClasses {
		if class.Name == name && class.Provisioner != noProvisioner {
			return class.Provisioner, claim.Namespace + "/" + claim.Name
		}
	}
	return "", ""
}

// volumeRestrictions returns the claims that only one pod may use at a time, and the pods that use them.
func volumeRestrictions(v *view, r refused) []Cause {
	var causes []Cause
	names, claims := v.claimsOf(v.pod)
	for i, claim := range claims {
		if claim == nil { // this plugin looks for the claims first
			causes = append(causes, v.missingClaim("VolumeRestrictions", names[i]))
			continue
		}
		if !slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) {
			continue
		}
		fact := Volume{Claim: names[i], UsedBy: v.usersOf(claim)}
		if len(fact.UsedBy) > 0 {
			causes = append(causes, Cause{Plugin: "VolumeRestrictions", Nodes: len(r.nodes), Volume: &fact, Sentence: fmt.Sprintf(
				"claim %s is ReadWriteOncePod, and %s on %s has it", names[i], fact.UsedBy[0].Pod, fact.UsedBy[0].Node)})
		}
	}
	return causes
}
