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
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Memo caches what the plugins of one scheduler have answered. The scheduler must report every change of the cluster to it. A Memo is not
// safe for concurrent use.
type Memo struct {
	// Aside, if set, reports whether the cache is bypassed for a pod: its plugins are asked everything.
	Aside func(*v1.Pod) bool

	informers      informers.SharedInformerFactory
	services       []*v1.Service
	selectServices func(*v1.Pod) []*v1.Service // finds the services that select a pod; nil: to be built, since the services changed
	nodes          fwk.NodeInfoLister
	pods           *podIndex
	plugins        map[fwk.Handle]map[string]fwk.Plugin // by profile and name
	resources      fwk.DeviceClassResolver              // which resources are devices

	// The nodes in the snapshot's order. The index of a node in this order is its slot. These are plain slices, because following pointers
	// to thousands of nodes takes longer than the lookups themselves.
	infos       []fwk.NodeInfo
	names       []string
	generations []int64
	slots       map[string]int
	emptyNodes  []fwk.NodeInfo      // by slot: the node without its pods
	domains     map[string]*domains // by topology key
	changed     []string            // nodes whose generation has changed

	layoutVersion    int // counts the times that nodes came, went, or changed their labels or images
	taintVersion     int // counts the times that nodes changed their taints
	namespaceVersion int // counts the times that namespaces changed
	ownerVersion     int // counts the times that Services or the owners of pods changed

	lastCountVersion int64 // the newest version of the counts of rules between pods; see [Memo.nextCountVersion]

	templates  templates
	readings   specReadings
	current    *v1.Pod   // the pod of this cycle
	template   *template // the template of that pod; nil if the pod shares its answers with no other pod
	traits     podTraits // of that pod
	feasible   []int     // the slots of the nodes that passed the filters, in the order in which they were examined
	askedSlot  int       // the slot of the node about which a plugin is asked
	slotBuffer []int
}

// New returns a memo for one scheduler. The scheduler reads nodes from the snapshot, device classes from the resolver, and everything else
// from the listers of the informers.
func New(snapshot fwk.SharedLister, factory informers.SharedInformerFactory, resources fwk.DeviceClassResolver) *Memo {
	m := &Memo{nodes: snapshot.NodeInfos(), pods: newPodIndex(), plugins: map[fwk.Handle]map[string]fwk.Plugin{}, resources: resources}
	m.informers = servicesFactory{factory, m}
	return m
}

// Registry returns a registry of the same plugins, some of them wrapped: InterPodAffinity and PodTopologySpread walk over the pods once per
// template, the two plugins of resources sum up the requests once per template, NodeVolumeLimits looks only at nodes where a limit may be
// reached, and VolumeBinding asks once which nodes reach bound volumes.
func (m *Memo) Registry(registry frameworkruntime.Registry) frameworkruntime.Registry {
	wrapped := maps.Clone(registry)
	for name, factory := range registry {
		wrapped[name] = func(ctx context.Context, args runtime.Object, profile fwk.Handle) (fwk.Plugin, error) {
			seen := &narrowedSnapshot{SharedLister: profile.SnapshotSharedLister()}
			given := profile
			if name == names.InterPodAffinity || name == names.PodTopologySpread {
				given = pluginHandle{profile, seen, m.informers}
			}
			plugin, err := factory(ctx, args, given)
			if err != nil {
				return nil, err
			}
			switch real := plugin.(type) {
			case *interpodaffinity.InterPodAffinity:
				plugin = &affinityPlugin{InterPodAffinity: real, memo: m, args: args.(*schedulerapi.InterPodAffinityArgs), snapshot: seen}
			case *podtopologyspread.PodTopologySpread:
				plugin = &spreadPlugin{PodTopologySpread: real, memo: m, snapshot: seen}
			case *nodevolumelimits.CSILimits:
				plugin = newVolumeLimits(real, m, profile)
			case *volumebinding.VolumeBinding:
				real.Binder = &volumeBinder{SchedulerVolumeBinder: real.Binder, volumes: m.informers.Core().V1().PersistentVolumes().Lister(), kept: map[string]map[string]reachAnswer{}}
			case *noderesources.Fit:
				plugin = &fitPlugin{real, m}
			case *noderesources.BalancedAllocation:
				plugin = &balancedPlugin{real, m}
			}
			if m.plugins[profile] == nil {
				m.plugins[profile] = map[string]fwk.Plugin{}
			}
			m.plugins[profile][name] = plugin
			return plugin, nil
		}
	}
	return wrapped
}

