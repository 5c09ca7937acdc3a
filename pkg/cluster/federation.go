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

// MemberLabel is on every node and pod of a federation; its value is the name of the cluster.
const MemberLabel = topology.LabelCluster

// Federation is what is behind a state that shows several clusters at once. The lists of such a state are made of those of its members: each
// node, pod and budget has the name of its cluster before its own (m1/node-1, m1/web-0), as has each workload that is the cluster's own; one
// that Karmada has brought to several clusters is one, with the replicas of all. Nobody changes the lists; who acts on a member derives its state, and joins the members again.
type Federation struct {
	// Members are in order of their joining.
	Members []Member
	Control *Control
}

// Member is one cluster by itself.
type Member struct {
	Name  string
	State *State
	// Lost means that the whole cluster has failed, with its control plane: nothing moves in it.
	Lost bool
	// Settled means that nothing moves any more in the state.
	Settled bool
	// Works are what Karmada has brought into the cluster. The map is never changed in place.
	Works map[federation.Key]Work

	brought map[Ref]bool // what the works are
	view    *State
	region  string // of the view
}

// Work is what a member has got of a template.
type Work struct {
	// Template, Cluster and Overrides are what it was made of.
	Template  *federation.Template
	Cluster   *federation.Cluster
	Overrides []*federation.Override
	Replicas  int32
	Objects   []Object
}

// Same reports whether the work is made of the same.
func (w Work) Same(other Work) bool {
	return w.Template == other.Template && w.Cluster == other.Cluster && Same(w.Overrides, other.Overrides) && w.Replicas == other.Replicas
}

// Control is what Karmada's control plane has. It is a value, like a State.
type Control struct {
	Options   federation.Options
	Clusters  []*federation.Cluster
	Policies  []*federation.Policy
	Overrides []*federation.Override
	// Templates are the resources of users, in order of arrival.
	Templates []*ResourceTemplate
	// Bindings are those of the templates that a policy has claimed, in the same order.
	Bindings []*federation.Binding
	// Queue are the bindings that wait for Karmada's scheduler, in order of arrival.
	Queue []federation.Key
}

// ResourceTemplate is a resource in Karmada's control plane.
type ResourceTemplate struct {
	*federation.Template
	// Objects are what a member gets: the resource itself or, of a custom resource, what its operator makes of it there.
	Objects []Object
}

// Cluster returns the cluster of that name, or nil.
func (c *Control) Cluster(name string) *federation.Cluster {
	if i := slices.IndexFunc(c.Clusters, func(c *federation.Cluster) bool { return c.Name == name }); i >= 0 {
		return c.Clusters[i]
	}
	return nil
}

// BindingOf returns the binding that brings the workload into clusters; nil if none does.
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

// region is the cluster's; "" if it has none.
func (c *Control) region(name string) string {
	if cl := c.Cluster(name); cl != nil {
		return cl.Spec.Region
	}
	return ""
}

// Member returns the member of that name, or nil.
func (f *Federation) Member(name string) *Member {
	if i := slices.IndexFunc(f.Members, func(m Member) bool { return m.Name == name }); i >= 0 {
		return &f.Members[i]
	}
	return nil
}

// With returns the federation with the member in place of the one of its name, or at the end.
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

// In returns the member in another state, in which things may move.
func (m Member) In(state *State) Member {
	if m.State != state {
		m.State, m.Settled, m.view = state, false, nil
	}
	return m
}

// Bringing returns the member in another state, to which Karmada has brought the works.
func (m Member) Bringing(state *State, works map[federation.Key]Work) Member {
	m = m.In(state)
	m.Works, m.brought = works, map[Ref]bool{}
	for _, work := range works {
		for _, obj := range work.Objects {
			m.brought[RefTo(obj)] = true
		}
	}
	return m
}

// Owner returns a workload of the member as it is named among all: what Karmada has brought, and a DaemonSet, by its own name, which several
// clusters share, and the cluster's own workloads by another.
func (m *Member) Owner(ref Ref) Ref {
	if ref.Kind != "DaemonSet" && !m.brought[ref] {
		ref.Name = Joined(m.Name, ref.Name)
	}
	return ref
}

