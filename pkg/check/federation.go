package check

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
)

// federation begins a walk through a federation. Its state is what Karmada has, with the nodes of all members and with their namespaces and
// priority classes, which templates may name.
func (w *walk) federation() {
	s := w.scenario
	w.state = &cluster.State{Now: cluster.Epoch}
	w.templates = map[cluster.Ref]bool{}
	for _, obj := range s.Workloads {
		w.templates[cluster.RefTo(obj)] = true
	}
	for i := range s.Steps {
		for _, obj := range s.Steps[i].Objects {
			w.templates[cluster.RefTo(obj)] = true
		}
	}
	for i := range s.Members {
		w.join(field.NewPath("clusters").Index(i), &s.Members[i])
	}
}

// join adds the nodes of a member.
func (w *walk) join(path *field.Path, m *scenario.Member) {
	w.clusters = append(w.clusters, m.Name)
	if !w.partial {
		if _, _, err := admission.Admit(&cluster.State{Now: cluster.Epoch}, m.Objects...); err != nil {
			w.AddLines(path.Child("cluster"), err)
		}
	}
	nodes := 0
	var shown []cluster.Object
	for _, obj := range m.Shown {
		switch cluster.KindOf(obj) {
		case "Node":
			nodes++
		case "Namespace", "PriorityClass":
		default:
			continue
		}
		shown = append(shown, obj)
	}
	if nodes == 0 && !w.partial {
		w.Add(path.Child("cluster"), "cluster %q has no nodes, so nothing can be placed there; give Node objects, a kind configuration, a kubectl dump or synthetic nodes", m.Name)
	}
	w.state = w.state.With(shown...)
}

// leave takes a cluster and its nodes away if that is what the target names.
func (w *walk) leave(path *field.Path, target string) bool {
	kind, name, karmada := scenario.ParseKarmada(target)
	if !w.scenario.Federated() || !karmada {
		return false
	}
	if kind == federation.KindCluster {
		of := func(node *v1.Node) bool { return node.Labels[cluster.MemberLabel] == name }
		if slices.Equal(w.clusters, []string{name}) {
			w.Add(path, "cluster %q is the last one by then, and a federation needs one; let another join before, or leave this out", name)
			return true
		}
		w.clusters = slices.DeleteFunc(w.clusters, func(cluster string) bool { return cluster == name })
		var gone []*v1.Node
		for _, node := range w.state.Nodes {
			if of(node) {
				gone = append(gone, node)
			}
		}
		w.state = admission.Delete(w.state, objectsOf(gone)...)
		w.lost = slices.DeleteFunc(w.lost, of)
	}
	return true
}

// propagated returns those of the objects that Karmada can propagate, and reports the others.
func (w *walk) propagated(path *field.Path, objects []cluster.Object) []cluster.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(obj cluster.Object) bool {
		_, is := obj.(*v1.Node)
		if is {
			w.Add(path, "%s is not what Karmada propagates; give it under clusters, or let its cluster join", cluster.RefTo(obj).Describe())
		}
		return is
	})
}

// made reports what the API server of a member refuses of what operators make there.
func (w *walk) made(path *field.Path, k *scenario.Karmada) {
	if w.partial {
		return
	}
	for i := range k.Resources {
		if _, _, err := admission.Admit(w.state, k.Resources[i].Objects...); err != nil {
			w.AddLines(path, err)
		}
	}
}

// selectClusters reports names that no cluster has by then.
func (w *walk) selectClusters(path *field.Path, names []string) {
	if len(names) > 0 && !w.scenario.Federated() {
		w.Add(path, "is for a federation; give names or a selector")
		return
	}
	for i, name := range names {
		if slices.Contains(w.clusters, name) {
			continue
		}
		if slices.ContainsFunc(w.scenario.AllMembers(), func(m scenario.Member) bool { return m.Name == name }) {
			w.Add(path.Index(i), "cluster %q does not exist at this step; it joins later, or was deleted before", name)
			continue
		}
		w.Add(path.Index(i), "there is no cluster %q; %s", name, scenario.Choices(name, w.clusters))
	}
}
