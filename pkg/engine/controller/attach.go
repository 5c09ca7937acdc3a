package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/storage/ephemeral"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/util/taints"

	"github.com/faultline/faultline/pkg/cluster"
)

// MaxWaitForUnmount is how long a volume that no pod needs stays attached to a node that cannot unmount it; maxWaitForUnmountDuration in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/attachdetach/attach_detach_controller.go.
const MaxWaitForUnmount = 6 * time.Minute

// StartBoundPods lets the kubelets start the pods that the scheduler has just bound. If a pod's volume is attached to another node, the pod waits
// until that node has detached it.
func (c *Controllers) StartBoundPods(s *cluster.State, pods []*v1.Pod) *cluster.State {
	fresh := map[types.UID]bool{}
	var started []cluster.Object
	for _, pod := range pods {
		if next := s.Containers.Start(pod); next != pod {
			started = append(started, next)
		}
		if hasAttachableVolumes(pod) {
			fresh[pod.UID] = true
		}
	}
	s = s.With(started...)
	if len(fresh) == 0 {
		return s
	}
	return c.syncAttachments(s, fresh)
}

// syncAttachments does the attach-detach controller's reconcile, for volumes that can be attached to one node at a time:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/attachdetach/reconciler/reconciler.go.
// It detaches volumes that no pod needs, then attaches the volumes that pods need and that no other node has. Other volumes never keep a
// pod waiting. The fresh pods have just been bound. The volumes of any other running pod count as attached.
func (c *Controllers) syncAttachments(s *cluster.State, fresh map[types.UID]bool) *cluster.State {
	c.followPods(s)
	pods := c.pods.Lookup(group{mounting: true})
	if len(pods.Pods())+len(s.Attachments) == 0 {
		return s
	}
	about := subject{fact: attachmentsInSync}
	seen := []any{pods, newListID(s.PersistentVolumeClaims), newListID(s.PersistentVolumes), newListID(s.CSIDrivers), newListID(s.Nodes), newListID(s.Attachments)}
	_, settled := recall[struct{}](&c.memory, about, seen...)
	if settled && fresh == nil && !slices.ContainsFunc(s.Attachments, func(a cluster.Attachment) bool { return mustForceDetach(a, s) }) {
		return s
	}
	a := newAttachSync(s, pods.Pods(), c.findVolumes(s))
	a.detachUnused()
	for _, running := range []bool{true, false} {
		for _, pod := range a.pods {
			if running == (pod.Status.Phase != v1.PodPending && !fresh[pod.UID]) {
				a.attachVolumes(pod, running)
			}
		}
	}
	var changed []cluster.Object
	for _, pod := range a.pods {
		if next := a.podAfterAttach(pod, fresh[pod.UID]); next != nil {
			changed = append(changed, next)
		}
	}
	if len(changed) == 0 && slices.Equal(a.held, s.Attachments) {
		c.memory.remember(about, struct{}{}, seen...)
		return s
	}
	next := *s.With(changed...)
	if next.Attachments = a.held; slices.Equal(a.held, s.Attachments) {
		next.Attachments = s.Attachments
	}
	return &next
}

// mustForceDetach reports whether the volume is detached now whatever the state of its node.
func mustForceDetach(a cluster.Attachment, s *cluster.State) bool {
	return !a.Unused.IsZero() && !a.Unused.Add(MaxWaitForUnmount).After(s.Now.Time)
}

// attachSync is one sync of the attach-detach controller.
type attachSync struct {
	*cluster.State
	nodes   map[string]*v1.Node
	volumes *volumeLookup
	pods    []volumePod // pods that need volumes on their nodes
	held    []cluster.Attachment
	// These are names of nodes, by the number of a volume: on which pods need it, and to which it is attached.
	neededOn, attachedTo [][]string
}

// volumePod is a pod with the exclusive volumes that it needs.
type volumePod struct {
	*v1.Pod
	needed []exclusiveVolume
}

// newAttachSync returns a sync of the pods with attachable volumes that are on nodes.
func newAttachSync(s *cluster.State, mounting []*v1.Pod, volumes *volumeLookup) *attachSync {
	a := &attachSync{State: s, nodes: s.NodesByName(), volumes: volumes}
	for _, pod := range mounting {
		if pod.Spec.NodeName == "" || a.nodes[pod.Spec.NodeName] == nil || cluster.IsTerminal(pod) || pod.DeletionTimestamp != nil && cluster.WaitsForVolume(pod) != "" {
			continue
		}
		if needed := volumes.exclusiveOf(pod); len(needed) > 0 || cluster.WaitsForVolume(pod) != "" {
			a.pods = append(a.pods, volumePod{pod, needed})
		}
	}
	for _, held := range s.Attachments {
		volumes.numberOf(held.Volume)
	}
	a.neededOn, a.attachedTo = make([][]string, len(volumes.numbers)), make([][]string, len(volumes.numbers))
	return a
}

