package sched

import (
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"github.com/faultline/faultline/pkg/engine/memo"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/words"
)

// profile decorates one of the scheduler's frameworks. It records the plugins' decisions about the current pod, and decides where upstream
// leaves something to chance. It changes no status and no score.
type profile struct {
	framework.Framework
	engine *Engine
	binder *binder
	claims *dynamicresources.DynamicResources
	// The interface of the profile's preemption plugin.
	preemptionInterface preemptionInterface
	// plugins lists the framework's plugins, weight has the weights of the score plugins, and args the arguments of some plugins.
	plugins     *schedulerapi.Plugins
	weight      map[string]int64
	args        arguments
	tallies     map[tallyKey]*tally
	matchCounts map[constraintKey]map[string]matchCount // by node

	// State of the current pod's cycle.
	preFiltered *preFiltered           // nil: the plugins have not run yet
	restricted  bool                   // PreFilter named the nodes to examine
	rejections  []rejectionCount       // number of rejected nodes, by plugin
	rejectedBy  map[string]string      // the extender that rejected a node, by node
	scores      []fwk.NodePluginScores // of the feasible nodes; upstream's heap reorders it in place
	recorder    *recorder              // nil: record nothing
}

// rejectionCount is the number of nodes that a plugin rejected.
type rejectionCount struct {
	plugin string
	nodes  int
}

func newProfile(real framework.Framework, engine *Engine, config schedulerapi.KubeSchedulerProfile) *profile {
	p := &profile{Framework: real, engine: engine, plugins: real.ListPlugins(), weight: map[string]int64{}, args: argumentsOf(config), tallies: map[tallyKey]*tally{}, matchCounts: map[constraintKey]map[string]matchCount{}}
	for _, plugin := range p.plugins.Score.Enabled {
		p.weight[plugin.Name] = int64(plugin.Weight)
	}
	for _, x := range engine.extenders {
		if x.scores() {
			p.weight[x.address(x.config.PrioritizeVerb)] = x.config.Weight
		}
	}
	return p
}

// attachPlugins finds the plugins that would act on a cluster through the API server, and intercepts two of them.
func (p *profile) attachPlugins() {
	for _, plugin := range p.PreEnqueuePlugins() {
		if preemption, ok := plugin.(*defaultpreemption.DefaultPreemption); ok {
			p.captureVictims(preemption)
		}
	}
	for _, plugin := range p.EnqueueExtensions() {
		switch real := plugin.(type) {
		case *volumebinding.VolumeBinding:
			p.binder = &binder{SchedulerVolumeBinder: real.Binder}
			real.Binder = p.binder
		case *boundedClaims:
			p.claims, real.engine = real.DynamicResources, p.engine
		case *earlierClaims:
			p.claims, real.engine = real.DynamicResources, p.engine
		}
	}
}

// memo returns the caching framework. It returns nil if nothing is cached, as in the cycle of a pod group.
func (p *profile) memo() *memo.Framework {
	kept, _ := p.Framework.(*memo.Framework)
	if p.engine.groupCycle != nil {
		return nil
	}
	return kept
}

// beginCycle starts the cycle of a pod.
func (p *profile) beginCycle() {
	p.preFiltered, p.restricted = nil, false
	p.rejections = p.rejections[:0]
	p.scores, p.rejectedBy = nil, nil
	p.engine.current, p.engine.stopError = p, nil
}

// RunPreFilterPlugins records whether the plugins named the nodes to examine.
func (p *profile) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	if known := p.preFiltered; known != nil {
		return known.result, known.status, known.plugins
	}
	result, status, plugins := p.Framework.RunPreFilterPlugins(ctx, state, pod)
	p.restricted = !result.AllNodes()
	if p.restricted {
		p.countUnnamed(result.NodeNames, plugins)
	}
	if p.recorder != nil {
		p.recorder.preFilter(p.plugins, state, result, status, plugins)
	}
	return result, status, plugins
}

// PercentageOfNodesToScore returns the profile's percentage, or 100 if PreFilter named the nodes to examine. Upstream walks named nodes in
// random map order, and from more than a hundred it would examine a random sample.
func (p *profile) PercentageOfNodesToScore() *int32 {
	if p.restricted {
		all := int32(100)
		return &all
	}
	return p.Framework.PercentageOfNodesToScore()
}

