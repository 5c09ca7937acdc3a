package memo

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// nodeLocal lists the plugins whose Filter and Score read nothing but the pod's template and the NodeInfo, each with what it reads. What
// they need of the pod is in their cycle state, which PreFilter and PreScore write anew in each cycle. A plugin that is not listed is asked
// each time: it reads other nodes and their pods (InterPodAffinity, PodTopologySpread), or claims and volumes (VolumeBinding and the like,
// DynamicResources), or nobody has checked what it reads.
var nodeLocal = sets.New(
	names.NodeUnschedulable,               // node.spec.unschedulable; tolerations
	names.NodeName,                        // the node's name; spec.nodeName
	names.TaintToleration,                 // node.spec.taints; tolerations
	names.NodeAffinity,                    // the node's labels and name; nodeSelector, node affinity, the profile's arguments
	names.NodePorts,                       // the ports used on the node; host ports
	names.NodeResourcesFit,                // allocatable, requested and number of pods; requests, the profile's arguments
	names.NodeResourcesBalancedAllocation, // likewise
	names.ImageLocality,                   // the images on the node, on how many nodes each image is, the number of nodes (see [Memo.numberNodes] and [Memo.NodeUpdated]); images
)

// ReadsOneNode reports whether the plugin's Filter and Score read nothing but the pod's template and the node that is asked about.
func ReadsOneNode(plugin string) bool { return nodeLocal.Has(plugin) }

// Framework is a scheduler profile that asks plugins only what they have not answered before.
type Framework struct {
	framework.Framework
	// Kept and Plain count scheduling cycles: Kept with the cache, Plain without.
	Kept, Plain int

	memo          *Memo
	reserves      func(node string) uint32
	filters       []enabledFilter
	scores        []enabledScore
	leadingLocals int // number of node-local filters before the first other one
	localScores   int // number of node-local scores
	rejections    rejections

	// The fields below are about the current pod.
	answers      *answers // nil: nothing is cached for this pod, ask everything
	askedFilters []int    // the filters that are asked about every node
	nonlocal     nonlocalReads
	nextSlot     int            // the slot of the node that upstream probably examines next
	plugins      []enabledScore // whose scores are asked for
	list         []fwk.NodeScore
	raw, all     []fwk.PluginScore // by node and plugin; the plugins' names in them are those of named
	named        []string
	nodes        []fwk.NodePluginScores
}

type enabledFilter struct {
	fwk.FilterPlugin
	name  string
	local bool
}

type enabledScore struct {
	fwk.ScorePlugin
	name           string
	weight         int64
	localIndex     int  // the index among the node-local scores; -1: not node-local
	localIfSkipped bool // whether the score is node-local only while its filter is skipped
}

// answers are what the node-local plugins have said about each node, by slot. They hold for all pods of the templates that share a [templateBase].
type answers struct {
	verdicts []verdict
	scores   []int16   // the scores of all node-local plugins for the first node, then for the next
	emptied  []verdict // of the nodes without the pods that the templates may preempt; nil: nothing is known
}

// verdict is what the node-local filters say about one node for the templates of one [templateBase]. There is one for each such pair, so it is
// small (8 bytes), and it has no pointer, so that the garbage collector skips the slice.
type verdict struct {
	generation uint32 // the lower half of the node's generation when the filters were asked; 0: never
	rejection  uint16 // the number of the status in Framework.rejections; 0: no filter rejected the node
	rejectedBy uint8  // the index of the filter that rejected the node; the number of filters if no filter did
	scored     bool   // whether answers.scores has the scores of the node
}