// Standing returns the member's state. That of a lost member is without what Karmada has since taken from it, which nobody can delete there:
// it does not run, and is deleted as soon as the cluster is back.
func (m *Member) Standing(c *Control) *State {
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
	gone := func(ref Ref) bool { return m.brought[ref] && !kept[ref] }
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

// Under returns the federation under another control plane.
func (f *Federation) Under(control *Control) *Federation {
	next := *f
	next.Control = control
	return &next
}

// Joined is the name that something of a member has among all.
func Joined(member, name string) string { return member + "/" + name }

// Apart returns the cluster of a name among all, and the name there.
func Apart(joined string) (member, name string) {
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
		view := m.viewed(f.Control)
		all.Nodes = append(all.Nodes, view.Nodes...)
		all.Pods = append(all.Pods, view.Pods...)
		all.PodDisruptionBudgets = append(all.PodDisruptionBudgets, view.PodDisruptionBudgets...)
		all.ReplicaSets = append(all.ReplicaSets, view.ReplicaSets...)
		all.Jobs = append(all.Jobs, view.Jobs...)
		all.Refused = append(all.Refused, view.Refused...)
		all.Namespaces = merge(all.Namespaces, m.State.Namespaces)
		all.PriorityClasses = merge(all.PriorityClasses, m.State.PriorityClasses)
		all.Deployments = merge(all.Deployments, view.Deployments)
		all.StatefulSets = merge(all.StatefulSets, view.StatefulSets)
		all.DaemonSets = merge(all.DaemonSets, view.DaemonSets)
		all.ReplicationControllers = merge(all.ReplicationControllers, view.ReplicationControllers)
		all.CronJobs = merge(all.CronJobs, view.CronJobs)
	}
	return all
}

// viewed is what the member shows among all. It is kept, but for a lost member, of which it depends on what Karmada decides elsewhere.
func (m *Member) viewed(c *Control) *State {
	region := c.region(m.Name)
	if m.Lost {
		return m.shown(m.Standing(c), region)
	}
	if m.view == nil || m.region != region {
		m.view, m.region = m.shown(m.State, region), region
	}
	return m.view
}