// RunFilterPluginsWithNominatedPods also counts the rejections. It fails once the caller of Place has canceled.
func (p *profile) RunFilterPluginsWithNominatedPods(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if status := p.engine.interrupted(); status != nil {
		return status
	}
	status := p.Framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
	if status.IsRejected() {
		p.countRejection(status.Plugin())
	}
	if p.recorder != nil {
		p.recorder.filter(node, status)
	}
	return status
}

// countRejection counts a rejection by the plugin. A slice is faster than a map here, since few plugins reject nodes.
func (p *profile) countRejection(plugin string) {
	for i := range p.rejections {
		if p.rejections[i].plugin == plugin {
			p.rejections[i].nodes++
			return
		}
	}
	p.rejections = append(p.rejections, rejectionCount{plugin, 1})
}

// countUnnamed counts the nodes that PreFilter did not name as rejected by the plugins that named the others.
func (p *profile) countUnnamed(named, plugins sets.Set[string]) {
	unnamed := p.engine.snapshot.NumNodesInPlacement()
	for name := range named {
		if _, err := p.engine.snapshot.Get(name); err == nil {
			unnamed--
		}
	}
	if unnamed > 0 {
		p.rejections = append(p.rejections, rejectionCount{words.And(sets.List(plugins)), unnamed})
	}
}

// RunScorePlugins adds the extenders' scores, records all scores and, with random ties, chooses among the best nodes.
func (p *profile) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := p.Framework.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return scores, status
	}
	if p.restricted {
		slices.SortFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.Name, b.Name) })
	}
	if err := p.addExtenderScores(pod, nodes, scores); err != nil {
		return nil, fwk.AsStatus(err)
	}
	switch {
	case p.engine.Choose != nil && !p.engine.groupCycle.isDry():
		if err := p.engine.chooseNode(pod, scores); err != nil {
			return nil, fwk.AsStatus(err)
		}
	case p.engine.random != nil:
		top := topScore(scores)
		for i := range scores {
			if scores[i].TotalScore == top {
				scores[i].Randomizer = p.engine.random.Int()
			}
		}
	}
	p.scores = scores
	return scores, status
}

// chooseNode lets Choose pick among the best nodes. It sets Randomizer, by which upstream orders nodes with equal scores.
func (e *Engine) chooseNode(pod *v1.Pod, scores []fwk.NodePluginScores) error {
	top := topScore(scores)
	var best []*fwk.NodePluginScores
	for i := range scores {
		if scores[i].TotalScore == top {
			best = append(best, &scores[i])
		}
	}
	if len(best) == 1 {
		return nil
	}
	slices.SortFunc(best, func(a, b *fwk.NodePluginScores) int { return cmp.Compare(a.Name, b.Name) })
	tie := e.tie
	tie.Pod, tie.Preempted = pod, e.victims
	for _, node := range best {
		tie.Nodes = append(tie.Nodes, node.Name)
		node.Randomizer = 0
	}
	chosen, err := e.Choose(&tie)
	if err != nil {
		e.stopError = err
		return err
	}
	best[chosen].Randomizer = 1
	return nil
}

// newPlacement returns the record of the newly bound pod.
func (p *profile) newPlacement(bound *v1.Pod, chosen scheduler.ScheduleResult, cycle *placement.Cycle) placement.Placement {
	placed := placement.Placement{
		Pod: bound, Node: chosen.SuggestedHost, Nodes: p.engine.snapshot.NumNodesInPlacement(), Decision: decisionOf(p.scores, chosen.SuggestedHost),
		Filtered: make(map[string]int, len(p.rejections)), Cycle: cycle,
	}
	placed.Feasible = chosen.FeasibleNodes
	for _, f := range p.rejections {
		placed.Filtered[f.plugin] = f.nodes
	}
	return placed
}