// PodAdded reports that the scheduler's cache got the pod.
func (m *Memo) PodAdded(pod *v1.Pod) {
	m.pods.addPod(pod)
	m.changed = append(m.changed, pod.Spec.NodeName)
}

// DropUnusedKeys drops the label keys that no selector reads any more, if they are many. The caller reports pods with a nominated node after this
// call.
func (m *Memo) DropUnusedKeys(services []*v1.Service) { m.pods.dropUnusedKeys(services) }

// PodNominated reports that a Pending pod has a node reserved for it. Filters see the pod on that node, with its rules about other pods.
func (m *Memo) PodNominated(pod *v1.Pod) { m.pods.encodeAffinity(pod) }

// PodRemoved reports that the scheduler's cache no longer has the pod.
func (m *Memo) PodRemoved(pod *v1.Pod) {
	m.pods.removePod(pod)
	m.changed = append(m.changed, pod.Spec.NodeName)
}

// NodeUpdated reports that a node changed. Added and removed nodes need no report: the snapshot's list shows them.
func (m *Memo) NodeUpdated(before, after *v1.Node) {
	m.changed = append(m.changed, after.Name)
	switch {
	case !maps.Equal(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Status.Images, after.Status.Images):
		m.infos = nil
	case !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints):
		m.taintVersion++
	}
}

// NamespacesChanged reports that namespaces, or their labels, have changed.
func (m *Memo) NamespacesChanged() {
	m.infos = nil
	m.namespaceVersion++
}

// OwnersChanged reports that Services, ReplicaSets or StatefulSets changed: their selectors decide which pods the default constraints
// spread.
func (m *Memo) OwnersChanged(services []*v1.Service) {
	m.ownerVersion++
	m.services, m.selectServices = services, nil
	m.pods.trackServices(services)
}

// beginCycle starts the scheduling cycle of a pod.
func (m *Memo) beginCycle(pod *v1.Pod) {
	m.numberNodes()
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		for _, key := range constraint.MatchLabelKeys {
			m.pods.trackKey(key)
		}
	}
	era := m.pods.era
	m.traits = m.pods.traitsOf(pod)
	m.pods.refreshClasses()
	if m.pods.era != era {
		m.traits = m.pods.traitsOf(pod)
	}
	m.current, m.template, m.feasible = pod, m.templateOf(pod), m.feasible[:0]
	if m.Aside != nil && m.Aside(pod) {
		m.current, m.template = nil, nil
	}
}

// ClassKey identifies the class of pods that no rule between pods distinguishes. It is valid until nodes or namespaces change.
type ClassKey struct {
	looks              podTraits
	era, layoutVersion int
}

// CurrentClass returns the class of the current pod.
func (m *Memo) CurrentClass() ClassKey { return ClassKey{m.traits, m.pods.era, m.layoutVersion} }

// Generation returns a number that grows with each change of the node at the slot, or of the node's pods.
func (m *Memo) Generation(slot int) int64 { return m.generations[slot] }

// Slot returns the node's index in the snapshot's list.
func (m *Memo) Slot(node string) int { return m.slots[node] }