// detachUnused detaches the volumes that no pod on their node needs. A kubelet that works unmounts them at once.
func (a *attachSync) detachUnused() {
	for _, pod := range a.pods {
		for _, pv := range pod.needed {
			a.neededOn[pv.number] = append(a.neededOn[pv.number], pod.Spec.NodeName)
		}
	}
	for _, held := range a.Attachments {
		number, node := a.volumes.numberOf(held.Volume), a.nodes[held.Node]
		switch {
		case slices.Contains(a.neededOn[number], held.Node):
			held.Unused.Reset()
		case mustForceDetach(held, a.State), node != nil && (cluster.KubeletResponds(node) || taints.TaintKeyExists(node.Spec.Taints, v1.TaintNodeOutOfService)):
			continue
		case held.Unused.IsZero():
			held.Unused = a.Now
		}
		a.keepAttached(held, number)
	}
}

// keepAttached keeps the volume of that number attached to its node.
func (a *attachSync) keepAttached(held cluster.Attachment, number int) {
	a.held = append(a.held, held)
	a.attachedTo[number] = append(a.attachedTo[number], held.Node)
}

// attachVolumes attaches the volumes that the pod needs to its node. Unless the pod runs, it skips volumes that are attached to another node.
func (a *attachSync) attachVolumes(pod volumePod, running bool) {
	for _, pv := range pod.needed {
		on := a.attachedTo[pv.number]
		if !slices.Contains(on, pod.Spec.NodeName) && (running || len(on) == 0) {
			a.keepAttached(cluster.Attachment{Volume: pv.handle, Node: pod.Spec.NodeName}, pv.number)
		}
	}
}

// podAfterAttach returns the pod with its next state: waiting while a volume is attached elsewhere, started once its own node has all volumes. It
// returns nil if the pod stays as it is, also because the node's kubelet does not answer.
func (a *attachSync) podAfterAttach(pod volumePod, fresh bool) *v1.Pod {
	if !fresh && pod.Status.Phase != v1.PodPending {
		return nil
	}
	for _, pv := range pod.needed {
		on := a.attachedTo[pv.number]
		if slices.Contains(on, pod.Spec.NodeName) {
			continue
		}
		if why := cluster.AttachedTo + strings.Join(on, " and "); why != cluster.WaitsForVolume(pod.Pod) {
			return cluster.AwaitVolume(pod.Pod, why, a.multiAttachMessage(pod.Pod, pv, on), a.Now)
		}
		return nil
	}
	if cluster.WaitsForVolume(pod.Pod) == "" || !cluster.KubeletResponds(a.nodes[pod.Spec.NodeName]) {
		return nil
	}
	return cluster.StartPod(pod.Pod, a.Now)
}

// multiAttachMessage returns the message of the pod's event FailedAttachVolume; upstream's reportMultiAttachError.
func (a *attachSync) multiAttachMessage(pod *v1.Pod, pv exclusiveVolume, on []string) string {
	var names []string
	others := 0
	for _, user := range a.pods {
		switch {
		case !slices.Contains(on, user.Spec.NodeName) || !slices.ContainsFunc(user.needed, func(v exclusiveVolume) bool { return v.number == pv.number }):
		case user.Namespace == pod.Namespace:
			names = append(names, user.Name)
		default:
			others++
		}
	}
	// Before 1.37 the words were others: https://github.com/kubernetes/kubernetes/pull/138837.
	prefix, suffix := "Waiting for detach", "Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node"
	if utilfeature.DefaultMutableFeatureGate.EmulationVersion().LessThan(version.MajorMinor(1, 37)) {
		prefix, suffix = "Multi-Attach error", "Volume is already exclusively attached to one node and can't be attached to another"
	}
	switch {
	case len(names) > 0 && others > 0:
		suffix = fmt.Sprintf("Volume is already used by pod(s) %s and %d pod(s) in different namespaces", strings.Join(names, ", "), others)
	case len(names) > 0:
		suffix = "Volume is already used by pod(s) " + strings.Join(names, ", ")
	case others > 0:
		suffix = fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", others)
	}
	return fmt.Sprintf("%s for volume %q %s", prefix, pv.name, suffix)
}

// translator translates in-tree volumes to the CSI volumes that now serve them; all of them have migrated.
var translator = csitranslation.New()

// mayNeedAttachment reports whether the volume may need to be attached to a node.
func mayNeedAttachment(volume v1.Volume) bool {
	return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil || translator.IsInlineMigratable(&volume)
}

