package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/engine/sched"
)

// Reason is a plugin that judges nodes differently in the two releases, so that they do not place pods alike.
type Reason struct {
	Plugin string `json:"plugin"`
	// Pods is the number of pods for which the plugin decides.
	Pods int `json:"pods"`
	// Text says what has changed in the plugin, and Since in which release; missing if that is not known.
	Since string `json:"since,omitempty"`
	Text  string `json:"text,omitempty"`
}

// pluginChanges has the changes of plugins that docs/versions.md lists.
var pluginChanges = []Reason{
	{Plugin: "NodeResourcesBalancedAllocation", Since: "1.36", Text: "it scores by how much a pod improves a node, not by how balanced the node is with it"},
	{Plugin: "ImageLocality", Since: "1.36", Text: "images that a pod has as volumes count"},
	{Plugin: "DynamicResources", Since: "1.36", Text: "devices of a class stand for an extended resource"},
	{Plugin: "NodeVolumeLimits", Since: "1.37", Text: "a pod with a volume goes only to nodes that have the CSI driver, if the driver wants that"},
	{Plugin: "VolumeBinding", Since: "1.37", Text: "a volume to be provisioned prefers the node with more storage left"},
	{Plugin: "PodTopologySpread", Since: "1.38", Text: "a spread constraint with an empty labelSelector counts all pods of the namespace"},
}

// AddReasons adds to the answer why each pod goes elsewhere. Both sides place the pod once more, and Why compares what their plugins say about the
// two nodes.
func (a *Answer) AddReasons(ctx context.Context, from, to *Side, state *cluster.State) error {
	newer, err := to.recordCycles(ctx, state, a.Changes) // the later release is set at this point
	if err != nil {
		return err
	}
	older, err := from.recordCycles(ctx, state, a.Changes)
	if err != nil {
		return err
	}
	for i := range a.Changes {
		a.explainChange(&a.Changes[i], older[i], newer[i])
	}
	slices.SortStableFunc(a.Reasons, func(a, b Reason) int { return b.Pods - a.Pods })
	return nil
}

// recordCycles places the pods of the changes once more, and records what the plugins say about the two nodes.
func (s *Side) recordCycles(ctx context.Context, state *cluster.State, changes []Change) ([]*placement.Cycle, error) {
	of := map[cluster.Ref]int{}
	for i := range changes {
		of[cluster.Ref{Kind: "Pod", Namespace: changes[i].Namespace, Name: changes[i].Name}] = i
	}
	all := make([]*placement.Cycle, len(changes))
	record := func(pod *v1.Pod) *placement.Depth {
		change := &changes[of[cluster.RefTo(pod)]]
		return &placement.Depth{Nodes: 1, Named: slices.DeleteFunc([]string{change.From, change.To}, func(name string) bool { return name == "" })}
	}
	only := func(pod *v1.Pod) bool { _, is := of[cluster.RefTo(pod)]; return is }
	err := s.placeEachAlone(ctx, state, record, only, func(pod cluster.Ref, result *placement.Result) {
		switch {
		case len(result.Placed) > 0:
			all[of[pod]] = result.Placed[0].Cycle
		case len(result.Pending) > 0:
			all[of[pod]] = result.Pending[0].Cycle
		}
	})
	return all, err
}

// placeEachAlone places pods of the state again, each alone, and calls do with the result.
func (s *Side) placeEachAlone(ctx context.Context, state *cluster.State, record func(*v1.Pod) *placement.Depth, only func(*v1.Pod) bool, do func(cluster.Ref, *placement.Result)) error {
	// The scheduler examines all nodes, because nobody knows where a search would have begun.
	engine, err := sched.NewEngine(s.Config.WithPercentageOfNodesToScore(100), sched.Ties{})
	if err != nil {
		return err
	}
	defer engine.Close()
	engine.Record = record
	own := map[cluster.Ref]cluster.Object{}
	for _, obj := range s.Objects() {
		if pod, is := obj.(*v1.Pod); is {
			own[cluster.RefTo(pod)] = pod
		}
	}
	for _, pod := range state.Pods {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !only(pod) || !slices.Contains(s.Config.SchedulerNames(), pod.Spec.SchedulerName) || isNeverPlaced(pod) {
			continue
		}
		ref := cluster.RefTo(pod)
		as := pod
		if written, found := own[ref]; found {
			as = written.(*v1.Pod)
		}
		alone := *as
		alone.UID, alone.DeletionTimestamp = pod.UID, nil
		alone.Spec.NodeName, alone.Status = "", v1.PodStatus{Phase: v1.PodPending, QOSClass: as.Status.QOSClass}
		engine.Reset()
		result, err := engine.Place(ctx, state.With(&alone), []*v1.Pod{&alone})
		if err != nil {
			return fmt.Errorf("placing %s as Kubernetes %s: %w", ref.Describe(), s.Config.Release(), err)
		}
		do(ref, result)
	}
	return nil
}

// explainChange finds the plugin that decides: the plugin that refuses a node in only one release, or else the plugin whose score has changed
// most in favour of the node that the later release chooses.
func (a *Answer) explainChange(c *Change, older, newer *placement.Cycle) {
	if older == nil || newer == nil {
		return
	}
	for _, one := range []struct {
		node, release string
		in, notIn     *placement.Cycle
	}{{c.From, a.To, newer, older}, {c.To, a.From, older, newer}} {
		if refusal := one.in.RefusalOf(one.node); refusal != nil && one.notIn.RefusalOf(one.node) == nil {
			c.setReason(refusal.Plugin, fmt.Sprintf("as %s, %s refuses %s: %s", one.release, refusal.Plugin, one.node, refusal.Message))
			a.countReason(refusal.Plugin)
			return
		}
	}
	was, is := older.ScoreDifference(c.From, c.To), newer.ScoreDifference(c.From, c.To)
	plugin, most := "", int64(0)
	for _, name := range older.Plugins(newer) {
		if swing := was[name] - is[name]; swing > most {
			plugin, most = name, swing
		}
	}
	if plugin == "" {
		return
	}
	c.setReason(plugin, fmt.Sprintf("%s scores %s %s %s as %s, and %s as %s", plugin, c.From, phraseLead(was[plugin]), c.To, a.From, strings.TrimSuffix(phraseLead(is[plugin]), " with"), a.To))
	a.countReason(plugin)
}

// phraseLead returns "12 above", "3 below" or "level with".
func phraseLead(ahead int64) string {
	switch {
	case ahead > 0:
		return fmt.Sprintf("%d above", ahead)
	case ahead < 0:
		return fmt.Sprintf("%d below", -ahead)
	}
	return "level with"
}

func (c *Change) setReason(plugin, why string) { c.Plugin, c.Why = plugin, why }

// countReason counts a pod for which the plugin decides.
func (a *Answer) countReason(plugin string) {
	i := slices.IndexFunc(a.Reasons, func(r Reason) bool { return r.Plugin == plugin })
	if i < 0 {
		i = len(a.Reasons)
		reason := Reason{Plugin: plugin}
		for _, known := range pluginChanges {
			if known.Plugin == plugin && sched.Before(a.From, known.Since) && !sched.Before(a.To, known.Since) {
				reason = known
			}
		}
		a.Reasons = append(a.Reasons, reason)
	}
	a.Reasons[i].Pods++
}