// Framework returns a caching version of the profile, whose plugins must come from the memo's registry. The function reserves returns 0 if
// no Pending pod has the node nominated, and otherwise a number that identifies the pods that have. Filters see these pods on the node.
func (m *Memo) Framework(profile framework.Framework, reserves func(node string) uint32) *Framework {
	f := &Framework{Framework: profile, memo: m, reserves: reserves}
	plugins := profile.ListPlugins()
	for _, enabled := range plugins.Filter.Enabled {
		plugin := m.plugins[profile][enabled.Name].(fwk.FilterPlugin)
		f.filters = append(f.filters, enabledFilter{plugin, enabled.Name, nodeLocal.Has(enabled.Name)})
		if f.leadingLocals == len(f.filters)-1 && nodeLocal.Has(enabled.Name) {
			f.leadingLocals++
		}
	}
	f.rejections = newRejections(len(f.filters))
	for _, enabled := range plugins.Score.Enabled {
		plugin := m.plugins[profile][enabled.Name].(fwk.ScorePlugin)
		s := enabledScore{ScorePlugin: plugin, name: enabled.Name, weight: int64(enabled.Weight), localIndex: -1}
		// Both skip their filter for pods without claims, and then give every node the score 0.
		s.localIfSkipped = enabled.Name == names.VolumeBinding || enabled.Name == names.DynamicResources
		if nodeLocal.Has(enabled.Name) || s.localIfSkipped {
			s.localIndex = f.localScores
			f.localScores++
		}
		f.scores = append(f.scores, s)
	}
	return f
}

// RunPreFilterPlugins finds the pod's template. If PreFilter restricts the nodes, nothing is cached: it may name other nodes for the next
// pod.
func (f *Framework) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	f.memo.beginCycle(pod)
	result, status, plugins := f.Framework.RunPreFilterPlugins(ctx, state, pod)
	f.answers, f.askedFilters, f.nonlocal.current = nil, f.askedFilters[:0], false
	if f.memo.template == nil || !result.AllNodes() {
		f.Plain++
		return result, status, plugins
	}
	f.Kept++
	f.answers = f.memo.template.base.answersFor(f)
	for i, filter := range f.filters {
		if !filter.local && !state.GetSkipFilterPlugins().Has(filter.name) {
			f.askedFilters = append(f.askedFilters, i)
		}
	}
	return result, status, plugins
}

func (a *templateBase) answersFor(f *Framework) *answers {
	known := a.answers[f]
	if known == nil {
		nodes := len(f.memo.infos)
		known = &answers{verdicts: make([]verdict, nodes), scores: make([]int16, nodes*f.localScores)}
		a.answers[f] = known
	}
	return known
}

// RunFilterPluginsWithNominatedPods asks the node-local filters only if the node has changed since their last answer.
func (f *Framework) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	// Upstream examines nodes in the order of their slots and starts at any of them.
	slot := f.memo.slotOf(node, f.nextSlot)
	if f.nextSlot = slot + 1; f.nextSlot == len(f.memo.infos) {
		f.nextSlot = 0
	}
	f.memo.askedSlot = slot
	if f.answers == nil || f.isReserved(slot) {
		status := f.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			f.memo.feasible = append(f.memo.feasible, slot)
		}
		return status
	}
	v := &f.answers.verdicts[slot]
	if generation := uint32(f.memo.generations[slot]); v.generation != generation {
		*v = verdict{rejectedBy: uint8(len(f.filters))}
		for i, filter := range f.filters {
			if !filter.local || state.GetSkipFilterPlugins().Has(filter.name) {
				continue
			}
			if status := filter.Filter(ctx, state, pod, node); !status.IsSuccess() {
				if !status.IsRejected() {
					return f.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
				}
				status.SetPlugin(filter.name)
				var kept bool
				if v.rejection, kept = f.rejections.intern(i, status); !kept {
					return f.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
				}
				v.rejectedBy = uint8(i)
				break
			}
		}
		v.generation = generation
	}
	for _, i := range f.askedFilters {
		if i > int(v.rejectedBy) {
			break
		}
		if status := f.filters[i].Filter(ctx, state, pod, node); !status.IsSuccess() {
			if !status.IsRejected() {
				return f.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
			}
			status.SetPlugin(f.filters[i].name)
			return status
		}
	}
	if v.rejection == 0 {
		f.memo.feasible = append(f.memo.feasible, slot)
	}
	return f.rejections.statuses[v.rejection]
}

// isReserved reports whether a Pending pod has the node at the slot nominated, so that filters see the pod there.
func (f *Framework) isReserved(slot int) bool { return f.reserves(f.memo.names[slot]) != 0 }