// exclusiveVolume is a CSI volume that can be attached to one node at a time.
type exclusiveVolume struct {
	name, handle string // the handle has the driver's name, too
	number       int    // of the handle; see [volumeLookup]
}

// volumeLookup finds the exclusive volumes of pods, and keeps them: while the claims and volumes stay as they are, a pod has the same.
type volumeLookup struct {
	claims  map[types.NamespacedName]*v1.PersistentVolumeClaim
	volumes map[string]*v1.PersistentVolume
	drivers map[string]*storagev1.CSIDriver
	found   map[types.UID][]exclusiveVolume // by pod
	numbers map[string]int                  // of volumes, by their handles, from 0; a sync of all pods looks up each once
}

// numberOf returns the number of the volume with the handle.
func (v *volumeLookup) numberOf(handle string) int {
	number, known := v.numbers[handle]
	if !known {
		number = len(v.numbers)
		v.numbers[handle] = number
	}
	return number
}

// findVolumes indexes the claims, volumes and drivers of a state.
func (c *Controllers) findVolumes(s *cluster.State) *volumeLookup {
	seen := []any{newListID(s.PersistentVolumeClaims), newListID(s.PersistentVolumes), newListID(s.CSIDrivers)}
	return recallOrCompute(&c.memory, subject{fact: exclusiveVolumes}, seen, func() *volumeLookup {
		v := &volumeLookup{indexClaims(s.PersistentVolumeClaims), map[string]*v1.PersistentVolume{}, map[string]*storagev1.CSIDriver{}, map[types.UID][]exclusiveVolume{}, map[string]int{}}
		for _, pv := range s.PersistentVolumes {
			v.volumes[pv.Name] = pv
		}
		for _, driver := range s.CSIDrivers {
			v.drivers[driver.Name] = driver
		}
		return v
	})
}

// exclusiveOf returns the exclusive volumes of a pod whose claims are bound.
func (v *volumeLookup) exclusiveOf(pod *v1.Pod) []exclusiveVolume {
	if known, found := v.found[pod.UID]; found {
		return known
	}
	var exclusive []exclusiveVolume
	for i := range pod.Spec.Volumes {
		if pv := v.csiVolume(pod, &pod.Spec.Volumes[i]); pv != nil && v.isExclusive(pv) {
			handle := pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle
			exclusive = append(exclusive, exclusiveVolume{pv.Name, handle, v.numberOf(handle)})
		}
	}
	v.found[pod.UID] = exclusive
	return exclusive
}

// csiVolume returns the CSI volume behind a volume of the pod; nil if there is none, or its claim is not bound. It is
// CreateVolumeSpecWithNodeMigration in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/volume/attachdetach/util/util.go.
func (v *volumeLookup) csiVolume(pod *v1.Pod, volume *v1.Volume) *v1.PersistentVolume {
	name := ""
	switch {
	case volume.PersistentVolumeClaim != nil:
		name = volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		name = ephemeral.VolumeClaimName(pod, volume)
	case translator.IsInlineMigratable(volume):
		pv, err := translator.TranslateInTreeInlineVolumeToCSI(klog.Background(), volume, pod.Namespace)
		if err != nil {
			return nil
		}
		return pv
	default:
		return nil
	}
	claim := v.claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
	if claim == nil || claim.Status.Phase != v1.ClaimBound || volume.Ephemeral != nil && ephemeral.VolumeIsForPod(pod, claim) != nil {
		return nil
	}
	pv := v.volumes[claim.Spec.VolumeName]
	if pv == nil || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID {
		return nil
	}
	if translator.IsPVMigratable(pv) {
		translated, err := translator.TranslateInTreePVToCSI(klog.Background(), pv)
		if err != nil {
			return nil
		}
		pv = translated
	}
	if pv.Spec.CSI == nil {
		return nil
	}
	return pv
}

// isExclusive reports whether the volume must be attached to a node, and can be attached to only one at a time. It is skipAttach in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/csi/csi_plugin.go and IsMultiAttachAllowed in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/volume/util/util.go, written again because their packages import many others.
func (v *volumeLookup) isExclusive(pv *v1.PersistentVolume) bool {
	if driver := v.drivers[pv.Spec.CSI.Driver]; driver != nil && driver.Spec.AttachRequired != nil && !*driver.Spec.AttachRequired {
		return false
	}
	return len(pv.Spec.AccessModes) > 0 && !slices.ContainsFunc(pv.Spec.AccessModes, func(mode v1.PersistentVolumeAccessMode) bool {
		return mode == v1.ReadWriteMany || mode == v1.ReadOnlyMany
	})
}
