package sched

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// arguments are the arguments of a profile's plugins whose scores have parts.
type arguments struct {
	interPodAffinity  schedulerapi.InterPodAffinityArgs
	podTopologySpread schedulerapi.PodTopologySpreadArgs
	nodeAffinity      schedulerapi.NodeAffinityArgs
}

func argumentsOf(profile schedulerapi.KubeSchedulerProfile) arguments {
	var a arguments
	for _, config := range profile.PluginConfig {
		switch args := config.Args.(type) {
		case *schedulerapi.InterPodAffinityArgs:
			a.interPodAffinity = *args
		case *schedulerapi.PodTopologySpreadArgs:
			a.podTopologySpread = *args
		case *schedulerapi.NodeAffinityArgs:
			a.nodeAffinity = *args
		}
	}
	return a
}

// parts splits the raw scores of the nodes, by plugin, into what each rule contributed. Upstream keeps only the sums; this repeats the
// computation for a few nodes, and the tests compare its sums with the plugins' own scores. Each part names at most limit existing pods; 0
// names all.
func (p *profile) parts(state fwk.CycleState, pod fwk.PodInfo, scores []*fwk.NodePluginScores, limit int) []map[string][]placement.Part {
	nodes := make([]fwk.NodeInfo, len(scores))
	parts := make([]map[string][]placement.Part, len(scores))
	for i, score := range scores {
		nodes[i], _ = p.engine.snapshot.Get(score.Name) // it has just been scored, so it is there
		parts[i] = map[string][]placement.Part{}
	}
	skipped := state.GetSkipScorePlugins()
	if !skipped.Has(names.InterPodAffinity) {
		affinity := p.affinityTally(pod, nodes, limit)
		for i, node := range nodes {
			parts[i][names.InterPodAffinity] = affinity.partsOf(node.Node())
		}
	}
	if !skipped.Has(names.PodTopologySpread) {
		for i, node := range nodes {
			parts[i][names.PodTopologySpread] = p.spreadParts(state, pod.GetPod(), node, limit)
		}
	}
	if !skipped.Has(names.NodeAffinity) {
		for i, node := range nodes {
			parts[i][names.NodeAffinity] = p.nodeAffinityParts(pod.GetPod(), node.Node())
		}
	}
	return parts
}

// tally counts, for each term, the existing pods by domain.
type tally struct {
	limit int
	// wanted are the values of the examined nodes, by topology key: pods elsewhere do not count for them.
	wanted map[string]sets.Set[string]
	nodes  []fwk.NodeInfo
	parts  map[affinityTerm]map[string]*placement.Part
	order  []affinityTerm
}

// affinityTerm identifies terms: the pod's own by their index, those of existing pods by controller. Bare pods share one.
type affinityTerm struct {
	origin     placement.Origin
	rule       string
	index      int
	key        string
	weight     int32
	controller types.UID
}

// count counts a pod in the domain for the term.
func (t *tally) count(term affinityTerm, domain string, existing *v1.Pod) {
	part := t.part(term, domain)
	part.Count++
	part.Score += part.Weight
	if t.limit == 0 || len(part.Pods) < t.limit {
		part.Pods = append(part.Pods, existing.Namespace+"/"+existing.Name)
	}
}

func (t *tally) part(term affinityTerm, domain string) *placement.Part {
	if t.parts[term] == nil {
		t.parts[term] = map[string]*placement.Part{}
		t.order = append(t.order, term)
	}
	part := t.parts[term][domain]
	if part == nil {
		part = &placement.Part{
			Origin: term.origin, Rule: term.rule, Index: term.index, TopologyKey: term.key, Domain: domain, Weight: float64(term.weight),
		}
		t.parts[term][domain] = part
	}
	return part
}

// partsOf returns the parts of a node's score.
func (t *tally) partsOf(node *v1.Node) []placement.Part {
	var parts []placement.Part
	for _, term := range t.order {
		domain, found := node.Labels[term.key]
		if part := t.parts[term][domain]; found && part != nil {
			parts = append(parts, *part)
		}
	}
	return parts
}

// wants returns the node's domain for the key, and whether one of the examined nodes is in it.
func (t *tally) wants(key string, node *v1.Node) (string, bool) {
	domain, found := node.Labels[key]
	if !found {
		return "", false
	}
	values, known := t.wanted[key]
	if !known {
		values = sets.New[string]()
		for _, info := range t.nodes {
			if value, found := info.Node().Labels[key]; found {
				values.Insert(value)
			}
		}
		t.wanted[key] = values
	}
	return domain, values.Has(domain)
}

