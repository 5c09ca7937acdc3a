package world

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
)

// cordon marks the nodes unschedulable.
func (c *Cluster) cordon(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	return c.changeNodes(ctx, state, step.Cordon, to, "cordon", node.Cordon)
}

// uncordon marks the nodes schedulable again.
func (c *Cluster) uncordon(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	return c.changeNodes(ctx, state, step.Uncordon, to, "uncordon", node.Uncordon)
}

// changeNodes applies do to the selected nodes.
func (c *Cluster) changeNodes(ctx context.Context, state *cluster.State, nodes *scenario.NodesInTurn, to *Record, verb string, do func(*cluster.State, ...string) (*cluster.State, error)) (*cluster.State, string, error) {
	names, problem := SelectNodes(state, field.NewPath(verb), nodes.Nodes)
	next, err := applyInTurn(ctx, c, state, to, nodes.Together, names, do)
	if err != nil {
		return nil, "", err
	}
	return next, verb + " " + DescribeNodes(names), problem
}