// RunScorePlugins asks the node-local plugins only about nodes that have changed. It returns what upstream's function returns, in memory
// that the next call uses again.
func (f *Framework) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	if f.answers == nil {
		return f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	}
	plugins := f.plugins[:0]
	for _, plugin := range f.scores {
		if state.GetSkipScorePlugins().Has(plugin.name) {
			continue
		}
		if plugin.localIfSkipped && !state.GetSkipFilterPlugins().Has(plugin.name) {
			plugin.localIndex = -1
		}
		plugins = append(plugins, plugin)
	}
	f.plugins = plugins
	raw, all, scored := f.scoreBuffers(len(nodes), plugins)
	slots := f.memo.slotsOf(nodes)
	if !f.fillRawScores(ctx, state, pod, nodes, slots, plugins, raw) {
		return f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	}
	width := len(plugins)
	for i := range raw {
		all[i].Score = raw[i].Score
	}
	list := f.list[:len(nodes)]
	for i, slot := range slots {
		list[i].Name = f.memo.names[slot]
	}
	for p, plugin := range plugins {
		extensions := plugin.ScoreExtensions()
		if extensions == nil {
			continue
		}
		for i := range list {
			list[i].Score = raw[i*width+p].Score
		}
		if status := extensions.NormalizeScore(ctx, state, pod, list); !status.IsSuccess() {
			return f.Framework.RunScorePlugins(ctx, state, pod, nodes)
		}
		for i := range list {
			all[i*width+p].Score = list[i].Score
		}
	}
	for i, slot := range slots {
		total := int64(0)
		own := all[i*width : (i+1)*width : (i+1)*width]
		for p, plugin := range plugins {
			if own[p].Score > fwk.MaxScore || own[p].Score < fwk.MinScore {
				return f.Framework.RunScorePlugins(ctx, state, pod, nodes)
			}
			own[p].Score *= plugin.weight
			total += own[p].Score
		}
		scored[i] = fwk.NodePluginScores{Name: f.memo.names[slot], RawScores: raw[i*width : (i+1)*width : (i+1)*width], Scores: own, TotalScore: total}
	}
	return scored, nil
}

// fillRawScores fills in the raw scores of all nodes. It reports false if a plugin failed.
func (f *Framework) fillRawScores(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, slots []int, plugins []enabledScore, raw []fwk.PluginScore) bool {
	for i, node := range nodes {
		slot := slots[i]
		v, kept := &f.answers.verdicts[slot], f.answers.scores[slot*f.localScores:(slot+1)*f.localScores]
		f.memo.askedSlot = slot
		known := v.generation == uint32(f.memo.generations[slot])
		fits := true // whether all scores fit into 16 bits
		for p, plugin := range plugins {
			score := &raw[i*len(plugins)+p]
			if plugin.localIndex >= 0 && known && v.scored {
				score.Score = int64(kept[plugin.localIndex])
				continue
			}
			points, status := plugin.Score(ctx, state, pod, node)
			if !status.IsSuccess() {
				return false
			}
			score.Score = points
			if plugin.localIndex >= 0 {
				kept[plugin.localIndex] = int16(points)
				fits = fits && int64(int16(points)) == points
			}
		}
		v.scored = known && fits
	}
	return true
}

// scoreBuffers returns slices for the scores of so many nodes, and allocates them only if the last ones are too short.
func (f *Framework) scoreBuffers(nodes int, plugins []enabledScore) (raw, all []fwk.PluginScore, scored []fwk.NodePluginScores) {
	width := len(plugins)
	fits := len(f.raw) >= nodes*width
	if !fits {
		f.raw, f.all = make([]fwk.PluginScore, nodes*width), make([]fwk.PluginScore, nodes*width)
	}
	if width > 0 && (!fits || !slices.EqualFunc(f.named, plugins, func(name string, plugin enabledScore) bool { return name == plugin.name })) {
		f.named = f.named[:0]
		for _, plugin := range plugins {
			f.named = append(f.named, plugin.name)
		}
		for i := range f.raw {
			f.raw[i].Name, f.all[i].Name = f.named[i%width], f.named[i%width]
		}
	}
	if len(f.nodes) < nodes {
		f.nodes, f.list = make([]fwk.NodePluginScores, nodes), make([]fwk.NodeScore, nodes)
	}
	return f.raw[:nodes*width], f.all[:nodes*width], f.nodes[:nodes]
}
