package memo

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// maxReachAnswers is how many answers a volumeBinder keeps. They take 6 MB.
const maxReachAnswers = 1 << 16

// volumeBinder is upstream's volume binder, except that it asks once which nodes reach the bound volumes of pods. Upstream parses the node
// affinity of each volume for each node. For example, all volumes of a zone have the same affinity, and all nodes answer it the same way until
// they change.
type volumeBinder struct {
	volumebinding.SchedulerVolumeBinder
	volumes corelisters.PersistentVolumeLister

	claims *volumebinding.PodVolumeClaims // the claims that were asked about last
	reach  map[string]reachAnswer         // of these claims, by node; nil: upstream is asked
	kept   map[string]map[string]reachAnswer
	count  int // number of answers in kept
}

// reachAnswer is why a node does not reach volumes; no reason if it does.
type reachAnswer struct {
	node    *v1.Node
	reasons volumebinding.ConflictReasons
}

// FindPodVolumes asks upstream only if the node has changed since it was asked about volumes of the same affinities.
func (b *volumeBinder) FindPodVolumes(logger klog.Logger, pod *v1.Pod, claims *volumebinding.PodVolumeClaims, node *v1.Node) (*volumebinding.PodVolumes, volumebinding.ConflictReasons, error) {
	if claims != b.claims { // each cycle has claims of its own
		b.claims, b.reach = claims, b.findReach(claims)
	}
	if known := b.reach[node.Name]; known.node == node {
		return &volumebinding.PodVolumes{}, known.reasons, nil
	}
	found, reasons, err := b.SchedulerVolumeBinder.FindPodVolumes(logger, pod, claims, node)
	if b.reach != nil && err == nil {
		if _, known := b.reach[node.Name]; !known {
			b.count++
		}
		b.reach[node.Name] = reachAnswer{node, reasons}
	}
	return found, reasons, err
}

// findReach returns the answers about claims whose volumes have these affinities. It returns nil if nodes may answer differently although
// they and the affinities stay the same: if a claim is not bound, its volume is missing, or the volume may be one in the tree, which each node
// translates.
func (b *volumeBinder) findReach(claims *volumebinding.PodVolumeClaims) map[string]reachAnswer {
	fields := reflect.ValueOf(claims).Elem()
	bound := fields.FieldByName("boundClaims")
	if fields.FieldByName("unboundClaimsDelayBinding").Len()+fields.FieldByName("unboundClaimsImmediate").Len() > 0 {
		return nil
	}
	var affinities strings.Builder
	for i := range bound.Len() {
		volume, err := b.volumes.Get(bound.Index(i).Elem().FieldByName("Spec").FieldByName("VolumeName").String())
		if err != nil || volume.Spec.CSI == nil {
			return nil
		}
		affinities.WriteString(volume.Spec.NodeAffinity.String())
	}
	if b.count > maxReachAnswers {
		clear(b.kept)
		b.count = 0
	}
	reach := b.kept[affinities.String()]
	if reach == nil {
		reach = map[string]reachAnswer{}
		b.kept[affinities.String()] = reach
	}
	return reach
}
