package sched

import (
	"fmt"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// arguments holds the arguments of the plugins whose scores have parts.
type arguments struct {
	interPodAffinity  schedulerapi.InterPodAffinityArgs
	podTopologySpread schedulerapi.PodTopologySpreadArgs
	nodeAffinity      schedulerapi.NodeAffinityArgs
}

// argumentsOf returns the arguments of the profile's plugins.
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

// The names by which parts call the fields of rules.
const (
	preferredAffinity     = "preferred affinity"
	preferredAntiAffinity = "preferred anti-affinity"
	requiredAffinity      = "required affinity"
	constraint            = "constraint"
	preferredNodeAffinity = "preferred node affinity"
)

// scoreParts splits the raw scores of the nodes into the contribution of each rule, by plugin and node. Upstream keeps only the sums, so parts
// repeats the computation for a few nodes; tests compare the sums of parts with the plugins' own scores. Each part names at most limit
// existing pods; 0 means all.
func (p *profile) scoreParts(state fwk.CycleState, pod fwk.PodInfo, scores []*fwk.NodePluginScores, limit int) map[string][][]placement.Part {
	nodes := make([]fwk.NodeInfo, len(scores))
	for i, score := range scores {
		nodes[i], _ = p.engine.snapshot.Get(score.Name) // a node that was just scored is in the snapshot
	}
	parts := map[string][][]placement.Part{}
	skipped := state.GetSkipScorePlugins()
	if !skipped.Has(names.InterPodAffinity) {
		parts[names.InterPodAffinity] = p.affinityParts(pod, &examined{nodes, map[string]*numberedDomains{}}, limit)
	}
	if !skipped.Has(names.PodTopologySpread) {
		parts[names.PodTopologySpread] = p.spreadParts(state, pod.GetPod(), nodes, limit)
	}
	if !skipped.Has(names.NodeAffinity) {
		parts[names.NodeAffinity] = p.nodeAffinityParts(pod.GetPod(), nodes)
	}
	return parts
}

// spreadParts reads the counts of PodTopologySpread from its own state. Upstream does not export the type but does export its fields, "for
// comparison during testing". For the key hostname, spreadParts counts the pods of a node as the plugin does when it scores.
func (p *profile) spreadParts(state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, limit int) [][]placement.Part {
	parts := make([][]placement.Part, len(nodes))
	data, err := state.Read(fwk.StateKey("PreScore" + names.PodTopologySpread))
	if err != nil {
		return parts
	}
	counted := reflect.ValueOf(data).Elem()
	ignored := counted.FieldByName("IgnoredNodes").Interface().(sets.Set[string])
	origin := placement.Own
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		origin = placement.ProfileDefault
		if p.args.podTopologySpread.DefaultingType == schedulerapi.SystemDefaulting {
			origin = placement.SystemDefault
		}
	}
	weights := counted.FieldByName("TopologyNormalizingWeight").Interface().([]float64)
	counts := counted.FieldByName("TopologyValueToPodCounts").Interface().([]map[string]*int64)
	constraints := counted.FieldByName("Constraints")
	most := constraints.Len()
	all := make([]placement.Part, most*len(nodes)) // one allocation for all nodes
	for i := range most {
		field := constraints.Index(i).FieldByName
		selector := field("Selector").Interface().(labels.Selector)
		index, maxSkew := i, field("MaxSkew").Int()
		if origin == placement.Own {
			index = softIndex(pod, i)
		}
		rule := placement.Part{
			Rule: fmt.Sprintf("%s, maxSkew %d", origin.DescribeRule(constraint, index), maxSkew), TopologyKey: field("TopologyKey").String(), Weight: weights[i],
		}
		for n, info := range nodes {
			part, found := rule, false
			if part.Domain, found = info.Node().Labels[rule.TopologyKey]; !found || ignored.Has(info.Node().Name) {
				continue
			}
			if rule.TopologyKey == v1.LabelHostname {
				part.Count, part.Pods = p.countMatchingCached(constraintKey{data, limit}, info, selector, pod.Namespace)
			} else {
				part.Count = int(*counts[i][part.Domain])
			}
			part.Score = float64(part.Count)*part.Weight + float64(maxSkew-1)
			if parts[n] == nil {
				parts[n] = all[n*most : n*most : (n+1)*most]
			}
			parts[n] = append(parts[n], part)
		}
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

// constraintKey identifies the soft constraint over hostnames, of which a pod has at most one. The key has the plugin's state, which a memo
// passes from pod to pod of a template.
type constraintKey struct {
	state fwk.StateData
	limit int // of the pods to name; 0: no limit
}

// matchCount has the number of a node's pods that a constraint counted, and the node's generation at that time.
type matchCount struct {
	generation int64
	count      int
	names      []string // of the first pods
}

// countMatchingCached returns how many of a node's pods a constraint counts, and the names of the first of them. With a memo, it counts again only if
// the node has changed.
func (p *profile) countMatchingCached(key constraintKey, info fwk.NodeInfo, selector labels.Selector, namespace string) (count int, names []string) {
	kept := p.engine.memo
	if kept == nil {
		return countMatching(info, selector, namespace, key.limit)
	}
	if p.matchCounts[key] == nil {
		if len(p.matchCounts)*p.engine.snapshot.NumNodesInPlacement() > maxTallied {
			clear(p.matchCounts)
		}
		p.matchCounts[key] = map[string]matchCount{}
	}
	name := info.Node().Name
	m, generation := p.matchCounts[key][name], kept.Generation(kept.Slot(name))
	if m.generation != generation {
		count, names := countMatching(info, selector, namespace, key.limit)
		m = matchCount{generation, count, names}
		p.matchCounts[key][name] = m
	}
	return m.count, m.names
}

// countMatching counts the node's pods in the namespace that match the selector and are not Terminating. It also returns the names of the first
// limit pods; 0 means all.
func countMatching(info fwk.NodeInfo, selector labels.Selector, namespace string, limit int) (count int, names []string) {
	if selector.Empty() {
		return 0, nil
	}
	for _, existing := range info.GetPods() {
		pod := existing.GetPod()
		if pod.DeletionTimestamp != nil || pod.Namespace != namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		count++
		if limit == 0 || count <= limit {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	return count, names
}

// nodeAffinityParts lets upstream match each preferred term separately.
func (p *profile) nodeAffinityParts(pod *v1.Pod, nodes []fwk.NodeInfo) [][]placement.Part {
	parts := make([][]placement.Part, len(nodes))
	add := func(origin placement.Origin, terms []v1.PreferredSchedulingTerm) {
		for i, term := range terms {
			parsed, err := nodeaffinity.NewPreferredSchedulingTerms([]v1.PreferredSchedulingTerm{term})
			if err != nil {
				continue // the plugin has already parsed it
			}
			for n, node := range nodes {
				parts[n] = append(parts[n], placement.Part{
					Rule: origin.DescribeRule(preferredNodeAffinity, i), Weight: float64(term.Weight), Score: float64(parsed.Score(node.Node())),
				})
			}
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
