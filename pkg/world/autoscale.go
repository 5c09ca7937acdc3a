package world

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Autoscaling is what the Cluster Autoscaler did in a step.
type Autoscaling struct {
	// Groups are the node groups whose sizes have changed.
	Groups []GroupSize `json:"groups,omitempty"`
	// Added are the nodes that the autoscaler added and that are ready, Removed the nodes that it removed, both in order.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Events are the autoscaler's events in order. NotTriggerScaleUp events are those of the last loop alone.
	Events []ScalingEvent `json:"events,omitempty"`
	// Slow are the workloads for which the autoscaler added nodes over several loops.
	Slow []Slow `json:"slow,omitempty"`
	// Moments describe the cluster each time that nothing moved and the autoscaler was asked. A moment that equals the one before is left
	// out.
	Moments []Moment `json:"moments,omitempty"`
	// Status is the autoscaler's status when nothing moves any more: the key status of the ConfigMap cluster-autoscaler-status, as YAML.
	Status string `json:"-"`

	scaleUps int // loops that added nodes
}

// GroupSize is the size of a node group before and after a step.
type GroupSize struct {
	Name string `json:"name"`
	From int    `json:"from"`
	To   int    `json:"to"`
	Max  int    `json:"max"`
	// Price is what a node of the group costs in an hour; missing if unknown.
	Price float64 `json:"price,omitempty"`
}

