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
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/autoscaler"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// Autoscaling is what the Cluster Autoscaler did.
type Autoscaling struct {
	// Groups are the node groups whose sizes have changed.
	Groups []GroupSize `json:"groups,omitempty"`
	// Added and Removed are the nodes that it added and that are there, and those that it removed, in order.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Events are what it reported, in order. Of pods that got no nodes, they are those of its last loop.
	Events []ScalingEvent `json:"events,omitempty"`
	// Slow are the workloads for which it added nodes little by little.
	Slow []Slow `json:"slow,omitempty"`
	// Moments are the cluster whenever nothing moved and the autoscaler was asked, without those that are as the one before.
	Moments []Moment `json:"moments,omitempty"`
	// Status is its status when nothing moves any more: the key status of the ConfigMap cluster-autoscaler-status, as YAML.
	Status string `json:"-"`

	scaleUps int // loops that added nodes
}

// Moment is the cluster at a time.
type Moment struct {
	At      metav1.Time `json:"at"`
	Nodes   int         `json:"nodes"`
	Pending int         `json:"pending"`
	// Price is what the nodes cost in an hour together, as far as prices are known; missing if none is.
	Price *float64 `json:"price,omitempty"`
}

// GroupSize is the size of a node group before and after.
type GroupSize struct {
	Name string `json:"name"`
	From int    `json:"from"`
	To   int    `json:"to"`
	Max  int    `json:"max"`
	// Price is what a node costs in an hour; missing if that is not known.
	Price float64 `json:"price,omitempty"`
}

