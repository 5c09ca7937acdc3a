package memo

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
)

// volumeLimitsPlugin is upstream's CSILimits, except that it skips nodes on which the volumes cannot exceed a limit. Upstream looks up the driver
// of each volume of each pod on a node; the wrapper only counts the volumes. For example, if pods on a node have 8 claims and the pod has
// one more, no driver has more than 9 volumes there, so a limit of 25 holds. (Upstream also counts VolumeAttachments, but a state has
// none.)
type volumeLimitsPlugin struct {
	*nodevolumelimits.CSILimits
	memo    *Memo
	nodes   fwk.CSINodeLister
	claims  corelisters.PersistentVolumeClaimLister
	drivers storagelisters.CSIDriverLister

	state  fwk.CycleState // the cycle that asked last
	wanted claimCount     // what the pod of that cycle wants; not certain if Filter must be upstream's
	there  []nodeClaims   // by slot

	layoutVersion int // the memo's, when the slots of there were numbered
}

// claimCount is a number of claims. It is not certain if there may be other volumes to attach.
type claimCount struct {
	claims  int
	certain bool
}

// nodeClaims counts the claims of the pods on a node of that generation.
type nodeClaims struct {
	claimCount
	generation int64
}

func newVolumeLimits(plugin *nodevolumelimits.CSILimits, memo *Memo, profile fwk.Handle) *volumeLimitsPlugin {
	factory := profile.SharedInformerFactory()
	return &volumeLimitsPlugin{
		CSILimits: plugin, memo: memo, nodes: profile.SharedCSIManager().CSINodes(), claims: factory.Core().V1().PersistentVolumeClaims().Lister(),
		drivers: factory.Storage().V1().CSIDrivers().Lister(),
	}
}

func (l *volumeLimitsPlugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if l.state != state {
		l.state, l.wanted = state, l.countWanted(pod)
	}
	if l.cannotExceed(node) {
		return nil
	}
	return l.CSILimits.Filter(ctx, state, pod, node)
}

// countWanted counts the claims of the pod. The count is certain only if the claims exist, and no driver keeps pods off nodes that lack it.
func (l *volumeLimitsPlugin) countWanted(pod *v1.Pod) claimCount {
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil {
			if _, err := l.claims.PersistentVolumeClaims(pod.Namespace).Get(claim.ClaimName); err != nil {
				return claimCount{}
			}
		}
	}
	drivers, err := l.drivers.List(labels.Everything())
	if err != nil {
		return claimCount{}
	}
	for _, driver := range drivers {
		if prevents := driver.Spec.PreventPodSchedulingIfMissing; prevents != nil && *prevents {
			return claimCount{}
		}
	}
	return countClaims(pod)
}

// cannotExceed reports whether upstream's Filter is certain to accept the node: all volumes together do not exceed the lowest limit of any
// driver.
func (l *volumeLimitsPlugin) cannotExceed(node fwk.NodeInfo) bool {
	if !l.wanted.certain {
		return false
	}
	lowest, limited := l.lowestLimit(node.Node().Name)
	if !limited {
		return true
	}
	there := l.countThere(node)
	return there.certain && l.wanted.claims+there.claims <= lowest
}

// countThere counts the claims of the pods on the node. The count is kept until the node changes.
func (l *volumeLimitsPlugin) countThere(node fwk.NodeInfo) claimCount {
	slot := l.memo.askedSlot
	if slot >= len(l.memo.infos) || l.memo.infos[slot] != node { // as in a dry run of preemption
		return countNodeClaims(node)
	}
	if l.layoutVersion != l.memo.layoutVersion {
		l.there, l.layoutVersion = make([]nodeClaims, len(l.memo.infos)), l.memo.layoutVersion
	}
	if known := &l.there[slot]; known.generation != l.memo.generations[slot] {
		*known = nodeClaims{countNodeClaims(node), l.memo.generations[slot]}
	}
	return l.there[slot].claimCount
}

func countNodeClaims(node fwk.NodeInfo) claimCount {
	all := claimCount{certain: true}
	for _, existing := range node.GetPods() {
		its := countClaims(existing.GetPod())
		if !its.certain {
			return claimCount{}
		}
		all.claims += its.claims
	}
	return all
}

// lowestLimit returns the lowest limit that any driver has for volumes on the node. It reports false if no driver has a limit.
func (l *volumeLimitsPlugin) lowestLimit(node string) (lowest int, limited bool) {
	csiNode, err := l.nodes.Get(node)
	if err != nil { // upstream, too, treats a node without a CSINode as a node without limits
		csiNode = &storagev1.CSINode{}
	}
	for _, driver := range csiNode.Spec.Drivers {
		if limit := driver.Allocatable; limit != nil && limit.Count != nil && (!limited || int(*limit.Count) < lowest) {
			lowest, limited = int(*limit.Count), true
		}
	}
	return lowest, limited
}

// countClaims counts the claims among the pod's volumes. The count is not certain if the pod may have volumes of another kind to attach, such
// as an ephemeral one, for which upstream also checks who owns the claim.
func countClaims(pod *v1.Pod) claimCount {
	n := 0
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch claim := volume.PersistentVolumeClaim; {
		case claim != nil && claim.ClaimName != "":
			n++
		case Attaches(volume):
			return claimCount{}
		}
	}
	return claimCount{n, true}
}

// Attaches reports whether a volume plugin may read the volume: whether its source is none of those that need no storage driver.
func Attaches(volume *v1.Volume) bool {
	is := &volume.VolumeSource
	return is.ConfigMap == nil && is.Secret == nil && is.EmptyDir == nil && is.Projected == nil && is.DownwardAPI == nil && is.HostPath == nil && is.Image == nil
}
