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

// podIndex are the pods on nodes, in classes, and a log of the pods that came and went. Pods that no rule distinguishes are in one class.
type podIndex struct {
	placed    map[types.NamespacedName]*placedPod
	peakPods  int // the highest number of pods that were placed at once
	classes   map[podTraits]*class
	classList []*class // by id

	// keys are the label keys that some selector reads, sorted. A new key makes the classes stale. inUse is the number of keys that the
	// last call of [podIndex.dropUnusedKeys] kept.
	keys  []string
	inUse int
	stale bool

	affinities map[*v1.Affinity]string // encoded, of some pods, at most as many as [podIndex.maxEntries] returns
	parsed     map[string]bool         // the encoded affinities whose selectors are in keys

	log           []podChange // the newest changes
	firstPosition int         // position of the first entry of log; older entries have been dropped
	era           int         // counts the times that all classes were rebuilt
}

// podTraits is everything about a pod that rules between pods read. Two pods with equal looks are interchangeable for every such rule.
type podTraits struct {
	namespace string
	labels    string // the pod's labels whose keys some selector reads
	affinity  string // pod affinity and pod anti-affinity, encoded
	ending    bool   // whether the pod is being deleted
}

// class is the set of pods that have the same [podTraits].
type class struct {
	id      int
	traits  podTraits
	info    fwk.PodInfo    // of one of them
	noRules bool           // whether the pods have no rules about other pods
	nodes   map[string]int // number of the class's pods on each node
}

type placedPod struct {
	pod   *v1.Pod
	class *class // nil while stale
}

// podChange says that a pod of the class came to the node (delta 1) or left it (delta -1).
type podChange struct {
	class *class
	node  string
	delta int
}

func newPodIndex() *podIndex {
	return &podIndex{
		placed: map[types.NamespacedName]*placedPod{}, classes: map[podTraits]*class{}, affinities: map[*v1.Affinity]string{}, parsed: map[string]bool{},
	}
}

func (p *podIndex) addPod(pod *v1.Pod) {
	b := &placedPod{pod: pod}
	p.placed[cluster.NameOf(pod)] = b
	p.peakPods = max(p.peakPods, len(p.placed))
	p.encodeAffinity(pod)
	if !p.stale {
		p.classify(b)
		p.logChange(b, 1)
	}
}

func (p *podIndex) removePod(pod *v1.Pod) {
	b := p.placed[cluster.NameOf(pod)]
	delete(p.placed, cluster.NameOf(pod))
	if !p.stale {
		p.logChange(b, -1)
	}
}

func (p *podIndex) classify(b *placedPod) {
	l := p.traitsOf(b.pod)
	c := p.classes[l]
	if c == nil {
		// The error is about terms that do not parse; upstream ignores it in pods on nodes.
		info, _ := framework.NewPodInfo(b.pod)
		c = &class{id: len(p.classList), traits: l, info: info, noRules: l.affinity == "", nodes: map[string]int{}}
		p.classes[l] = c
		p.classList = append(p.classList, c)
	}
	b.class = c
}

func (p *podIndex) logChange(b *placedPod, delta int) {
	node := b.pod.Spec.NodeName
	b.class.nodes[node] += delta
	if b.class.nodes[node] == 0 {
		delete(b.class.nodes, node)
	}
	p.log = append(p.log, podChange{class: b.class, node: node, delta: delta})
	// Without this bound the log would grow for ever. With 1,000 pods on nodes, it grows to 2 × 8,096 entries and is then cut to the newest
	// 8,096. A state that is further behind walks over the pods again, which takes no longer than to apply so many changes.
	if most := 4*len(p.placed) + 1<<12; len(p.log) > 2*most {
		drop := len(p.log) - most
		p.log = slices.Delete(p.log, 0, drop)
		p.firstPosition += drop
	}
}