// ScalingEvent is an event that the autoscaler reports.
type ScalingEvent struct {
	At      metav1.Time `json:"at"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	// Pods are what it is about.
	Pods []cluster.PodRef `json:"pods,omitempty"`
}

// scaler is a Cluster Autoscaler, and the cloud that makes its nodes.
type scaler struct {
	*scenario.Autoscaler
	decides *autoscaler.Autoscaler
	prices  map[string]float64 // of a node of a group in an hour
	cloud
}

// cloud is what the cloud remembers. Its maps are never changed in place.
type cloud struct {
	coming []comingNode        // in order
	tried  *tried              // for whom no zone has helped; nil: for nobody
	like   map[string]*v1.Node // what a new node of a group is like
	stuck  map[string]bool     // nodes whose drain did not end; they are left alone
}

// tried are pods for which nodes of each zone were asked for, and the nodes that there were.
type tried struct {
	pods  []*v1.Pod
	nodes []*v1.Node
}

// comingNode is a node that was asked for.
type comingNode struct {
	group, zone string // any zone if it is empty
	at          time.Time
}

// Autoscale lets a Cluster Autoscaler act when nothing else moves; nil: nobody does.
func (c *Cluster) Autoscale(with *scenario.Autoscaler) error {
	if with == nil || c.engine == nil {
		return nil
	}
	options, _ := with.Options() // they have been validated
	decides, err := autoscaler.New(c.config, options, c.ties)
	if err == nil {
		c.scaler = &scaler{Autoscaler: with, decides: decides, prices: map[string]float64{}}
	}
	return err
}

// groups returns the node groups as the autoscaler's cloud provider would. A node that something else takes away leaves its group, which
// does not replace it.
func (s *scaler) groups(state *cluster.State) []autoscaler.Group {
	var all []autoscaler.Group
	like := maps.Clone(s.like)
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
		if of := s.site(state, of, ""); of != nil {
			like[s.NodeGroups[i].Name] = of
		} else if like[group.Name] == nil {
			like[group.Name] = state.Node(s.NodeGroups[i].Template)
		}
		group.Target = len(group.Nodes)
		for _, node := range s.coming {
			if node.group == of.Name {
				group.Target++
			}
		}
		if like[of.Name] != nil {
			price, _, _ := topology.Price(like[of.Name]) // it has been validated
			s.prices[of.Name] = cmp.Or(of.Price, price)
			group.Template = s.made(state, of, like[of.Name], "template")[0].(*v1.Node)
		}
		all = append(all, group)
	}
	s.like = like
	return all
}

// site returns the node that a new one of the group is like: of the zone, or of that in which the group has the fewest nodes, as clouds spread
// them. Nodes that do not answer do not count, since a zone that is down gets none. Of the nodes of a zone, one that is not cordoned is preferred,
// as the autoscaler prefers it when it decides: otherwise a group with a cordoned node of another kind gets nodes without end on which the pods
// do not fit. It is nil if there is no such node.
func (s *scaler) site(state *cluster.State, of *scenario.AutoscaledGroup, zone string) *v1.Node {
	var zones []string
	first, nodes := map[string]*v1.Node{}, map[string]int{}
	for _, node := range state.Nodes {
		in := topology.ZoneOf(node.Labels)
		if !of.Has(node) || !cluster.Answers(node) || zone != "" && in != zone {
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

// made returns a new node of the group, and what is published of it.
func (s *scaler) made(state *cluster.State, group *scenario.AutoscaledGroup, like *v1.Node, name string) []cluster.Object {
	objects := machine(state, like, name)
	made := objects[0].(*v1.Node)
	made.Spec.Unschedulable = false
	if key, value, labelled := strings.Cut(group.From, "="); labelled {
		metav1.SetMetaDataLabel(&made.ObjectMeta, key, value)
	} else {
		metav1.SetMetaDataAnnotation(&made.ObjectMeta, scenario.GroupAnnotation, group.Name)
	}
	return objects
}

// autoscale asks the autoscaler, in a cluster in which nothing moves. It returns the same state if nothing changes now, and when to ask
// again; zero: not before something else has moved.
func (c *Cluster) autoscale(ctx context.Context, state *cluster.State, to *Record) (*cluster.State, time.Time, error) {
	s := c.scaler
	if s == nil {
		return state, time.Time{}, nil
	}
	next, err := s.arrive(c, state, to)
	if err != nil || next != state {
		return next, time.Time{}, err
	}
	groups := s.groups(state)
	done := to.autoscaling(s, groups)
	done.moment(state, len(to.Pending), s.Autoscaler)
	decision, zone, err := s.decide(ctx, state, groups, unschedulable(to.Pending))
	if err != nil {
		return nil, time.Time{}, err
	}
	done.report(state, decision)
	if len(decision.Plan)+len(decision.Deleted) == 0 {
		done.Status = decision.Status()
	}
	again := decision.Again
	for _, share := range decision.Plan {
		for range share.To - share.From {
			s.coming = append(slices.Clip(s.coming), comingNode{share.Group, zone, state.Now.Add(s.Startup())})
		}
	}
	for _, node := range s.coming {
		if again.IsZero() || node.at.Before(again) {
			again = node.at
		}
	}
	if len(decision.Deleted) > 0 {
		next, err = c.scaleDown(ctx, state, decision.Deleted, to)
	}
	if next != nil {
		done.resized(s.groups(next))
	}
	return next, again, err
}

// decide asks the autoscaler. New nodes of a group are for it like any of the ready ones, in another loop like another. So where it finds no
// group that helps, it is asked again with the nodes of each other zone first, and the new nodes come in the zone that does.
func (s *scaler) decide(ctx context.Context, state *cluster.State, groups []autoscaler.Group, pods []*v1.Pod) (*autoscaler.Decision, string, error) {
	decision, err := s.decides.Loop(ctx, state, groups, pods)
	if err != nil || decision.ScaleUp != autoscaler.ScaleUpNoOptions || len(decision.Deleted) > 0 {
		return decision, "", err
	}
	if s.tried != nil && slices.Equal(s.tried.pods, decision.Help) && slices.Equal(s.tried.nodes, state.Nodes) {
		return decision, "", nil
	}
	zones, _ := topology.Domains(state.Nodes, topology.ZoneKey(state.Nodes))
	after := s.decides.Mark()
	for _, zone := range zones {
		elsewhere := func(node *v1.Node) bool { return topology.ZoneOf(node.Labels) != zone.Value }
		inZone := func(node *v1.Node) bool { return !elsewhere(node) }
		turned := *state
		turned.Nodes = slices.Concat(slices.DeleteFunc(slices.Clone(state.Nodes), elsewhere), slices.DeleteFunc(slices.Clone(state.Nodes), inZone))
		other, err := s.decides.Loop(ctx, &turned, groups, pods)
		if err != nil || other.ScaleUp == autoscaler.ScaleUpSuccessful {
			return other, zone.Value, err
		}
	}
	s.decides.Return(after)
	s.tried = &tried{decision.Help, state.Nodes}
	return decision, "", nil
}

// unschedulable returns the pods that the scheduler could not place.
func unschedulable(pending []placement.Pending) []*v1.Pod {
	var pods []*v1.Pod
	for _, p := range pending {
		if p.Untried == "" && p.Message != placement.Gated && p.Pod.DeletionTimestamp == nil && p.Pod.Status.NominatedNodeName == "" {
			pods = append(pods, p.Pod)
		}
	}
	return pods
}

// arrive adds the nodes that are ready by now.
func (s *scaler) arrive(c *Cluster, state *cluster.State, to *Record) (*cluster.State, error) {
	var later []comingNode
	var added []cluster.Object
	there := state
	for _, node := range s.coming {
		if node.at.After(state.Now.Time) {
			later = append(later, node)
			continue
		}
		of := &s.NodeGroups[slices.IndexFunc(s.NodeGroups, func(g scenario.AutoscaledGroup) bool { return g.Name == node.group })]
		like := cmp.Or(s.site(there, of, node.zone), s.like[of.Name])
		base, _, _ := strings.Cut(like.Name, "-new-") // it may have been added itself
		objects := s.made(state, of, like, newNames(there, base, 1)[0])
		there = there.With(objects[0]) // so that the next one has another name
		added = append(added, objects...)
		to.Autoscaling.Added = append(to.Autoscaling.Added, objects[0].GetName())
	}
	if s.coming = later; added == nil {
		return state, nil
	}
	return c.start(state, nil, to, added)
}

// scaleDown drains the nodes and removes those whose drains end. The others are left alone from then on.
func (c *Cluster) scaleDown(ctx context.Context, state *cluster.State, removals []autoscaler.Removal, to *Record) (*cluster.State, error) {
	s := c.scaler
	c.scaler = nil // while nodes are drained it waits
	defer func() { c.scaler = s }()
	var names []string
	for _, removal := range removals {
		names = append(names, removal.Node)
	}
	next, drained, err := c.Drain(ctx, state, names, DrainOptions{DrainOptions: node.DrainOptions{Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true}}, to)
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
				Message: fmt.Sprintf("failed to drain and delete node: %s: %s", d.Node, d.Stays()[0].Reason)})
			continue
		}
		if next, err = node.Fail(next, node.Deleted, d.Node); err != nil {
			return nil, err
		}
		to.Autoscaling.Removed = append(to.Autoscaling.Removed, d.Node)
	}
	return next, nil
}

// autoscaling returns what the autoscaler has done in the record. Sizes count from its first loop there.
func (r *Record) autoscaling(s *scaler, groups []autoscaler.Group) *Autoscaling {
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

// moment notes the cluster as it is.
func (a *Autoscaling) moment(state *cluster.State, pending int, by *scenario.Autoscaler) {
	now := Moment{At: state.Now, Nodes: len(state.Nodes), Pending: pending}
	for _, node := range state.Nodes {
		if price, known, _ := by.Price(node); known { // it has been validated
			now.Price = ptr.To(ptr.Deref(now.Price, 0) + price)
		}
	}
	if n := len(a.Moments); n > 0 {
		if last := a.Moments[n-1]; last.Nodes == now.Nodes && last.Pending == now.Pending && ptr.Equal(last.Price, now.Price) {
			return
		}
	}
	a.Moments = append(a.Moments, now)
}

func (a *Autoscaling) resized(groups []autoscaler.Group) {
	for i, group := range groups {
		a.Groups[i].To = group.Target
	}
}

// said are the reasons of events that are reported of pods, and of groups and nodes. The autoscaler reports each change of a size twice.
var said = []string{"NotTriggerScaleUp", "TriggeredScaleUp", "ScaleDownEmpty", "ScaleDown", "MaxNodesTotalReached", "ClusterUnhealthy"}

// report adds the events of a loop. What is said of pods without nodes takes the place of what was said before.
func (a *Autoscaling) report(state *cluster.State, decision *autoscaler.Decision) {
	a.Events = slices.DeleteFunc(a.Events, func(e ScalingEvent) bool { return e.Reason == "NotTriggerScaleUp" })
	owner := state.Owners()
	a.slow(owner, decision)
	for _, e := range decision.Events {
		if !slices.Contains(said, e.Reason) || e.Node != "" {
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

// Changed reports whether any group has another size.
func (a *Autoscaling) Changed() bool {
	return slices.ContainsFunc(a.Groups, func(g GroupSize) bool { return g.From != g.To })
}

// Costs returns how much more the groups cost in an hour than before, and whether all prices are known.
func (a *Autoscaling) Costs() (more float64, known bool) {
	known = true
	for _, g := range a.Groups {
		more += g.Price * float64(g.To-g.From)
		known = known && (g.From == g.To || g.Price > 0)
	}
	return more, known
}

// OfChanges returns the record without the groups that have the same size as before.
func (a *Autoscaling) OfChanges() *Autoscaling {
	shown := *a
	shown.Groups = slices.DeleteFunc(slices.Clone(a.Groups), func(g GroupSize) bool { return g.From == g.To })
	return &shown
}

// Grown returns how long after that time there were more nodes for the last time; 0 if there never were.
func (a *Autoscaling) Grown(since time.Time) (last time.Duration) {
	for i := 1; i < len(a.Moments); i++ {
		if a.Moments[i].Nodes > a.Moments[i-1].Nodes {
			last = a.Moments[i].At.Sub(since)
		}
	}
	return last
}

// Words is "spot 3->5, its maximum, large 2->1", or "changes no group".
func (a *Autoscaling) Words() string {
	var all []string
	for _, g := range a.Groups {
		if g.From == g.To {
			continue
		}
		change := fmt.Sprintf("%s %d->%d", g.Name, g.From, g.To)
		if g.To >= g.Max {
			change += ", its maximum"
		}
		all = append(all, change)
	}
	return cmp.Or(strings.Join(all, ", "), "changes no group")
}

// With says what that means: " with 3 more nodes (spot 3->6), 0.60 an hour more"; "" if no group has another size.
func (a *Autoscaling) With() string {
	if a == nil || !a.Changed() {
		return ""
	}
	nodes := 0
	for _, g := range a.Groups {
		nodes += g.To - g.From
	}
	with := fmt.Sprintf(" with %s (%s)", words.Count(nodes, "more node"), a.Words())
	if nodes < 0 {
		with = fmt.Sprintf(" with %s (%s)", words.Count(-nodes, "fewer node"), a.Words())
	}
	return with + a.Price()
}

// Price is ", 0.60 an hour more", or "" if no prices are known, or the nodes cost as much as before.
func (a *Autoscaling) Price() string {
	switch more, known := a.Costs(); {
	case known && more > 0:
		return fmt.Sprintf(", %.2f an hour more", more)
	case known && more < 0:
		return fmt.Sprintf(", %.2f an hour less", -more)
	}
	return ""
}