// decisionOf computes by how much the chosen node won, and which plugins decided it. The scores are one list per node, with the plugins in the
// same order. If only one node was feasible, there are no scores.
func decisionOf(nodes []fwk.NodePluginScores, chosen string) placement.Decision {
	if len(nodes) == 0 {
		return placement.Decision{Ties: 1}
	}
	top := topScore(nodes)
	result := placement.Decision{Scored: len(nodes)}
	var first, second *fwk.NodePluginScores
	for i := range nodes {
		node := &nodes[i]
		if node.Name == chosen {
			first, result.Scores = node, scoresOf(node)
		}
		switch {
		case node.TotalScore == top:
			result.Ties++
		case second == nil || node.TotalScore > second.TotalScore || node.TotalScore == second.TotalScore && node.Name < second.Name:
			second = node
		}
	}
	if second == nil {
		return result
	}
	result.Margin, result.RunnerUp = top-second.TotalScore, second.Name
	without := dropEachPlugin(nodes, top)
	for i := range result.Scores {
		score := &result.Scores[i]
		score.Ahead = score.Weighted - second.Scores[i].Score
		if without[i].decides {
			result.Deciders, result.Without = append(result.Deciders, score.Plugin), max(result.Without, without[i].ties)
		}
	}
	if len(result.Deciders) > 0 || first == nil {
		return result
	}
	result.Together = true
	set := decideTogether(nodes, first, top)
	for i := range result.Scores {
		if set&(1<<i) != 0 {
			result.Deciders = append(result.Deciders, result.Scores[i].Plugin)
		}
	}
	result.Without = countBestWithout(nodes, set)
	return result
}

// decideTogether returns the fewest plugins without whose scores a node below the top would have at least as many points as the first of
// the best nodes, as a set of their indexes. For each such node these are the plugins that put the first node ahead of it, the largest lead
// first, until no lead is left. Of several sets it is that of the plugins that come first in the profile. Without one plugin alone, the
// best nodes are the same, so they have the same score by each plugin, and it does not matter which of them is the first.
func decideTogether(nodes []fwk.NodePluginScores, first *fwk.NodePluginScores, top int64) uint64 {
	var fewest uint64
	size := len(first.Scores) + 1
	for n := range nodes {
		node := &nodes[n]
		if node.TotalScore == top {
			continue
		}
		var set uint64
		count := 0
		for lead := top - node.TotalScore; lead > 0 && count <= size; count++ {
			most, by := -1, int64(0)
			for i := range node.Scores {
				if ahead := first.Scores[i].Score - node.Scores[i].Score; set&(1<<i) == 0 && ahead > by {
					most, by = i, ahead
				}
			}
			set |= 1 << most
			lead -= by
		}
		if differ := set ^ fewest; count < size || count == size && set&differ&-differ != 0 {
			fewest, size = set, count
		}
	}
	return fewest
}

// countBestWithout returns the number of nodes that have the most points without the scores of a set of plugins.
func countBestWithout(nodes []fwk.NodePluginScores, set uint64) int {
	var best int64
	count := 0
	for n := range nodes {
		total := nodes[n].TotalScore
		for i := range nodes[n].Scores {
			if set&(1<<i) != 0 {
				total -= nodes[n].Scores[i].Score
			}
		}
		switch {
		case n == 0 || total > best:
			best, count = total, 1
		case total == best:
			count++
		}
	}
	return count
}

// outcomeWithout is what the scores would decide without one plugin.
type outcomeWithout struct {
	best    int64 // the highest total without the plugin
	ties    int   // number of nodes with that total
	decides bool  // whether other nodes would be best
}

// dropEachPlugin returns the outcome without each plugin, by the index of the plugin. It visits all plugins of a node at once, since their scores lie
// side by side in memory.
func dropEachPlugin(nodes []fwk.NodePluginScores, top int64) []outcomeWithout {
	without := make([]outcomeWithout, len(nodes[0].Scores))
	for i, score := range nodes[0].Scores {
		without[i].best = nodes[0].TotalScore - score.Score
	}
	for n := range nodes {
		total := nodes[n].TotalScore
		for i := range nodes[n].Scores {
			without[i].best = max(without[i].best, total-nodes[n].Scores[i].Score)
		}
	}
	for n := range nodes {
		total := nodes[n].TotalScore
		for i := range nodes[n].Scores {
			wouldBe := total-nodes[n].Scores[i].Score == without[i].best
			if wouldBe {
				without[i].ties++
			}
			without[i].decides = without[i].decides || wouldBe != (total == top)
		}
	}
	return without
}

// topScore returns the highest total.
func topScore(nodes []fwk.NodePluginScores) int64 {
	top := nodes[0].TotalScore
	for i := range nodes {
		top = max(top, nodes[i].TotalScore)
	}
	return top
}

// scoresOf returns the weighted scores of the node.
func scoresOf(node *fwk.NodePluginScores) []placement.Score {
	scores := make([]placement.Score, len(node.Scores))
	for i, score := range node.Scores {
		scores[i] = placement.Score{Plugin: score.Name, Weighted: score.Score}
	}
	return scores
}