// ScalingEvent is an event that the autoscaler reports.
type ScalingEvent struct {
	At      metav1.Time `json:"at"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	// Pods are the pods that the event is about.
	Pods []cluster.PodRef `json:"pods,omitempty"`
}

// scaler is a Cluster Autoscaler together with the cloud that creates its nodes.
type scaler struct {
	*scenario.Autoscaler
	planner *autoscaler.Autoscaler
	prices  map[string]float64 // price of a node in an hour, by group
	cloud
}

// cloud is the cloud provider's memory. Its maps are replaced, never changed in place, since marks share them.
type cloud struct {
	requested    []requestedNode     // nodes that were asked for and are not ready yet, in order
	failedSearch *zoneSearch         // the last search of all zones that helped no pod; nil: none
	templates    map[string]*v1.Node // what a new node of a group looks like, by group
	stuck        map[string]bool     // nodes whose drain did not end; the autoscaler leaves them alone
}

// zoneSearch are the pods and the nodes of a search in which new nodes helped in no zone. Another search with the same pods and nodes would find
// none, either.
type zoneSearch struct {
	pods  []*v1.Pod
	nodes []*v1.Node
}

// requestedNode is a node that the autoscaler asked for and the cloud has not started yet.
type requestedNode struct {
	group, zone string // an empty zone is any zone
	at          time.Time
}

// SetAutoscaler gives the cluster a Cluster Autoscaler, which acts when nothing else moves. With nil, nothing adds or removes nodes.
func (c *Cluster) SetAutoscaler(with *scenario.Autoscaler) error {
	if with == nil || c.engine == nil {
		return nil
	}
	options, _ := with.Options() // loading the scenario has validated them
	decides, err := autoscaler.New(c.config, options, c.ties)
	if err == nil {
		c.scaler = &scaler{Autoscaler: with, planner: decides, prices: map[string]float64{}}
	}
	return err
}

// groups returns the node groups as the autoscaler's cloud provider would. If a step or a failure removes a node, the group shrinks and
// does not replace the node.
func (s *scaler) groups(state *cluster.State) []autoscaler.Group {
	var all []autoscaler.Group
	like := maps.Clone(s.templates)
	if like == nil {
		like = map[string]*v1.Node{}
	}
	for i := range s.NodeGroups {
		of := &s.NodeGroups[i]
		group := autoscaler.Group{Name: of.Name, Min: of.Min, Max: of.Max}
		for _, node := range state.Nodes {
			if !of.Has(node) {
				continue
			}
			if !s.stuck[node.Name] {
				group.Nodes = append(group.Nodes, node.Name)
			} else {
				group.Min, group.Max = max(group.Min-1, 0), group.Max-1
			}
		}
		if of := s.templateNode(state, of, ""); of != nil {
			like[s.NodeGroups[i].Name] = of
		} else if like[group.Name] == nil {
			like[group.Name] = state.Node(s.NodeGroups[i].Template)
		}
		group.Target = len(group.Nodes)
		for _, node := range s.requested {
			if node.group == of.Name {
				group.Target++
			}
		}
		if like[of.Name] != nil {
			price, _, _ := topology.Price(like[of.Name]) // loading the scenario has validated the price
			s.prices[of.Name] = cmp.Or(of.Price, price)
			group.Template = s.newGroupNode(state, of, like[of.Name], "template")[0].(*v1.Node)
		}
		all = append(all, group)
	}
	s.templates = like
	return all
}

// templateNode returns the node that the next node of the group copies; nil if the group has no node that answers. It is in the given zone or, if
// zone is empty, in the zone in which the group has the fewest nodes, since clouds spread a group over zones. Nodes that do not answer do
// not count: a zone that is down gets no nodes. Within a zone a node that is not cordoned comes first, as when the autoscaler decides.
// Otherwise a group whose cordoned node is of another kind would get such nodes forever, and the pods would not fit on them.
func (s *scaler) templateNode(state *cluster.State, of *scenario.AutoscaledGroup, zone string) *v1.Node {
	var zones []string
	first, nodes := map[string]*v1.Node{}, map[string]int{}
	for _, node := range state.Nodes {
		in := topology.ZoneOf(node.Labels)
		if !of.Has(node) || !cluster.KubeletResponds(node) || zone != "" && in != zone {
			continue
		}
		if nodes[in]++; nodes[in] == 1 {
			zones, first[in] = append(zones, in), node
		} else if first[in].Spec.Unschedulable && !node.Spec.Unschedulable {
			first[in] = node
		}
	}
	if zones == nil {
		return nil
	}
	return first[slices.MinFunc(zones, func(a, b string) int { return cmp.Compare(nodes[a], nodes[b]) })]
}

// newGroupNode returns a new node of the group, and the objects published for the node.
func (s *scaler) newGroupNode(state *cluster.State, group *scenario.AutoscaledGroup, like *v1.Node, name string) []cluster.Object {
	objects := cloneNodeObjects(state, like, name)
	made := objects[0].(*v1.Node)
	made.Spec.Unschedulable = false
	if key, value, labelled := strings.Cut(group.From, "="); labelled {
		metav1.SetMetaDataLabel(&made.ObjectMeta, key, value)
	} else {
		metav1.SetMetaDataAnnotation(&made.ObjectMeta, scenario.GroupAnnotation, group.Name)
	}
	return objects
}

// runAutoscaler asks the autoscaler what to do in a cluster in which nothing moves. It returns the same state if nothing changes now, and the
// time to ask again; the zero time means that only another change makes it worth asking.
func (c *Cluster) runAutoscaler(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, time.Time, error) {
	s := c.scaler
	if s == nil {
		return state, time.Time{}, nil
	}
	next, err := s.startRequestedNodes(c, state, to)
	if err != nil || next != state {
		return next, time.Time{}, err
	}
	groups := s.groups(state)
	done := to.ensureAutoscaling(s, groups)
	done.Moments = appendMoment(done.Moments, state, len(to.Pending), s.Autoscaler)
	decision, zone, err := s.decide(ctx, state, groups, unschedulablePods(to.Pending))
	if err != nil {
		return nil, time.Time{}, err
	}
	done.appendEvents(state, decision)
	if len(decision.Plan)+len(decision.Deleted) == 0 {
		done.Status = decision.Status()
	}
	again := decision.Again
	for _, share := range decision.Plan {
		for range share.To - share.From {
			s.requested = append(slices.Clip(s.requested), requestedNode{share.Group, zone, state.Now.Add(s.Startup())})
		}
	}
	for _, node := range s.requested {
		if again.IsZero() || node.at.Before(again) {
			again = node.at
		}
	}
	if len(decision.Deleted) > 0 {
		next, err = c.scaleDown(ctx, state, decision.Deleted, to)
	}
	if next != nil {
		done.setGroupSizes(s.groups(next))
	}
	return next, again, err
}

// decide asks the autoscaler which groups grow, and in which zone; an empty zone is any zone. The autoscaler takes a group's first ready
// node as the template of a new one, so it sees one zone of a group at a time: with nodes in zones a and b, a pod that needs zone b gets no
// node while a's node is first. If no group helps, decide therefore asks again with each zone's nodes first. It returns the first zone that
// helps, in which the cloud then creates the nodes.
func (s *scaler) decide(ctx context.Context, state *cluster.State, groups []autoscaler.Group, pods []*v1.Pod) (*autoscaler.Decision, string, error) {
	decision, err := s.planner.Loop(ctx, state, groups, pods)
	if err != nil || decision.ScaleUp != autoscaler.ScaleUpNoOptions || len(decision.Deleted) > 0 {
		return decision, "", err
	}
	if s.failedSearch != nil && slices.Equal(s.failedSearch.pods, decision.Help) && slices.Equal(s.failedSearch.nodes, state.Nodes) {
		return decision, "", nil
	}
	zones, _ := topology.Domains(state.Nodes, topology.ZoneKey(state.Nodes))
	after := s.planner.Mark()
	for _, zone := range zones {
		elsewhere := func(node *v1.Node) bool { return topology.ZoneOf(node.Labels) != zone.Value }
		inZone := func(node *v1.Node) bool { return !elsewhere(node) }
		turned := *state
		turned.Nodes = slices.Concat(slices.DeleteFunc(slices.Clone(state.Nodes), elsewhere), slices.DeleteFunc(slices.Clone(state.Nodes), inZone))
		other, err := s.planner.Loop(ctx, &turned, groups, pods)
		if err != nil || other.ScaleUp == autoscaler.ScaleUpSuccessful {
			return other, zone.Value, err
		}
	}
	s.planner.Resume(after)
	s.failedSearch = &zoneSearch{decision.Help, state.Nodes}
	return decision, "", nil
}

// unschedulablePods returns the pods that the scheduler tried and could not place.
func unschedulablePods(pending []placement.Pending) []*v1.Pod {
	var pods []*v1.Pod
	for _, p := range pending {
		if p.Untried == "" && p.Message != placement.Gated && p.Pod.DeletionTimestamp == nil && p.Pod.Status.NominatedNodeName == "" {
			pods = append(pods, p.Pod)
		}
	}
	return pods
}

// startRequestedNodes starts the nodes that the cloud has ready by now.
func (s *scaler) startRequestedNodes(c *Cluster, state *cluster.State, to *Record) (*cluster.State, error) {
	var later []requestedNode
	var added []cluster.Object
	there := state
	for _, node := range s.requested {
		if node.at.After(state.Now.Time) {
			later = append(later, node)
			continue
		}
		of := &s.NodeGroups[slices.IndexFunc(s.NodeGroups, func(g scenario.AutoscaledGroup) bool { return g.Name == node.group })]
		like := cmp.Or(s.templateNode(there, of, node.zone), s.templates[of.Name])
		base, _, _ := strings.Cut(like.Name, "-new-") // the autoscaler may have added like, too
		objects := s.newGroupNode(state, of, like, newNodeNames(there, base, 1)[0])
		there = there.With(objects[0]) // the next node then gets another name
		added = append(added, objects...)
		done := to.ensureAutoscaling(s, nil) // an earlier step may have asked for the node
		done.Added = append(done.Added, objects[0].GetName())
	}
	if s.requested = later; added == nil {
		return state, nil
	}
	return c.startNodes(state, nil, to, added)
}

// scaleDown drains the nodes and removes each node whose drain ends. The autoscaler leaves the others alone from then on.
func (c *Cluster) scaleDown(ctx context.Context, state *cluster.State, removals []autoscaler.Removal, to *Record) (*cluster.State, error) {
	s := c.scaler
	c.scaler = nil // no autoscaler acts while nodes are drained
	defer func() { c.scaler = s }()
	var names []string
	for _, removal := range removals {
		names = append(names, removal.Node)
	}
	next, drained, err := c.DrainNodes(ctx, state, names, DrainOptions{DrainOptions: node.DrainOptions{Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true}}, to)
	if err != nil {
		return nil, err
	}
	for _, d := range drained {
		if !d.Ends {
			if s.stuck = maps.Clone(s.stuck); s.stuck == nil {
				s.stuck = map[string]bool{}
			}
			s.stuck[d.Node] = true
			if next, err = node.Uncordon(next, d.Node); err != nil {
				return nil, err
			}
			to.Autoscaling.Events = append(to.Autoscaling.Events, ScalingEvent{At: next.Now, Reason: "ScaleDownFailed",
				Message: fmt.Sprintf("failed to drain and delete node: %s: %s", d.Node, d.BlockingPods()[0].Reason)})
			continue
		}
		if next, err = node.Fail(next, node.Deleted, d.Node); err != nil {
			return nil, err
		}
		to.Autoscaling.Removed = append(to.Autoscaling.Removed, d.Node)
	}
	return next, nil
}

// ensureAutoscaling returns the record of what the autoscaler did, and creates it if it is missing. The sizes "before" are those at the first
// call.
func (r *Record) ensureAutoscaling(s *scaler, groups []autoscaler.Group) *Autoscaling {
	if r.Autoscaling == nil {
		r.Autoscaling = &Autoscaling{}
	}
	if r.Autoscaling.Groups == nil {
		for _, group := range groups {
			r.Autoscaling.Groups = append(r.Autoscaling.Groups, GroupSize{Name: group.Name, From: group.Target, To: group.Target, Max: group.Max, Price: s.prices[group.Name]})
		}
	}
	return r.Autoscaling
}

// setGroupSizes sets the current sizes of the groups.
func (a *Autoscaling) setGroupSizes(groups []autoscaler.Group) {
	for i, group := range groups {
		a.Groups[i].To = group.Target
	}
}

// reportedReasons are the reasons of the events that a report shows: events about pods, and about the cluster. The autoscaler reports each change of a
// size twice, for the group and for its pods; the report shows the second.
var reportedReasons = []string{"NotTriggerScaleUp", "TriggeredScaleUp", "ScaleDownEmpty", "ScaleDown", "MaxNodesTotalReached", "ClusterUnhealthy"}

// appendEvents appends the events of a loop. Earlier NotTriggerScaleUp events are removed, since the loop has judged those pods anew.
func (a *Autoscaling) appendEvents(state *cluster.State, decision *autoscaler.Decision) {
	a.Events = slices.DeleteFunc(a.Events, func(e ScalingEvent) bool { return e.Reason == "NotTriggerScaleUp" })
	owner := state.Owners()
	a.recordSlowWorkloads(owner, decision)
	for _, e := range decision.Events {
		if !slices.Contains(reportedReasons, e.Reason) || e.Node != "" {
			continue
		}
		same := func(other ScalingEvent) bool { return other.Reason == e.Reason && other.Message == e.Message }
		at := slices.IndexFunc(a.Events, func(other ScalingEvent) bool { return same(other) && (e.Pod == nil || other.At.Equal(&state.Now)) })
		if at < 0 {
			at = len(a.Events)
			a.Events = append(a.Events, ScalingEvent{At: state.Now, Reason: e.Reason, Message: e.Message})
		}
		if e.Pod != nil {
			a.Events[at].Pods = append(a.Events[at].Pods, cluster.NewPodRef(e.Pod, owner(e.Pod)))
		}
	}
}

// Changed reports whether any group has changed its size.
func (a *Autoscaling) Changed() bool {
	return slices.ContainsFunc(a.Groups, func(g GroupSize) bool { return g.From != g.To })
}

// ExtraCost returns how much more the changed groups cost in an hour than before (negative if less), and whether all their prices are known.
func (a *Autoscaling) ExtraCost() (more float64, known bool) {
	known = true
	for _, g := range a.Groups {
		more += g.Price * float64(g.To-g.From)
		known = known && (g.From == g.To || g.Price > 0)
	}
	return more, known
}

// WithoutUnchangedGroups returns a copy that has only the groups whose sizes have changed.
func (a *Autoscaling) WithoutUnchangedGroups() *Autoscaling {
	shown := *a
	shown.Groups = slices.DeleteFunc(slices.Clone(a.Groups), func(g GroupSize) bool { return g.From == g.To })
	return &shown
}

// LastGrowth returns the time from since to the last moment at which nodes were added; 0 if none were.
func (a *Autoscaling) LastGrowth(since time.Time) (last time.Duration) {
	for i := 1; i < len(a.Moments); i++ {
		if a.Moments[i].Nodes > a.Moments[i-1].Nodes {
			last = a.Moments[i].At.Sub(since)
		}
	}
	return last
}

// DescribeSizes returns "spot from 3 to 5 nodes, its maximum, large from 2 to 1 node", or "changes no group".
func (a *Autoscaling) DescribeSizes() string {
	var all []string
	for _, g := range a.Groups {
		if g.From == g.To {
			continue
		}
		change := fmt.Sprintf("%s from %d to %s", g.Name, g.From, words.Count(g.To, "node"))
		if g.To >= g.Max {
			change += ", its maximum"
		}
		all = append(all, change)
	}
	return cmp.Or(strings.Join(all, ", "), "changes no group")
}
