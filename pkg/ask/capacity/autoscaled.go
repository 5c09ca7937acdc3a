package capacity

import (
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/simulation"
)

// autoscale lets the scenario's autoscaler find the nodes, starting from one node of each group in each zone. The autoscaler keeps to
// minima and maxima, and chooses for the pods that are Pending at one time. So it may end with more nodes than are needed, or with too few.
// It does not know the types of a catalogue.
func (z *sizer) autoscale(ctx context.Context) error {
	if z.autoscaler == nil || z.opts.Catalogue != nil {
		return nil
	}
	s := z.withNodes(slices.Repeat([]int{1}, len(z.numbers)))
	s.Autoscaler = z.autoscaler
	result, err := simulation.Run(ctx, s, simulation.Options{})
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, group := range z.groups {
		for _, zone := range group.Zones {
			for _, node := range zone.Nodes {
				kept[node.Name] = group.Kept
			}
		}
	}
	last := result.Last()
	found, cost, priced := &Autoscaled{}, 0.0, true
	for _, node := range last.State.Nodes {
		if !kept[node.Name] {
			price, known, _ := z.autoscaler.Price(node) // loading has validated the prices
			found.Nodes, cost, priced = found.Nodes+1, cost+price, priced && known
		}
	}
	if priced {
		found.Cost = &cost
	}
	for _, lack := range z.countLacks(failure{}, last.State, last.Pending) {
		found.Pending += lack.pods
	}
	z.sizing.Autoscaled = found
	return nil
}