// merge adds the objects to the list. One that is there already gets the replicas of the other, if its kind has any.
func merge[T Object](list, more []T) []T {
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

// shown returns the nodes, pods, budgets, what owns pods, and what is refused, of a state of the member as they are named among all.
func (m *Member) shown(state *State, region string) *State {
	s := &State{}
	for _, node := range state.Nodes {
		s.Nodes = append(s.Nodes, m.node(node, region))
	}
	for _, pod := range state.Pods {
		s.Pods = append(s.Pods, m.Pod(pod))
	}
	for _, budget := range state.PodDisruptionBudgets {
		shown := budget.DeepCopy()
		shown.Name = Joined(m.Name, budget.Name)
		m.restrict(shown)
		s.PodDisruptionBudgets = append(s.PodDisruptionBudgets, shown)
	}
	s.ReplicaSets, s.Jobs = owning(m, state.ReplicaSets), owning(m, state.Jobs)
	s.Deployments, s.StatefulSets = owning(m, state.Deployments), owning(m, state.StatefulSets)
	s.ReplicationControllers, s.CronJobs = owning(m, state.ReplicationControllers), owning(m, state.CronJobs)
	s.DaemonSets = state.DaemonSets
	for _, r := range state.Refused {
		r.Message += ", in cluster " + m.Name
		if r.Ref = m.Owner(r.Ref); r.Kind == "Pod" {
			_, r.Name = Apart(r.Name)
			r.Name = Joined(m.Name, r.Name)
		}
		s.Refused = append(s.Refused, r)
	}
	return s
}

// node returns a node of the member as it is named among all. One without a region is in the cluster's.
func (m *Member) node(node *v1.Node, region string) *v1.Node {
	shown := *node
	shown.Name, shown.Labels = Joined(m.Name, node.Name), m.labelled(node.Labels)
	if host, found := node.Labels[v1.LabelHostname]; found {
		shown.Labels[v1.LabelHostname] = Joined(m.Name, host)
	}
	if _, found := node.Labels[v1.LabelTopologyRegion]; !found && region != "" {
		shown.Labels[v1.LabelTopologyRegion] = region
	}
	return &shown
}

// Node returns a node that one of the members has, or had, as it is named among all.
func (f *Federation) Node(member string, node *v1.Node) *v1.Node {
	m := Member{Name: member}
	return m.node(node, f.Control.region(member))
}

// owning returns what owns pods with the names, UIDs and owners that they have among all.
func owning[T any, P interface {
	*T
	Object
}](m *Member, list []P) []P {
	all := make([]P, len(list))
	for i, obj := range list {
		shown := *obj
		all[i] = &shown
		all[i].SetName(m.Owner(RefTo(obj)).Name)
		all[i].SetUID(m.uid(obj.GetUID()))
		all[i].SetOwnerReferences(m.owners(obj))
	}
	return all
}

// owners are the owners of an object of the member as they are named among all.
func (m *Member) owners(of metav1.Object) []metav1.OwnerReference {
	owners := slices.Clone(of.GetOwnerReferences())
	for i := range owners {
		owners[i].Name = m.Owner(Ref{owners[i].Kind, of.GetNamespace(), owners[i].Name}).Name
		owners[i].UID = m.uid(owners[i].UID)
	}
	return owners
}

// restrict makes a budget cover the pods of its own cluster alone.
func (m *Member) restrict(budget *policyv1.PodDisruptionBudget) {
	if budget.Spec.Selector == nil {
		return // it covers none
	}
	budget.Spec.Selector.MatchLabels = m.labelled(budget.Spec.Selector.MatchLabels)
}

// Pod returns a pod of the member as it is named among all. It is the same one as long as the member's state is.
func (m *Member) Pod(pod *v1.Pod) *v1.Pod {
	shown := *pod
	shown.Name, shown.UID, shown.Labels = Joined(m.Name, pod.Name), m.uid(pod.UID), m.labelled(pod.Labels)
	if pod.Spec.NodeName != "" {
		shown.Spec.NodeName = Joined(m.Name, pod.Spec.NodeName)
	}
	if pod.Status.NominatedNodeName != "" {
		shown.Status.NominatedNodeName = Joined(m.Name, pod.Status.NominatedNodeName)
	}
	shown.OwnerReferences = m.owners(pod)
	return &shown
}

// Native returns a pod that was shown among all as the member has it.
func (m *Member) Native(pod *v1.Pod) *v1.Pod {
	uid := func(shown types.UID) types.UID {
		return types.UID(strings.TrimPrefix(string(shown), Joined(m.Name, "")))
	}
	native := *pod
	_, native.Name = Apart(pod.Name)
	native.UID, native.Labels = uid(pod.UID), maps.Clone(pod.Labels)
	delete(native.Labels, MemberLabel)
	_, native.Spec.NodeName = Apart(pod.Spec.NodeName)
	_, native.Status.NominatedNodeName = Apart(pod.Status.NominatedNodeName)
	native.OwnerReferences = slices.Clone(pod.OwnerReferences)
	for i := range native.OwnerReferences {
		native.OwnerReferences[i].UID = uid(native.OwnerReferences[i].UID)
		_, native.OwnerReferences[i].Name = Apart(native.OwnerReferences[i].Name)
	}
	return &native
}

// uid is unique among all: two clusters may have been read from one dump.
func (m *Member) uid(uid types.UID) types.UID { return types.UID(Joined(m.Name, string(uid))) }

func (m *Member) labelled(labels map[string]string) map[string]string {
	shown := maps.Clone(labels)
	if shown == nil {
		shown = map[string]string{}
	}
	shown[MemberLabel] = m.Name
	return shown
}

// without returns the federation without those of the objects that are pods or nodes of members.
func (f *Federation) without(objs []Object) *Federation {
	gone := map[string][]Object{}
	for _, obj := range objs {
		member, name := Apart(obj.GetName())
		native := obj.DeepCopyObject().(Object)
		native.SetName(name)
		gone[member] = append(gone[member], native)
	}
	next := f
	for _, m := range f.Members {
		if objs := gone[m.Name]; len(objs) > 0 {
			next = next.With(m.In(m.State.Without(objs...)))
		}
	}
	return next
}
