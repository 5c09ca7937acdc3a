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

// nodeLocal are the plugins whose Filter and Score read nothing but the pod's template and the NodeInfo, with what they read. The pod's
// part is in their cycle state, which PreFilter and PreScore write anew in each cycle. A plugin that is not listed is asked each time: it
// reads other nodes and their pods (InterPodAffinity, PodTopologySpread), or claims and volumes (VolumeBinding and its like,
// DynamicResources), or nobody has looked.
var nodeLocal = sets.New(
	names.NodeUnschedulable,               // node.spec.unschedulable; tolerations
	names.NodeName,                        // the node's name; spec.nodeName
	names.TaintToleration,                 // node.spec.taints; tolerations
	names.NodeAffinity,                    // the node's labels and name; nodeSelector, node affinity, the profile's arguments
	names.NodePorts,                       // the ports used on the node; host ports
	names.NodeResourcesFit,                // allocatable, requested and number of pods; requests, the profile's arguments
	names.NodeResourcesBalancedAllocation, // likewise
	names.ImageLocality,                   // the images on the node, their spread and the number of nodes (see arrange and NodeUpdated); images
)

// Framework is a profile that asks plugins only what they have not answered before.
type Framework struct {
	framework.Framework
	// Kept and Plain count the cycles of pods that were spared questions, and of the others.
	Kept, Plain int

	memo       *Memo
	reserves   func(node string) uint32
	filters    []filter
	scores     []score
	leading    int // number of node-local filters before the first other one
	locals     int // number of node-local scores
	rejections rejections

	// Of the current pod.
	answers  *answers // nil: ask everything
	asked    []int    // filters to ask about every node
	rules    rules
	next     int     // the slot of the node that is probably examined next
	plugins  []score // whose scores are asked for
	list     []fwk.NodeScore
	raw, all []fwk.PluginScore // by node and plugin; their names are those of named
	named    []string
	nodes    []fwk.NodePluginScores
}

type filter struct {
	fwk.FilterPlugin
	name  string
	local bool
}

type score struct {
	fwk.ScorePlugin
	name   string
	weight int64
	local  int  // its place among the node-local ones; -1: it is none
	skips  bool // whether it is node-local only while its filter is skipped
}

// answers are what the node-local plugins have said about the nodes for the pods of templates that are alike without rules about other
// pods, by slot.
type answers struct {
	verdicts []verdict
	scores   []int16   // all plugins' for one node, then for the next
	emptied  []verdict // of the nodes without the pods that the templates may preempt; nil: nothing is known
}

// verdict is small, since there is one for each node and template, and without a pointer, so that the garbage collector passes over them.
type verdict struct {
	generation uint32 // the lower half of that of the node that was asked about; 0: none
	rejection  uint16 // its place among the rejections; 0: none
	rejected   uint8  // the filter that rejected the node; if none did, the number of filters
	scored     bool   // whether scores holds those of the node
}

// Framework returns the profile, whose plugins have been built with the memo's registry. Reserves tells whether pods without a node have this
// one nominated, and filters also see them there: it returns 0 if none has, and otherwise a number that stands for these pods.
func (m *Memo) Framework(profile framework.Framework, reserves func(node string) uint32) *Framework {
	f := &Framework{Framework: profile, memo: m, reserves: reserves}
	plugins := profile.ListPlugins()
	for _, enabled := range plugins.Filter.Enabled {
		plugin := m.plugins[profile][enabled.Name].(fwk.FilterPlugin)
		f.filters = append(f.filters, filter{plugin, enabled.Name, nodeLocal.Has(enabled.Name)})
		if f.leading == len(f.filters)-1 && nodeLocal.Has(enabled.Name) {
			f.leading++
		}
	}
	f.rejections = newRejections(len(f.filters))
	for _, enabled := range plugins.Score.Enabled {
		plugin := m.plugins[profile][enabled.Name].(fwk.ScorePlugin)
		s := score{ScorePlugin: plugin, name: enabled.Name, weight: int64(enabled.Weight), local: -1}
		// Both skip their filter for pods without claims, and give every node 0 then.
		s.skips = enabled.Name == names.VolumeBinding || enabled.Name == names.DynamicResources
		if nodeLocal.Has(enabled.Name) || s.skips {
			s.local = f.locals
			f.locals++
		}
		f.scores = append(f.scores, s)
	}
	return f
}

