package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/scenario"
)

// fail makes nodes fail.
func (c *Cluster) fail(_ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *Record) (*cluster.State, string, error) {
	return FailStep(c, state, step.Fail)
}

// FailStep carries out a fail step in any world.
func FailStep(w World, state *cluster.State, fail *scenario.Fail) (*cluster.State, string, error) {
	names, problem := SelectNodes(state, field.NewPath("fail"), fail.Nodes)
	mode := cmp.Or(node.FailureMode(fail.Mode), node.Unreachable)
	next, err := w.Fail(state, mode, names...)
	if err != nil {
		return state, "", errors.Join(problem, &Problem{field.NewPath("fail", "mode"), err})
	}
	return next, fmt.Sprintf("%s: %s", mode, DescribeNodes(names)), problem
}

// Fail makes nodes fail. Deleted nodes are kept with their devices for a later restore.
func (c *Cluster) Fail(state *cluster.State, mode node.FailureMode, names ...string) (*cluster.State, error) {
	if c.scaler != nil {
		c.scaler.groups(state) // remember what the groups' nodes are like, while they are there
	}
	next, err := node.Fail(state, mode, names...)
	if err == nil && mode == node.Deleted {
		for _, name := range names {
			c.removed = *c.removed.With(publishedObjects(state, name)...)
		}
	}
	return next, err
}

// stoppedEvictionNotes returns a note for each zone in which so many nodes are down that pods stay on the failed ones.
func stoppedEvictionNotes(state *cluster.State) []string {
	var notes []string
	for _, d := range node.Disruptions(state) {
		of := "nodes without a zone"
		switch {
		case d.All:
			of = "nodes of all zones"
		case d.Zone != "" || d.Region != "":
			of = "nodes of zone " + strings.TrimPrefix(d.Region+"/"+d.Zone, "/")
		}
		notes = append(notes, fmt.Sprintf("So many %s are down that the node lifecycle controller evicts no more pods: those on %s stay bound, and not ready.", of, DescribeNodes(d.Nodes)))
	}
	return notes
}