// affinityTally visits the existing pods as the plugin's PreScore does. See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity/scoring.go
func (p *profile) affinityTally(pod fwk.PodInfo, nodes []fwk.NodeInfo, limit int) *tally {
	t := &tally{limit: limit, wanted: map[string]sets.Set[string]{}, nodes: nodes, parts: map[affinityTerm]map[string]*placement.Part{}}
	incoming := pod.GetPod()
	namespaces := p.engine.informers.Core().V1().Namespaces().Lister()
	labelsOf := map[string]labels.Set{}
	namespaceLabels := func(namespace string) labels.Set {
		set, known := labelsOf[namespace]
		if !known {
			set = interpodaffinity.GetNamespaceLabelsSnapshot(klog.FromContext(p.engine.ctx), namespace, namespaces)
			labelsOf[namespace] = set
		}
		return set
	}
	own := ownTerms(pod)
	// The pod's own terms are included even if they count no pod.
	for _, term := range own {
		for _, node := range nodes {
			if domain, found := node.Node().Labels[term.key]; found {
				t.part(term.affinityTerm, domain)
			}
		}
	}
	infos, _ := p.engine.snapshot.NodeInfos().List() // a snapshot's list never fails
	incomingNamespace := namespaceLabels(incoming.Namespace)
	applying := map[rules][]affinityTerm{}
	for _, info := range p.engine.domains.around(nodes, infos, own) {
		node := info.Node()
		for _, term := range own {
			domain, wanted := t.wants(term.key, node)
			if !wanted {
				continue
			}
			for _, existing := range info.GetPods() {
				if other := existing.GetPod(); term.Matches(other, namespaceLabels(other.Namespace)) {
					t.count(term.affinityTerm, domain, other)
				}
			}
		}
		for _, existing := range info.GetPodsWithAffinity() {
			theirs := rulesOf(existing.GetPod())
			terms, known := applying[theirs]
			if !known {
				for _, term := range p.theirTerms(existing, theirs.controller) {
					if term.Matches(incoming, incomingNamespace) {
						terms = append(terms, term.affinityTerm)
					}
				}
				applying[theirs] = terms
			}
			for _, term := range terms {
				if domain, wanted := t.wants(term.key, node); wanted {
					t.count(term, domain, existing.GetPod())
				}
			}
		}
	}
	return t
}

// matchingTerm is an affinityTerm with what it matches.
type matchingTerm struct {
	affinityTerm
	*fwk.AffinityTerm
}

// Names of the fields that contain rules.
const (
	preferredAffinity     = "preferred affinity"
	preferredAntiAffinity = "preferred anti-affinity"
	requiredAffinity      = "required affinity"
	constraint            = "constraint"
	preferredNodeAffinity = "preferred node affinity"
)

func ownTerms(pod fwk.PodInfo) []matchingTerm {
	var terms []matchingTerm
	add := func(rule string, weighted []fwk.WeightedAffinityTerm, sign int32) {
		for i := range weighted {
			term := affinityTerm{origin: placement.Own, rule: rule, index: i, key: weighted[i].TopologyKey, weight: sign * weighted[i].Weight}
			terms = append(terms, matchingTerm{affinityTerm: term, AffinityTerm: &weighted[i].AffinityTerm})
		}
	}
	add(preferredAffinity, pod.GetPreferredAffinityTerms(), 1)
	add(preferredAntiAffinity, pod.GetPreferredAntiAffinityTerms(), -1)
	return terms
}

// rules are what pods have in common whose terms are the same. The pods of one template share their affinity.
type rules struct {
	affinity   *v1.Affinity
	namespace  string
	controller types.UID
}

func rulesOf(pod *v1.Pod) rules {
	r := rules{affinity: pod.Spec.Affinity, namespace: pod.Namespace}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		r.controller = owner.UID
	}
	return r
}

