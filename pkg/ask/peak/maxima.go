package peak

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// raiseMaxima finds the maxima of the autoscaler's groups that suffice: the sizes that the groups get at the peak and after its losses if no
// maximum holds them back.
func (f *finder) raiseMaxima(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	if f.base.Scenario.Autoscaler == nil {
		return nil, nil
	}
	needed, err := f.sizesWithout(ctx, domains)
	if err != nil {
		return nil, err
	}
	raised := f.copyAutoscaler()
	r := &Remedy{Kind: "raise"}
	var parts []string
	price := newSum()
	for i := range raised.NodeGroups {
		g := &raised.NodeGroups[i]
		has := &answer.Groups[i]
		has.Needed = needed[i]
		if more := needed[i] - max(has.Peak, has.AfterLoss); more > 0 {
			price.add(f.priceOf(f.nodeOf(g)), more, f.nodeOf(g))
		}
		if needed[i] <= g.Max {
			continue
		}
		r.Raise, r.Nodes = append(r.Raise, Raise{g.Name, g.Max, needed[i]}), r.Nodes+needed[i]-g.Max
		parts = append(parts, fmt.Sprintf("%s from %d to %d", g.Name, g.Max, needed[i]))
		g.Max = needed[i]
	}
	if total := raised.Flags[maxNodesTotal]; total != "" && (len(parts) > 0 || slices.ContainsFunc(answer.Ceilings, func(c Ceiling) bool { return c.Kind == nodesTotal })) {
		delete(raised.Flags, maxNodesTotal)
		parts = append(parts, "no "+maxNodesTotal)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	if price.cores > 0 {
		r.Price, r.cores = price.prices, price.cores
	}
	r.What = "a higher maximum of " + words.And(parts)
	if len(r.Raise) == 0 {
		r.What = words.And(parts)
	}
	other, top, err := f.rerun(ctx, raised)
	if err != nil {
		return nil, err
	}
	defer other.close()
	helps, losses, err := other.judge(ctx, r, answer, top, domains)
	if err != nil || !helps {
		return nil, err
	}
	claims := other.claimRemedy(r, nil, answer.Share, top, worstOf(losses))
	for i := range claims {
		claims[i].Autoscaler = raised
	}
	answer.claims = append(answer.claims, claims...)
	return r, nil
}

// nodeOf returns a node of the group, or the node that its new nodes copy.
func (f *finder) nodeOf(g *scenario.AutoscaledGroup) *v1.Node {
	nodes := f.before.state.Nodes
	if i := slices.IndexFunc(nodes, g.Has); i >= 0 {
		return nodes[i]
	}
	return cmp.Or(f.before.state.Node(g.Template), &v1.Node{})
}

// priceOf returns the price of a node of the autoscaler's groups per hour; 0 if it is not known.
func (f *finder) priceOf(node *v1.Node) float64 {
	price, _, _ := f.base.Scenario.Autoscaler.Price(node) // the loader has reported a price that is none
	return price
}

const maxNodesTotal = "max-nodes-total"

// copyAutoscaler returns a copy of the scenario's autoscaler whose groups name their nodes themselves.
func (f *finder) copyAutoscaler() *scenario.Autoscaler {
	a := *f.base.Scenario.Autoscaler
	a.NodeGroups, a.Flags, a.GroupsBy = slices.Clone(a.NodeGroups), maps.Clone(a.Flags), ""
	return &a
}

// rerun runs the input with another autoscaler, and the peak after it. The caller closes the finder.
func (f *finder) rerun(ctx context.Context, with *scenario.Autoscaler) (*finder, *outcome, error) {
	s := *f.base.Scenario
	s.Autoscaler = with
	base, err := simulation.Run(ctx, &s, simulation.Options{})
	if err != nil {
		return nil, nil, err
	}
	other := newFinder(base, f.opts)
	other.targets = f.targets
	top, err := other.runPeak(ctx, f.opts.Peak.Way())
	if err != nil {
		other.close()
		return nil, nil, err
	}
	return other, top, nil
}

// sizesWithout returns how many nodes each group of the autoscaler gets, at the peak or after one of the losses, if neither its maximum nor
// the number of all nodes holds it back.
func (f *finder) sizesWithout(ctx context.Context, domains []domain) ([]int, error) {
	unlimited := f.copyAutoscaler()
	for i := range unlimited.NodeGroups {
		unlimited.NodeGroups[i].Max = max(unlimited.NodeGroups[i].Max, scenario.AssumedMaxNodes)
	}
	delete(unlimited.Flags, maxNodesTotal)
	other, top, err := f.rerun(ctx, unlimited)
	if err != nil {
		return nil, err
	}
	defer other.close()
	var there []domain
	for _, d := range domains {
		there = append(there, other.present(top, d)...)
	}
	losses, err := other.loseEach(ctx, other.worlds, top, there)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, len(unlimited.NodeGroups))
	for i := range sizes {
		sizes[i] = countNodes(top.state, &unlimited.NodeGroups[i])
		for j := range losses {
			sizes[i] = max(sizes[i], countNodes(losses[j].state, &unlimited.NodeGroups[i]))
		}
	}
	return sizes, nil
}

// lowerMaxima tries the maxima of HorizontalPodAutoscalers that the safe share of the way asks for.
func (f *finder) lowerMaxima(ctx context.Context, answer *Answer, domains []domain) (*Remedy, error) {
	safe := answer.Safe
	if safe == nil || safe.Share == 0 || safe.Share >= answer.Share || answer.Share < 1 {
		return nil, nil
	}
	r := &Remedy{Kind: "lower"}
	var steps []scenario.LoadedStep
	for _, t := range f.targetsAt(safe.Share) {
		if t.Autoscaler == nil || t.Replicas >= t.Most {
			continue
		}
		r.GivesUp += int(t.Most - t.Replicas)
		target := scenario.Target{Target: "hpa/" + t.Autoscaler.Name, Namespace: t.Autoscaler.Namespace}
		patch := toJSON(map[string]any{"spec": map[string]any{"maxReplicas": t.Replicas}})
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "patch " + target.Argument(), Patch: &scenario.Patch{Target: target, Type: "merge", Patch: runtime.RawExtension{Raw: patch}}}})
		command := fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", target.Argument(), patch)
		if by := t.Autoscaler.Labels[world.KEDALabel]; by != "" { // KEDA would take back a patch of its HorizontalPodAutoscaler
			command = fmt.Sprintf("kubectl patch %s --type=merge -p '%s'", cluster.KubectlArgument(t.Autoscaler.Namespace, "scaledobject/"+by), toJSON(map[string]any{"spec": map[string]any{"maxReplicaCount": t.Replicas}}))
		}
		r.Commands = append(r.Commands, command)
	}
	if len(steps) == 0 {
		return nil, nil
	}
	r.What = fmt.Sprintf("%s of the growth of %s", percentText(safe.Share), words.Count(len(steps), "HorizontalPodAutoscaler"))
	return f.trySteps(ctx, r, answer, steps, domains)
}

// toJSON returns the patch or the object as JSON.
func toJSON(object map[string]any) []byte {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // it has texts and numbers
	}
	return data
}
