package cluster

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/topology"
)

// MemberLabel is a label of every node and pod of a federation. Its value is the name of the cluster.
const MemberLabel = topology.LabelCluster

// Federation has the clusters that a joined state shows at once. Join makes the lists of the joined state from those of the members. Each
// node, pod and budget gets the name of its cluster as a prefix (m1/node-1, m1/web-0), and so does each workload that only its cluster has.
// A workload that Karmada propagates to several clusters appears once, with the replicas of all clusters. Nobody changes the lists of a
// joined state: to act on a member, derive the member's state and join the members again.
type Federation struct {
	// Members lists the clusters in the order in which they joined.
	Members []Member
	Control *Control
}

// Member is one cluster of a federation.
type Member struct {
	// Name is the cluster's name.
	Name string
	// State is the cluster's own state, without prefixes.
	State *State
	// Lost means that the whole cluster has failed, including its control plane: nothing moves in it.
	Lost bool
	// Settled means that the state is at rest: nothing moves in it.
	Settled bool
	// Works holds the resources that Karmada has propagated to the cluster. The map is never changed in place.
	Works map[federation.Key]Work

	propagated map[Ref]bool // the objects of the works
	view       *State
	region     string // the cluster's region when view was made
}

// Work is what a member received from one template.
type Work struct {
	// Template, Cluster and Overrides are the sources of the work.
	Template  *federation.Template
	Cluster   *federation.Cluster
	Overrides []*federation.Override
	Replicas  int32
	Objects   []Object
}

// Same reports whether both works have the same sources and replicas.
func (w Work) Same(other Work) bool {
	return w.Template == other.Template && w.Cluster == other.Cluster && SameSlice(w.Overrides, other.Overrides) && w.Replicas == other.Replicas
}

// Control is the state of Karmada's control plane. It is immutable, like a State.
type Control struct {
	Options   federation.Options
	Clusters  []*federation.Cluster
	Policies  []*federation.Policy
	Overrides []*federation.Override
	// Stored has the objects of users as Karmada's API server admitted them. Members get copies of the templates as users wrote them.
	Stored *State
	// Templates lists the resources of users, in order of arrival.
	Templates []*ResourceTemplate
	// Bindings has a binding for each template that a policy has claimed, in the same order.
	Bindings []*federation.Binding
	// Queue lists the bindings that wait for Karmada's scheduler, in order of arrival.
	Queue []federation.Key
}

// ResourceTemplate is a resource in Karmada's control plane.
type ResourceTemplate struct {
	*federation.Template
	// Objects are the objects that a member gets: the resource itself or, for a custom resource, the objects that its operator creates
	// there.
	Objects []Object
}

// Cluster returns the cluster with that name, or nil.
func (c *Control) Cluster(name string) *federation.Cluster {
	if i := slices.IndexFunc(c.Clusters, func(c *federation.Cluster) bool { return c.Name == name }); i >= 0 {
		return c.Clusters[i]
	}
	return nil
}

// BindingOf returns the binding that propagates the workload, or nil if none does.
func (c *Control) BindingOf(workload Ref) *federation.Binding {
	for _, t := range c.Templates {
		if !slices.ContainsFunc(t.Objects, func(obj Object) bool { return RefTo(obj) == workload }) {
			continue
		}
		if i := slices.IndexFunc(c.Bindings, func(b *federation.Binding) bool { return b.Template.Key() == t.Key() }); i >= 0 {
			return c.Bindings[i]
		}
	}
	return nil
}

// region returns the region of the cluster, or "" if it has none.
func (c *Control) region(name string) string {
	if cl := c.Cluster(name); cl != nil {
		return cl.Spec.Region
	}
	return ""
}

// Member returns the member with that name, or nil.
func (f *Federation) Member(name string) *Member {
	if i := slices.IndexFunc(f.Members, func(m Member) bool { return m.Name == name }); i >= 0 {
		return &f.Members[i]
	}
	return nil
}