// RunPreFilterPlugins finds the pod's template. Pods for which PreFilter names the nodes ask everything: it names others for each.
func (f *Framework) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	f.memo.begin(pod)
	result, status, plugins := f.Framework.RunPreFilterPlugins(ctx, state, pod)
	f.answers, f.asked, f.rules.read = nil, f.asked[:0], false
	if f.memo.template == nil || !result.AllNodes() {
		f.Plain++
		return result, status, plugins
	}
	f.Kept++
	f.answers = f.memo.template.base.answersFor(f)
	for i, filter := range f.filters {
		if !filter.local && !state.GetSkipFilterPlugins().Has(filter.name) {
			f.asked = append(f.asked, i)
		}
	}
	return result, status, plugins
}

func (a *base) answersFor(f *Framework) *answers {
	known := a.answers[f]
	if known == nil {
		nodes := len(f.memo.infos)
		known = &answers{verdicts: make([]verdict, nodes), scores: make([]int16, nodes*f.locals)}
		a.answers[f] = known
	}
	return known
}

// RunFilterPluginsWithNominatedPods asks the node-local filters only about nodes that have changed.
func (f *Framework) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	// Nodes are examined in the order of their slots, from anywhere.
	slot := f.memo.slotOf(node, f.next)
	if f.next = slot + 1; f.next == len(f.memo.infos) {
		f.next = 0
	}
	f.memo.asked = slot
	if f.answers == nil || f.reserved(slot) {
		status := f.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		if status.IsSuccess() {
			f.memo.feasible = append(f.memo.feasible, slot)
		}
		return status
	}
	v := &f.answers.verdicts[slot]
	if generation := uint32(f.memo.generations[slot]); v.generation != generation {
		*v = verdict{rejected: uint8(len(f.filters))}
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
				if v.rejection, kept = f.rejections.place(i, status); !kept {
					return f.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
				}
				v.rejected = uint8(i)
				break
			}
		}
		v.generation = generation
	}
	for _, i := range f.asked {
		if i > int(v.rejected) {
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
	return f.rejections.all[v.rejection]
}

// reserved reports whether a pod without a node has the one at the slot reserved, where filters see it.
func (f *Framework) reserved(slot int) bool { return f.reserves(f.memo.names[slot]) != 0 }

// RunScorePlugins asks the node-local plugins only about nodes that have changed. It returns what upstream's does, in memory that the next
// call uses again.
func (f *Framework) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	if f.answers == nil {
		return f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	}
	plugins := f.plugins[:0]
	for _, plugin := range f.scores {
		if state.GetSkipScorePlugins().Has(plugin.name) {
			continue
		}
		if plugin.skips && !state.GetSkipFilterPlugins().Has(plugin.name) {
			plugin.local = -1
		}
		plugins = append(plugins, plugin)
	}
	f.plugins = plugins
	raw, all, scored := f.memory(len(nodes), plugins)
	slots := f.memo.slotsOf(nodes)
	if !f.ask(ctx, state, pod, nodes, slots, plugins, raw) {
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

// ask fills in the raw scores, and reports whether all plugins gave one.
func (f *Framework) ask(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, slots []int, plugins []score, raw []fwk.PluginScore) bool {
	for i, node := range nodes {
		slot := slots[i]
		v, kept := &f.answers.verdicts[slot], f.answers.scores[slot*f.locals:(slot+1)*f.locals]
		f.memo.asked = slot
		known := v.generation == uint32(f.memo.generations[slot])
		fits := true // the scores, into 16 bits
		for p, plugin := range plugins {
			score := &raw[i*len(plugins)+p]
			if plugin.local >= 0 && known && v.scored {
				score.Score = int64(kept[plugin.local])
				continue
			}
			points, status := plugin.Score(ctx, state, pod, node)
			if !status.IsSuccess() {
				return false
			}
			score.Score = points
			if plugin.local >= 0 {
				kept[plugin.local] = int16(points)
				fits = fits && int64(int16(points)) == points
			}
		}
		v.scored = known && fits
	}
	return true
}

// memory returns room for the plugins' scores of the nodes.
func (f *Framework) memory(nodes int, plugins []score) (raw, all []fwk.PluginScore, scored []fwk.NodePluginScores) {
	width := len(plugins)
	fits := len(f.raw) >= nodes*width
	if !fits {
		f.raw, f.all = make([]fwk.PluginScore, nodes*width), make([]fwk.PluginScore, nodes*width)
	}
	if width > 0 && (!fits || !slices.EqualFunc(f.named, plugins, func(name string, plugin score) bool { return name == plugin.name })) {
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