// numberNodes numbers the nodes, if the snapshot has made a new list. It makes one when nodes come or go, and only then.
func (m *Memo) numberNodes() {
	infos, err := m.nodes.List()
	if err != nil || len(infos) > 0 && len(infos) == len(m.infos) && &infos[0] == &m.infos[0] {
		for _, name := range m.changed {
			if slot, found := m.slots[name]; found {
				m.generations[slot] = max(m.generations[slot]+1, m.infos[slot].GetGeneration())
			}
		}
		m.changed = m.changed[:0]
		return
	}
	m.infos, m.changed = infos, m.changed[:0]
	m.names, m.generations, m.slots = make([]string, len(infos)), make([]int64, len(infos)), make(map[string]int, len(infos))
	for slot, info := range infos {
		name := info.Node().Name
		m.names[slot], m.generations[slot], m.slots[name] = name, info.GetGeneration(), slot
	}
	m.domains, m.emptyNodes = map[string]*domains{}, make([]fwk.NodeInfo, len(infos))
	for slot, info := range infos {
		m.emptyNodes[slot] = emptyNode{info}
	}
	m.layoutVersion++
	m.askedSlot, m.templates = 0, templates{}
}

// domains are the values of a topology key, numbered from 0.
type domains struct {
	values     []string // by number; nodes without the key have the number of the value ""
	firstSlots []int    // by number: the slot of the first node
	number     []int    // by slot
	absent     []bool   // by slot: whether the node lacks the key
}

// placeCount returns how many different places nodes can have: two for each domain, since the node may have the key or lack it.
func (d *domains) placeCount() int { return 2 * len(d.values) }

// placeOf returns the node's place: 2n in the domain n, and 2n+1 if the node lacks the key.
func (d *domains) placeOf(slot int) int {
	if d.absent[slot] {
		return 2*d.number[slot] + 1
	}
	return 2 * d.number[slot]
}

func (m *Memo) domainsOf(key string) *domains {
	d := m.domains[key]
	if d != nil {
		return d
	}
	d = &domains{number: make([]int, len(m.infos)), absent: make([]bool, len(m.infos))}
	m.domains[key] = d
	numbers := map[string]int{}
	for slot, info := range m.infos {
		value, found := info.Node().Labels[key]
		number, known := numbers[value]
		if !known {
			number = len(d.values)
			numbers[value] = number
			d.values, d.firstSlots = append(d.values, value), append(d.firstSlots, slot)
		}
		d.number[slot], d.absent[slot] = number, !found
	}
	return d
}

// slotsOf returns the slots of feasible nodes, in memory that the next call uses again.
func (m *Memo) slotsOf(nodes []fwk.NodeInfo) []int {
	m.slotBuffer = m.slotBuffer[:0]
	for i, node := range nodes {
		if i < len(m.feasible) && m.infos[m.feasible[i]] == node {
			m.slotBuffer = append(m.slotBuffer, m.feasible[i])
		} else {
			m.slotBuffer = append(m.slotBuffer, m.slots[node.Node().Name])
		}
	}
	return m.slotBuffer
}

// nodesWithClasses returns the nodes that have pods of the classes for which matters is true, each node once.
func (m *Memo) nodesWithClasses(matters func(*class) bool) []fwk.NodeInfo {
	slots := map[int]bool{}
	for _, class := range m.pods.classList {
		if !matters(class) {
			continue
		}
		for node := range class.nodes {
			if slot, found := m.slots[node]; found { // no walk meets pods on a node that is gone
				slots[slot] = true
			}
		}
	}
	nodes := make([]fwk.NodeInfo, 0, len(slots))
	for slot := range slots {
		nodes = append(nodes, m.infos[slot])
	}
	return nodes
}

// slotOf returns the node's slot. It tries the slot probably first, which saves a map lookup.
func (m *Memo) slotOf(node fwk.NodeInfo, probably int) int {
	if probably < len(m.infos) && m.infos[probably] == node {
		return probably
	}
	return m.slots[node.Node().Name]
}

// The keys under which upstream's plugins keep their cycle states. Upstream does not export them.
const (
	affinityFilterKey = "PreFilter" + names.InterPodAffinity
	affinityScoreKey  = "PreScore" + names.InterPodAffinity
	spreadFilterKey   = "PreFilter" + names.PodTopologySpread
	spreadScoreKey    = "PreScore" + names.PodTopologySpread
	fitScoreKey       = "PreScore" + names.NodeResourcesFit
	balancedScoreKey  = "PreScore" + names.NodeResourcesBalancedAllocation
)
