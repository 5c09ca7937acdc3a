package memo

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Memo is what the plugins of one scheduler have answered. The scheduler's owner reports every change of the cluster to it. It is not safe
// for concurrent use.
type Memo struct {
	informers informers.SharedInformerFactory
	nodes     fwk.NodeInfoLister
	pods      *pods
	plugins   map[fwk.Handle]map[string]fwk.Plugin // by profile and name

	infos  []fwk.NodeInfo // in the snapshot's order: a node's place in it is its slot
	slots  map[string]int
	layout int // counts the times that nodes came, went, or changed their labels or images
	taints int // counts the times that nodes changed their taints
	owners int // counts the times that Services or the owners of pods changed

	templates templates
	current   *v1.Pod   // the pod of this cycle
	template  *template // its template; nil if it shares its answers with no other pod
	looks     looks     // what it looks like to the rules of other pods
	feasible  []int     // the slots of its feasible nodes
	buffer    []int
}

// New returns a memo for a scheduler that reads the nodes from the snapshot and everything else from the informers' listers.
func New(snapshot fwk.SharedLister, factory informers.SharedInformerFactory) *Memo {
	return &Memo{informers: factory, nodes: snapshot.NodeInfos(), pods: newPods(), plugins: map[fwk.Handle]map[string]fwk.Plugin{}}
}

// Registry returns the registry with InterPodAffinity and PodTopologySpread as they are here: upstream's, but for their walks.
func (m *Memo) Registry(registry frameworkruntime.Registry) frameworkruntime.Registry {
	wrapped := maps.Clone(registry)
	for name, factory := range registry {
		wrapped[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, args, handle)
			if err != nil {
				return nil, err
			}
			switch real := plugin.(type) {
			case *interpodaffinity.InterPodAffinity:
				plugin = &affinity{InterPodAffinity: real, memo: m, args: args.(*schedulerapi.InterPodAffinityArgs)}
			case *podtopologyspread.PodTopologySpread:
				plugin = &spread{PodTopologySpread: real, memo: m}
			}
			if m.plugins[handle] == nil {
				m.plugins[handle] = map[string]fwk.Plugin{}
			}
			m.plugins[handle][name] = plugin
			return plugin, nil
		}
	}
	return wrapped
}

// PodAdded reports that the scheduler's cache has a pod more.
func (m *Memo) PodAdded(pod *v1.Pod) { m.pods.add(pod) }

// PodRemoved reports that the scheduler's cache no longer has the pod.
func (m *Memo) PodRemoved(pod *v1.Pod) { m.pods.remove(pod) }

// NodeUpdated reports that a node has changed. Nodes that come and go are seen in the snapshot.
func (m *Memo) NodeUpdated(before, after *v1.Node) {
	switch {
	case !maps.Equal(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Status.Images, after.Status.Images):
		m.infos = nil
	case !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints):
		m.taints++
	}
}

// NamespacesChanged reports that namespaces, or their labels, have changed.
func (m *Memo) NamespacesChanged() { m.infos = nil }

// OwnersChanged reports that Services, ReplicaSets or StatefulSets have changed: their selectors tell which pods are spread by default.
func (m *Memo) OwnersChanged(services []*v1.Service) {
	m.owners++
	for _, service := range services {
		for key := range service.Spec.Selector {
			m.pods.readsKey(key)
		}
	}
}

// begin starts the cycle of a pod.
func (m *Memo) begin(pod *v1.Pod) {
	m.arrange()
	era := m.pods.era
	m.looks = m.pods.looksOf(pod)
	m.pods.settle()
	if m.pods.era != era {
		m.looks = m.pods.looksOf(pod)
	}
	m.current, m.template = pod, m.templateOf(pod)
}

// arrange numbers the nodes. The snapshot makes a new list when nodes come or go, and only then.
func (m *Memo) arrange() {
	infos, err := m.nodes.List()
	if err != nil || len(infos) > 0 && len(infos) == len(m.infos) && &infos[0] == &m.infos[0] {
		return
	}
	m.infos, m.slots = infos, make(map[string]int, len(infos))
	for slot, info := range infos {
		m.slots[info.Node().Name] = slot
	}
	m.layout++
	m.templates = templates{}
}

// slotsOf returns the slots of feasible nodes.
func (m *Memo) slotsOf(nodes []fwk.NodeInfo) []int {
	m.buffer = m.buffer[:0]
	for i, node := range nodes {
		if i < len(m.feasible) && m.infos[m.feasible[i]] == node {
			m.buffer = append(m.buffer, m.feasible[i])
		} else {
			m.buffer = append(m.buffer, m.slots[node.Node().Name])
		}
	}
	return m.buffer
}

// stateKeys are upstream's, which it does not export.
const (
	affinityFilterKey = "PreFilter" + names.InterPodAffinity
	affinityScoreKey  = "PreScore" + names.InterPodAffinity
	spreadFilterKey   = "PreFilter" + names.PodTopologySpread
	spreadScoreKey    = "PreScore" + names.PodTopologySpread
)
