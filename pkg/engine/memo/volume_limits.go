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
	nodes   fwk.CSINodeLister
	claims  corelisters.PersistentVolumeClaimLister
	drivers storagelisters.CSIDriverLister
}

func newVolumeLimits(plugin *nodevolumelimits.CSILimits, profile fwk.Handle) *volumeLimitsPlugin {
	factory := profile.SharedInformerFactory()
	return &volumeLimitsPlugin{
		CSILimits: plugin, nodes: profile.SharedCSIManager().CSINodes(), claims: factory.Core().V1().PersistentVolumeClaims().Lister(),
		drivers: factory.Storage().V1().CSIDrivers().Lister(),
	}
}

func (l *volumeLimitsPlugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if l.cannotExceed(pod, node) {
		return nil
	}
	return l.CSILimits.Filter(ctx, state, pod, node)
}

// cannotExceed reports whether upstream's Filter is certain to accept the node: the pod's claims exist, no driver keeps pods off nodes that
// lack it, and all volumes together do not exceed the lowest limit of any driver.
func (l *volumeLimitsPlugin) cannotExceed(pod *v1.Pod, node fwk.NodeInfo) bool {
	count, certain := countClaims(pod)
	if !certain {
		return false
	}
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil {
			if _, err := l.claims.PersistentVolumeClaims(pod.Namespace).Get(claim.ClaimName); err != nil {
				return false
			}
		}
	}
	drivers, err := l.drivers.List(labels.Everything())
	if err != nil {
		return false
	}
	for _, driver := range drivers {
		if prevents := driver.Spec.PreventPodSchedulingIfMissing; prevents != nil && *prevents {
			return false
		}
	}
	lowest, limited := l.lowestLimit(node.Node().Name)
	if !limited {
		return true
	}
	for _, existing := range node.GetPods() {
		its, certain := countClaims(existing.GetPod())
		if !certain {
			return false
		}
		count += its
	}
	return count <= lowest
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

// countClaims returns the number of claims among the pod's volumes. It reports false if the pod may have volumes of another kind to attach,
// such as an ephemeral one, for which upstream also checks who owns the claim.
func countClaims(pod *v1.Pod) (n int, certain bool) {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		switch claim := volume.PersistentVolumeClaim; {
		case claim != nil && claim.ClaimName != "":
			n++
		case Attaches(volume):
			return 0, false
		}
	}
	return n, true
}

// Attaches reports whether a volume plugin may read the volume: whether its source is none of those that need no storage driver.
func Attaches(volume *v1.Volume) bool {
	is := &volume.VolumeSource
	return is.ConfigMap == nil && is.Secret == nil && is.EmptyDir == nil && is.Projected == nil && is.DownwardAPI == nil && is.HostPath == nil && is.Image == nil
}
