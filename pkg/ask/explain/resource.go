package explain

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/scenario"
)

// Resources returns the custom resources of the scenario that have pods, sorted: an operator makes objects from them, the input has only
// the pods that their operator made, or, in a federation, Karmada distributes them.
func Resources(s *scenario.Scenario) []cluster.Ref {
	var all []cluster.Ref
	for _, obj := range s.Objects() {
		if of, made := customResourceOf(obj); made {
			all = append(all, of)
		}
	}
	brought := func(k *scenario.Karmada) {
		for _, t := range k.Resources {
			all = append(all, cluster.Ref{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name})
		}
	}
	brought(&s.Karmada)
	for i := range s.Steps {
		brought(&s.Steps[i].Karmada)
	}
	slices.SortFunc(all, cluster.Ref.Compare)
	return slices.Compact(all)
}

// customResourceOf returns the custom resource from which an operator made the object, or that controls an object of a dump.
func customResourceOf(obj cluster.Object) (of cluster.Ref, made bool) {
	kind, name, made := strings.Cut(obj.GetAnnotations()[operator.OwnerAnnotation], " ")
	namespace, name, _ := strings.Cut(name, "/")
	if by := metav1.GetControllerOfNoCopy(obj); by != nil && !made {
		_, _, err := scenario.ParseTarget(by.Kind + "/" + by.Name)
		return cluster.Ref{Kind: by.Kind, Namespace: obj.GetNamespace(), Name: by.Name}, err != nil // made is true if the kind is not one of Kubernetes' own
	}
	return cluster.Ref{Kind: kind, Namespace: namespace, Name: name}, made
}

// names reports whether the question names the object; without a namespace, in any namespace.
func (of Question) names(object cluster.Ref) bool {
	return object.Kind == of.Kind && object.Name == of.Name && (of.Namespace == "" || object.Namespace == of.Namespace)
}

// ownerFilter returns a function that reports whether the question names an outermost owner of pods, or the custom resource from which the owner
// was made.
func (of Question) ownerFilter(state *cluster.State) func(owner cluster.Ref) bool {
	made := map[cluster.Ref]bool{}
	for _, obj := range state.Objects() {
		if resource, is := customResourceOf(obj); is && of.names(resource) {
			made[cluster.RefTo(obj)] = true
		}
	}
	return func(owner cluster.Ref) bool { return of.names(owner) || made[owner] }
}