// With returns the federation with the member, which replaces the member with its name or is added at the end.
func (f *Federation) With(member Member) *Federation {
	next := *f
	next.Members = slices.Clone(f.Members)
	if m := next.Member(member.Name); m != nil {
		*m = member
	} else {
		next.Members = append(next.Members, member)
	}
	return &next
}

// WithState returns the member with another state. If the state is new, the member is no longer settled.
func (m Member) WithState(state *State) Member {
	if m.State != state {
		m.State, m.Settled, m.view = state, false, nil
	}
	return m
}

// WithWorks returns the member with another state, after Karmada propagated the works to it.
func (m Member) WithWorks(state *State, works map[federation.Key]Work) Member {
	m = m.WithState(state)
	m.Works, m.propagated = works, map[Ref]bool{}
	for _, work := range works {
		for _, obj := range work.Objects {
			m.propagated[RefTo(obj)] = true
		}
	}
	return m
}

// JoinedOwner returns the name that the member's workload has in the joined state. Workloads from Karmada, and DaemonSets, keep their names,
// which several clusters share. The cluster's other workloads get the prefix of the cluster.
func (m *Member) JoinedOwner(ref Ref) Ref {
	if ref.Kind != "DaemonSet" && !m.propagated[ref] {
		ref.Name = JoinName(m.Name, ref.Name)
	}
	return ref
}

// EffectiveState returns the member's state. For a lost member, it leaves out the objects that Karmada has withdrawn since the loss. These cannot
// be deleted while the cluster is lost, but they do not run, and they are deleted as soon as the cluster is back.
func (m *Member) EffectiveState(c *Control) *State {
	if !m.Lost {
		return m.State
	}
	kept := map[Ref]bool{}
	for _, b := range c.Bindings {
		if slices.ContainsFunc(b.Copies(), func(t federation.Target) bool { return t.Cluster == m.Name }) {
			for _, obj := range m.Works[b.Template.Key()].Objects {
				kept[RefTo(obj)] = true
			}
		}
	}
	gone := func(ref Ref) bool { return m.propagated[ref] && !kept[ref] }
	owner := m.State.Owners()
	var all []Object
	for _, obj := range m.State.Objects() {
		of := RefTo(obj)
		if pod, is := obj.(*v1.Pod); is {
			of = owner(pod)
		} else if by := metav1.GetControllerOfNoCopy(obj); by != nil {
			of = Ref{by.Kind, obj.GetNamespace(), by.Name}
		}
		if gone(of) {
			all = append(all, obj)
		}
	}
	return m.State.Without(all...)
}

// WithControl returns the federation with another state of the control plane.
func (f *Federation) WithControl(control *Control) *Federation {
	next := *f
	next.Control = control
	return &next
}

// JoinName returns the name that a member's object has in the joined state.
func JoinName(member, name string) string { return member + "/" + name }

// SplitName splits a name of the joined state into the cluster and the name in that cluster.
func SplitName(joined string) (member, name string) {
	member, name, found := strings.Cut(joined, "/")
	if !found {
		return "", joined
	}
	return member, name
}

// Join returns the state that shows all members.
func (f *Federation) Join() *State {
	all := &State{Federation: f}
	for i := range f.Members {
		m := &f.Members[i]
		if all.Now.Before(&m.State.Now) {
			all.Now = m.State.Now
		}
		view := m.cachedView(f.Control)
		all.Nodes = append(all.Nodes, view.Nodes...)
		all.Pods = append(all.Pods, view.Pods...)
		all.PodDisruptionBudgets = append(all.PodDisruptionBudgets, view.PodDisruptionBudgets...)
		all.ReplicaSets = append(all.ReplicaSets, view.ReplicaSets...)
		all.Jobs = append(all.Jobs, view.Jobs...)
		all.Refused = append(all.Refused, view.Refused...)
		all.Namespaces = mergeObjects(all.Namespaces, m.State.Namespaces)
		all.PriorityClasses = mergeObjects(all.PriorityClasses, m.State.PriorityClasses)
		all.Deployments = mergeObjects(all.Deployments, view.Deployments)
		all.StatefulSets = mergeObjects(all.StatefulSets, view.StatefulSets)
		all.DaemonSets = mergeObjects(all.DaemonSets, view.DaemonSets)
		all.ReplicationControllers = mergeObjects(all.ReplicationControllers, view.ReplicationControllers)
		all.UnknownOwners = mergeObjects(all.UnknownOwners, view.UnknownOwners)
		all.CronJobs = mergeObjects(all.CronJobs, view.CronJobs)
	}
	return all
}

