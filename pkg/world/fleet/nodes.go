package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// Nodes returns the nodes of all members, and the deleted nodes that a restore can bring back.
func (f *Fleet) Nodes(state *cluster.State) []*v1.Node {
	nodes := slices.Clip(state.Nodes)
	for _, m := range state.Federation.Members {
		if w := f.members[m.Name]; w != nil {
			for _, deleted := range w.Nodes(&cluster.State{}) {
				nodes = append(nodes, state.Federation.JoinedNode(m.Name, deleted))
			}
		}
	}
	return nodes
}

// addNodes adds nodes to the member that has the node to copy.
func (f *Fleet) addNodes(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	names, problem := world.SelectNodes(state, field.NewPath("addNodes", "like"), scenario.Nodes{Names: []string{step.AddNodes.Like}})
	if problem != nil {
		return nil, "", problem
	}
	if step.AddNodes.After != "" {
		return nil, "", errors.New("addNodes.after: is for a single cluster; leave it out")
	}
	add := *step.AddNodes
	var in, place string
	in, add.Like = cluster.SplitName(names[0])
	if place, add.InPlaceOf = cluster.SplitName(add.InPlaceOf); place != "" && place != in {
		return nil, "", fmt.Errorf("addNodes.inPlaceOf: node %s is not in cluster %s, which has node %s; give one of that cluster", step.AddNodes.InPlaceOf, in, add.Like)
	}
	m := state.Federation.Member(in)
	member, err := f.memberWithHooks(m)
	if err != nil {
		return nil, "", err
	}
	var did world.Record
	next, action, err := member.Do(ctx, m.State, &scenario.LoadedStep{Step: scenario.Step{AddNodes: &add}}, &did)
	if err != nil {
		return nil, "", fmt.Errorf("cluster %s: %w", in, err)
	}
	appendMemberRecord(to, m, &did)
	return state.Federation.With(m.WithState(next)), action + " in cluster " + in, nil
}

// cordon marks nodes of members unschedulable.
func (f *Fleet) cordon(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	return f.doInMembers(ctx, state, "cordon", step.Cordon, func(on *scenario.NodesInTurn) scenario.Step { return scenario.Step{Cordon: on} }, to)
}

// uncordon marks nodes of members schedulable again.
func (f *Fleet) uncordon(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	return f.doInMembers(ctx, state, "uncordon", step.Uncordon, func(on *scenario.NodesInTurn) scenario.Step { return scenario.Step{Uncordon: on} }, to)
}

// doInMembers carries out a step in each member that has some of the selected nodes. The function step returns the step for the nodes of one
// member.
func (f *Fleet) doInMembers(ctx context.Context, state *cluster.State, verb string, nodes *scenario.NodesInTurn, step func(*scenario.NodesInTurn) scenario.Step, to *world.Record) (*cluster.Federation, string, error) {
	names, problem := world.SelectNodes(state, field.NewPath(verb), nodes.Nodes)
	in := groupByMember(names)
	fed := state.Federation
	for _, m := range state.Federation.Members {
		if len(in[m.Name]) == 0 {
			continue
		}
		member, err := f.memberWithHooks(&m)
		if err != nil {
			return nil, "", err
		}
		var did world.Record
		these := step(&scenario.NodesInTurn{Nodes: scenario.Nodes{Names: in[m.Name]}, Together: nodes.Together})
		next, _, err := member.Do(ctx, m.State, &scenario.LoadedStep{Step: these}, &did)
		if err != nil {
			return nil, "", fmt.Errorf("cluster %s: %w", m.Name, err)
		}
		appendMemberRecord(to, &m, &did)
		fed = fed.With(m.WithState(next))
	}
	return fed, verb + " " + world.DescribeNodes(names), problem
}

// groupByMember groups nodes by member, under the names that they have there.
func groupByMember(names []string) map[string][]string {
	in := map[string][]string{}
	for _, joined := range names {
		member, name := cluster.SplitName(joined)
		in[member] = append(in[member], name)
	}
	return in
}

// Fail makes nodes of members fail. A member is lost, with its control plane, once none of its nodes answers.
func (f *Fleet) Fail(state *cluster.State, mode node.FailureMode, names ...string) (*cluster.State, error) {
	in := groupByMember(names)
	fed := state.Federation
	for _, m := range fed.Members {
		if len(in[m.Name]) == 0 {
			continue
		}
		member, err := f.memberWorld(m.Name)
		if err != nil {
			return nil, err
		}
		failed, err := member.Fail(m.State, mode, in[m.Name]...)
		if err != nil {
			return nil, err
		}
		fed = fed.With(m.WithState(failed))
	}
	return markLost(fed, state.Federation).Join(), nil
}

// fail carries out a fail step, whose nodes may be in several members.
func (f *Fleet) fail(_ context.Context, state *cluster.State, step *scenario.LoadedStep, _ *world.Record) (*cluster.Federation, string, error) {
	next, action, err := world.FailStep(f, state, step.Fail)
	return next.Federation, action, err
}

// restore brings nodes back, and with them the clusters that were lost.
func (f *Fleet) restore(ctx context.Context, state *cluster.State, step *scenario.LoadedStep, to *world.Record) (*cluster.Federation, string, error) {
	all := *state
	all.Nodes = f.Nodes(state)
	next, action, err := f.doInMembers(ctx, &all, "restore", step.Restore, func(on *scenario.NodesInTurn) scenario.Step { return scenario.Step{Restore: on} }, to)
	if next == nil {
		return nil, "", err
	}
	return markLost(next, state.Federation), action, err
}

// markLost marks each changed member as lost if none of its nodes answers, and taints its cluster as Karmada does. If a node of a lost
// member answers again, it removes mark and taint.
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/controllers/cluster/cluster_controller.go
func markLost(fed, before *cluster.Federation) *cluster.Federation {
	for _, m := range fed.Members {
		down := !slices.ContainsFunc(m.State.Nodes, cluster.KubeletResponds)
		if down == m.Lost || m.State == before.Member(m.Name).State {
			continue
		}
		m.Lost = down
		was := fed.Control.Cluster(m.Name)
		now := *was
		now.Spec.Taints = list.Without(was.Spec.Taints, func(t v1.Taint) bool { return t.Key == federation.TaintNotReady })
		if down {
			now.Spec.Taints = append(now.Spec.Taints, v1.Taint{Key: federation.TaintNotReady, Effect: v1.TaintEffectNoSchedule})
		}
		fed = fed.With(m).WithControl(changeCluster(fed.Control, was, &now))
	}
	return fed
}