// theirTerms returns the terms of an existing pod that count for others.
func (p *profile) theirTerms(existing fwk.PodInfo, controller types.UID) []matchingTerm {
	var terms []matchingTerm
	add := func(origin placement.Origin, rule string, weight int32, term *fwk.AffinityTerm) {
		known := affinityTerm{origin: origin, rule: rule, index: -1, key: term.TopologyKey, weight: weight, controller: controller}
		terms = append(terms, matchingTerm{affinityTerm: known, AffinityTerm: term})
	}
	if weight := p.args.interPodAffinity.HardPodAffinityWeight; weight > 0 {
		for i := range existing.GetRequiredAffinityTerms() {
			add(placement.ExistingRequired, requiredAffinity, weight, &existing.GetRequiredAffinityTerms()[i])
		}
	}
	for i := range existing.GetPreferredAffinityTerms() {
		term := &existing.GetPreferredAffinityTerms()[i]
		add(placement.Existing, preferredAffinity, term.Weight, &term.AffinityTerm)
	}
	for i := range existing.GetPreferredAntiAffinityTerms() {
		term := &existing.GetPreferredAntiAffinityTerms()[i]
		add(placement.Existing, preferredAntiAffinity, -term.Weight, &term.AffinityTerm)
	}
	return terms
}

// spreadParts reads the counts of PodTopologySpread from its own state. Upstream does not export the type but does export its fields, "for
// comparison during testing". Pods of a node are counted as the plugin does when it scores.
func (p *profile) spreadParts(state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo, limit int) []placement.Part {
	data, err := state.Read(fwk.StateKey("PreScore" + names.PodTopologySpread))
	if err != nil {
		return nil
	}
	counted := reflect.ValueOf(data).Elem()
	node := info.Node()
	if counted.FieldByName("IgnoredNodes").Interface().(sets.Set[string]).Has(node.Name) {
		return nil
	}
	origin := placement.Own
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		origin = placement.ProfileDefault
		if p.args.podTopologySpread.DefaultingType == schedulerapi.SystemDefaulting {
			origin = placement.SystemDefault
		}
	}
	var parts []placement.Part
	constraints := counted.FieldByName("Constraints")
	for i := range constraints.Len() {
		field := constraints.Index(i).FieldByName
		key := field("TopologyKey").String()
		domain, found := node.Labels[key]
		if !found {
			continue
		}
		part := placement.Part{
			Origin: origin, Rule: constraint, Index: i, TopologyKey: key, Domain: domain, MaxSkew: int32(field("MaxSkew").Int()),
			Weight: counted.FieldByName("TopologyNormalizingWeight").Index(i).Float(),
		}
		if origin == placement.Own {
			part.Index = softIndex(pod, i)
		}
		selector := field("Selector").Interface().(labels.Selector)
		if key == v1.LabelHostname {
			for _, name := range matching(info, selector, pod.Namespace) {
				part.Count++
				if limit == 0 || len(part.Pods) < limit {
					part.Pods = append(part.Pods, name)
				}
			}
		} else {
			counts := counted.FieldByName("TopologyValueToPodCounts").Index(i).Interface().(map[string]*int64)
			part.Count = int(*counts[domain])
		}
		part.Score = float64(part.Count)*part.Weight + float64(part.MaxSkew-1)
		parts = append(parts, part)
	}
	return parts
}

// softIndex returns the index in the pod's spec of the i-th constraint that only scores.
func softIndex(pod *v1.Pod, i int) int {
	for at, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.ScheduleAnyway {
			continue
		}
		if i == 0 {
			return at
		}
		i--
	}
	return -1
}

// matching returns the pods of a node that a constraint counts: in the namespace, matching, and not Terminating.
func matching(info fwk.NodeInfo, selector labels.Selector, namespace string) []string {
	if selector.Empty() {
		return nil
	}
	var pods []string
	for _, existing := range info.GetPods() {
		pod := existing.GetPod()
		if pod.DeletionTimestamp == nil && pod.Namespace == namespace && selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod.Namespace+"/"+pod.Name)
		}
	}
	return pods
}

// nodeAffinityParts has upstream match each preferred term separately.
func (p *profile) nodeAffinityParts(pod *v1.Pod, node *v1.Node) []placement.Part {
	var parts []placement.Part
	add := func(origin placement.Origin, terms []v1.PreferredSchedulingTerm) {
		for i, term := range terms {
			parsed, err := nodeaffinity.NewPreferredSchedulingTerms([]v1.PreferredSchedulingTerm{term})
			if err != nil {
				continue // the plugin has already parsed it
			}
			parts = append(parts, placement.Part{
				Origin: origin, Rule: preferredNodeAffinity, Index: i, Weight: float64(term.Weight), Score: float64(parsed.Score(node)),
			})
		}
	}
	if added := p.args.nodeAffinity.AddedAffinity; added != nil {
		add(placement.ProfileDefault, added.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		add(placement.Own, affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return parts
}