// cachedView returns the member's part of the joined state. It is cached, except for a lost member, whose part changes with Karmada's decisions
// about other clusters.
func (m *Member) cachedView(c *Control) *State {
	region := c.region(m.Name)
	if m.Lost {
		return m.joinedView(m.EffectiveState(c), region)
	}
	if m.view == nil || m.region != region {
		m.view, m.region = m.joinedView(m.State, region), region
	}
	return m.view
}

// mergeObjects adds the objects to the list. If the list has an object of the same name, merge adds up the replicas of the two.
func mergeObjects[T Object](list, more []T) []T {
	at := make(map[types.NamespacedName]int, len(list))
	for i, obj := range list {
		at[NameOf(obj)] = i
	}
	for _, obj := range more {
		i, found := at[NameOf(obj)]
		if !found {
			at[NameOf(obj)] = len(list)
			list = append(list, obj)
			continue
		}
		if n, scaled := Replicas(obj); scaled {
			sum, _ := Replicas(list[i])
			sum += n
			both := list[i].DeepCopyObject().(T)
			*ReplicasOf(both) = &sum
			list[i] = both
		}
	}
	return list
}

// joinedView returns the part of the member's state that the joined state shows, under the names there: nodes, pods, budgets, owners of pods,
// and refusals.
func (m *Member) joinedView(state *State, region string) *State {
	s := &State{}
	for _, node := range state.Nodes {
		s.Nodes = append(s.Nodes, m.joinedNode(node, region))
	}
	for _, pod := range state.Pods {
		s.Pods = append(s.Pods, m.JoinedPod(pod))
	}
	for _, budget := range state.PodDisruptionBudgets {
		shown := budget.DeepCopy()
		shown.Name = JoinName(m.Name, budget.Name)
		m.restrictBudget(shown)
		s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, shown)
	}
	s.ReplicaSets, s.Jobs = joinedOwners(m, state.ReplicaSets), joinedOwners(m, state.Jobs)
	s.Deployments, s.StatefulSets = joinedOwners(m, state.Deployments), joinedOwners(m, state.StatefulSets)
	s.ReplicationControllers, s.CronJobs = joinedOwners(m, state.ReplicationControllers), joinedOwners(m, state.CronJobs)
	s.UnknownOwners = joinedOwners(m, state.UnknownOwners)
	s.DaemonSets = state.DaemonSets
	for _, r := range state.Refused {
		r.Message += ", in cluster " + m.Name
		if r.Ref = m.JoinedOwner(r.Ref); r.Kind == "Pod" {
			_, r.Name = SplitName(r.Name)
			r.Name = JoinName(m.Name, r.Name)
		}
		s.Refused = append(s.Refused, r)
	}
	return s
}

// joinedNode returns a node of the member under its name in the joined state. A node without a region gets the region of its cluster.
func (m *Member) joinedNode(node *v1.Node, region string) *v1.Node {
	shown := *node
	shown.Name, shown.Labels = JoinName(m.Name, node.Name), m.withMemberLabel(node.Labels)
	if host, found := node.Labels[v1.LabelHostname]; found {
		shown.Labels[v1.LabelHostname] = JoinName(m.Name, host)
	}
	if _, found := node.Labels[v1.LabelTopologyRegion]; !found && region != "" {
		shown.Labels[v1.LabelTopologyRegion] = region
	}
	return &shown
}

// JoinedNode returns a node that the member has, or had, under its name in the joined state.
func (f *Federation) JoinedNode(member string, node *v1.Node) *v1.Node {
	m := Member{Name: member}
	return m.joinedNode(node, f.Control.region(member))
}

