package memo

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
)

// pods are the pods on nodes, in classes, and a log of the pods that came and went. Pods that no rule distinguishes are in one class.
type pods struct {
	placed  map[types.NamespacedName]*placed
	highest int // the highest number of pods that were placed at once
	classes map[looks]*class
	all     []*class // by id

	// keys are the label keys that some selector reads, sorted. A new key makes the classes stale. inUse is the number of keys that the
	// last call of [pods.forget] kept.
	keys  []string
	inUse int
	stale bool

	affinities map[*v1.Affinity]string // encoded, of some pods, at most as many as [pods.most] returns
	parsed     map[string]bool         // the encoded affinities whose selectors are in keys

	log   []change // the newest changes
	first int      // position of the first entry of log; older entries have been dropped
	era   int      // counts the times that all classes were rebuilt
}

// looks is everything about a pod that rules between pods read. Two pods with equal looks are interchangeable for every such rule.
type looks struct {
	namespace string
	labels    string // the pod's labels whose keys some selector reads
	affinity  string // pod affinity and pod anti-affinity, encoded
	ending    bool   // whether the pod is being deleted
}

// class is the set of pods that have the same [looks].
type class struct {
	id    int
	looks looks
	info  fwk.PodInfo    // of one of them
	free  bool           // whether the pods have no rules about other pods
	nodes map[string]int // number of the class's pods on each node
}

type placed struct {
	pod   *v1.Pod
	class *class // nil while stale
}

// change says that a pod of the class came to the node (delta 1) or left it (delta -1).
type change struct {
	class *class
	node  string
	delta int
}

func newPods() *pods {
	return &pods{
		placed: map[types.NamespacedName]*placed{}, classes: map[looks]*class{}, affinities: map[*v1.Affinity]string{}, parsed: map[string]bool{},
	}
}

func (p *pods) add(pod *v1.Pod) {
	b := &placed{pod: pod}
	p.placed[cluster.NameOf(pod)] = b
	p.highest = max(p.highest, len(p.placed))
	p.affinityOf(pod)
	if !p.stale {
		p.classify(b)
		p.note(b, 1)
	}
}

func (p *pods) remove(pod *v1.Pod) {
	b := p.placed[cluster.NameOf(pod)]
	delete(p.placed, cluster.NameOf(pod))
	if !p.stale {
		p.note(b, -1)
	}
}

func (p *pods) classify(b *placed) {
	l := p.looksOf(b.pod)
	c := p.classes[l]
	if c == nil {
		// The error is about terms that do not parse; upstream ignores it in pods on nodes.
		info, _ := framework.NewPodInfo(b.pod)
		c = &class{id: len(p.all), looks: l, info: info, free: l.affinity == "", nodes: map[string]int{}}
		p.classes[l] = c
		p.all = append(p.all, c)
	}
	b.class = c
}

func (p *pods) note(b *placed, delta int) {
	node := b.pod.Spec.NodeName
	b.class.nodes[node] += delta
	if b.class.nodes[node] == 0 {
		delete(b.class.nodes, node)
	}
	p.log = append(p.log, change{class: b.class, node: node, delta: delta})
	// Without this bound the log would grow for ever. With 1,000 pods on nodes, it grows to 2 × 8,096 entries and is then cut to the newest
	// 8,096. A state that is further behind walks over the pods again, which takes no longer than to apply so many changes.
	if most := 4*len(p.placed) + 1<<12; len(p.log) > 2*most {
		drop := len(p.log) - most
		p.log = slices.Delete(p.log, 0, drop)
		p.first += drop
	}
}

// most bounds how many classes, encoded affinities and label keys are kept: twice the highest number of pods that were on nodes at once,
// and 1,024 more. If 100 pods were there at most, a search that places pods with new labels again and again keeps up to 1,224 classes. Most
// of the classes beyond that would be about pods that are gone and do not come back.
func (p *pods) most() int { return 2*p.highest + 1<<10 }

// settle rebuilds the classes if a selector reads a new label key, or if there are too many classes.
func (p *pods) settle() {
	if !p.stale && len(p.all) <= p.most() {
		return
	}
	p.stale = false
	p.era++
	p.classes, p.all = map[looks]*class{}, nil
	p.first += len(p.log)
	p.log = nil
	for _, b := range p.placed {
		p.classify(b)
		b.class.nodes[b.pod.Spec.NodeName]++
	}
}

// forget drops the keys that no rule of a pod on a node and no Service reads, once there are more keys than twice inUse plus [pods.most].
// Other readers of a key, such as a nominated pod or the pod of a cycle, report the key again before the next pod is placed.
func (p *pods) forget(services []*v1.Service) {
	if len(p.keys) <= 2*p.inUse+p.most() {
		return
	}
	p.keys, p.stale = nil, true
	clear(p.affinities)
	clear(p.parsed)
	for _, b := range p.placed {
		p.affinityOf(b.pod)
	}
	p.readServices(services)
	p.inUse = len(p.keys)
}

// end returns the position after the newest change.
func (p *pods) end() int { return p.first + len(p.log) }

// since returns the changes from the position on. It reports false if some of them have been dropped.
func (p *pods) since(position int) ([]change, bool) {
	if position < p.first {
		return nil, false
	}
	return p.log[position-p.first:], true
}

func (p *pods) looksOf(pod *v1.Pod) looks {
	var kept strings.Builder
	for _, key := range p.keys {
		if value, found := pod.Labels[key]; found {
			kept.WriteString(key)
			kept.WriteByte('=')
			kept.WriteString(value)
			kept.WriteByte(',')
		}
	}
	return looks{namespace: pod.Namespace, labels: kept.String(), affinity: p.affinityOf(pod), ending: pod.DeletionTimestamp != nil}
}

// affinityOf returns the pod's rules about other pods, encoded as one string. It also makes the classes differ in the labels that these
// rules read.
func (p *pods) affinityOf(pod *v1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil {
		return ""
	}
	encoded, found := p.affinities[affinity]
	if found {
		return encoded
	}
	if len(p.affinities) >= p.most() {
		clear(p.affinities)
		clear(p.parsed)
	}
	encoded = (&v1.Affinity{PodAffinity: affinity.PodAffinity, PodAntiAffinity: affinity.PodAntiAffinity}).String()
	p.affinities[affinity] = encoded
	if !p.parsed[encoded] {
		p.parsed[encoded] = true
		info, _ := framework.NewPodInfo(pod)
		for _, term := range slices.Concat(info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()) {
			p.reads(term.Selector)
		}
		for _, term := range slices.Concat(info.GetPreferredAffinityTerms(), info.GetPreferredAntiAffinityTerms()) {
			p.reads(term.Selector)
		}
	}
	return encoded
}

// reads makes the classes differ in the labels that the selector reads.
func (p *pods) reads(selector labels.Selector) {
	requirements, _ := selector.Requirements() // a selector that selects nothing has none
	for _, r := range requirements {
		p.readsKey(r.Key())
	}
}

func (p *pods) readServices(services []*v1.Service) {
	for _, service := range services {
		for key := range service.Spec.Selector {
			p.readsKey(key)
		}
	}
}

func (p *pods) readsKey(key string) {
	if at, found := slices.BinarySearch(p.keys, key); !found {
		p.keys = slices.Insert(p.keys, at, key)
		p.stale = true
	}
}