// maxEntries bounds how many classes, encoded affinities and label keys are kept: twice the highest number of pods that were on nodes at once,
// and 1,024 more. If 100 pods were there at most, a search that places pods with new labels again and again keeps up to 1,224 classes. Most
// of the classes beyond that would be about pods that are gone and do not come back.
func (p *podIndex) maxEntries() int { return 2*p.peakPods + 1<<10 }

// refreshClasses rebuilds the classes if a selector reads a new label key, or if there are too many classes.
func (p *podIndex) refreshClasses() {
	if !p.stale && len(p.classList) <= p.maxEntries() {
		return
	}
	p.stale = false
	p.era++
	p.classes, p.classList = map[podTraits]*class{}, nil
	p.firstPosition += len(p.log)
	p.log = nil
	for _, b := range p.placed {
		p.classify(b)
		b.class.nodes[b.pod.Spec.NodeName]++
	}
}

// dropUnusedKeys drops the keys that no rule of a pod on a node and no Service reads, once there are more keys than twice inUse plus [podIndex.maxEntries].
// Other readers of a key, such as a nominated pod or the pod of a cycle, report the key again before the next pod is placed.
func (p *podIndex) dropUnusedKeys(services []*v1.Service) {
	if len(p.keys) <= 2*p.inUse+p.maxEntries() {
		return
	}
	p.keys, p.stale = nil, true
	clear(p.affinities)
	clear(p.parsed)
	for _, b := range p.placed {
		p.encodeAffinity(b.pod)
	}
	p.trackServices(services)
	p.inUse = len(p.keys)
}

// endPosition returns the position after the newest change.
func (p *podIndex) endPosition() int { return p.firstPosition + len(p.log) }

// changesSince returns the changes from the position on. It reports false if some of them have been dropped.
func (p *podIndex) changesSince(position int) ([]podChange, bool) {
	if position < p.firstPosition {
		return nil, false
	}
	return p.log[position-p.firstPosition:], true
}

func (p *podIndex) traitsOf(pod *v1.Pod) podTraits {
	var kept strings.Builder
	for _, key := range p.keys {
		if value, found := pod.Labels[key]; found {
			kept.WriteString(key)
			kept.WriteByte('=')
			kept.WriteString(value)
			kept.WriteByte(',')
		}
	}
	return podTraits{namespace: pod.Namespace, labels: kept.String(), affinity: p.encodeAffinity(pod), ending: pod.DeletionTimestamp != nil}
}

// encodeAffinity returns the pod's rules about other pods, encoded as one string. It also makes the classes differ in the labels that these
// rules read.
func (p *podIndex) encodeAffinity(pod *v1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil {
		return ""
	}
	encoded, found := p.affinities[affinity]
	if found {
		return encoded
	}
	if len(p.affinities) >= p.maxEntries() {
		clear(p.affinities)
		clear(p.parsed)
	}
	encoded = (&v1.Affinity{PodAffinity: affinity.PodAffinity, PodAntiAffinity: affinity.PodAntiAffinity}).String()
	p.affinities[affinity] = encoded
	if !p.parsed[encoded] {
		p.parsed[encoded] = true
		info, _ := framework.NewPodInfo(pod)
		for _, term := range slices.Concat(info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()) {
			p.trackSelector(term.Selector)
		}
		for _, term := range slices.Concat(info.GetPreferredAffinityTerms(), info.GetPreferredAntiAffinityTerms()) {
			p.trackSelector(term.Selector)
		}
	}
	return encoded
}

// trackSelector makes the classes differ in the labels that the selector reads.
func (p *podIndex) trackSelector(selector labels.Selector) {
	requirements, _ := selector.Requirements() // a selector that selects nothing has none
	for _, r := range requirements {
		p.trackKey(r.Key())
	}
}

func (p *podIndex) trackServices(services []*v1.Service) {
	for _, service := range services {
		for key := range service.Spec.Selector {
			p.trackKey(key)
		}
	}
}

func (p *podIndex) trackKey(key string) {
	if at, found := slices.BinarySearch(p.keys, key); !found {
		p.keys = slices.Insert(p.keys, at, key)
		p.stale = true
	}
}