// joinedOwners returns copies of the owners of pods, with the names, UIDs and owner references of the joined state.
func joinedOwners[T any, P interface {
	*T
	Object
}](m *Member, list []P) []P {
	all := make([]P, len(list))
	for i, obj := range list {
		shown := *obj
		all[i] = &shown
		all[i].SetName(m.JoinedOwner(RefTo(obj)).Name)
		all[i].SetUID(m.joinedUID(obj.GetUID()))
		all[i].SetOwnerReferences(m.joinedOwnerReferences(obj))
	}
	return all
}

// joinedOwnerReferences returns the owner references of a member's object, with the names of the joined state.
func (m *Member) joinedOwnerReferences(of metav1.Object) []metav1.OwnerReference {
	owners := slices.Clone(of.GetOwnerReferences())
	for i := range owners {
		owners[i].Name = m.JoinedOwner(Ref{owners[i].Kind, of.GetNamespace(), owners[i].Name}).Name
		owners[i].UID = m.joinedUID(owners[i].UID)
	}
	return owners
}

// restrictBudget makes a budget cover only the pods of its own cluster.
func (m *Member) restrictBudget(budget *policyv1.PodDisruptionBudget) {
	if budget.Spec.Selector == nil {
		return // it covers no pods
	}
	budget.Spec.Selector.MatchLabels = m.withMemberLabel(budget.Spec.Selector.MatchLabels)
}

// JoinedPod returns a pod of the member under its name in the joined state.
func (m *Member) JoinedPod(pod *v1.Pod) *v1.Pod {
	shown := *pod
	shown.Name, shown.UID, shown.Labels = JoinName(m.Name, pod.Name), m.joinedUID(pod.UID), m.withMemberLabel(pod.Labels)
	if pod.Spec.NodeName != "" {
		shown.Spec.NodeName = JoinName(m.Name, pod.Spec.NodeName)
	}
	if pod.Status.NominatedNodeName != "" {
		shown.Status.NominatedNodeName = JoinName(m.Name, pod.Status.NominatedNodeName)
	}
	shown.OwnerReferences = m.joinedOwnerReferences(pod)
	return &shown
}

// MemberPod returns a pod of the joined state as the member has it.
func (m *Member) MemberPod(pod *v1.Pod) *v1.Pod {
	uid := func(shown types.UID) types.UID {
		return types.UID(strings.TrimPrefix(string(shown), JoinName(m.Name, "")))
	}
	native := *pod
	_, native.Name = SplitName(pod.Name)
	native.UID, native.Labels = uid(pod.UID), maps.Clone(pod.Labels)
	delete(native.Labels, MemberLabel)
	_, native.Spec.NodeName = SplitName(pod.Spec.NodeName)
	_, native.Status.NominatedNodeName = SplitName(pod.Status.NominatedNodeName)
	native.OwnerReferences = slices.Clone(pod.OwnerReferences)
	for i := range native.OwnerReferences {
		native.OwnerReferences[i].UID = uid(native.OwnerReferences[i].UID)
		_, native.OwnerReferences[i].Name = SplitName(native.OwnerReferences[i].Name)
	}
	return &native
}

// joinedUID returns a UID that is unique in the joined state: two clusters may have been read from one dump.
func (m *Member) joinedUID(uid types.UID) types.UID { return types.UID(JoinName(m.Name, string(uid))) }

// withMemberLabel returns a copy of the labels with the member's label.
func (m *Member) withMemberLabel(labels map[string]string) map[string]string {
	shown := maps.Clone(labels)
	if shown == nil {
		shown = map[string]string{}
	}
	shown[MemberLabel] = m.Name
	return shown
}

// withoutObjects returns the federation without the objects, which are named as in the joined state.
func (f *Federation) withoutObjects(objs []Object) *Federation {
	gone := map[string][]Object{}
	for _, obj := range objs {
		member, name := SplitName(obj.GetName())
		native := obj.DeepCopyObject().(Object)
		native.SetName(name)
		gone[member] = append(gone[member], native)
	}
	next := f
	for _, m := range f.Members {
		if objs := gone[m.Name]; len(objs) > 0 {
			next = next.With(m.WithState(m.State.Without(objs...)))
		}
	}
	return next
}
