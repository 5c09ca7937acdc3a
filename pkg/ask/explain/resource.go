package explain

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
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

// FollowTarget turns a question about an object that has no pods itself into the question about the workload whose pods it concerns: of an autoscaler what
// it scales, of a claim the first pod or workload that has it, of a Job or a ReplicaSet what made it. It returns an error if an autoscaler scales what does
// not exist. Any other question stays as it is.
func (of *Question) FollowTarget(s *scenario.Scenario) error {
	objects := s.Objects()
	for _, obj := range objects {
		if !of.names(cluster.RefTo(obj)) {
			continue
		}
		switch o := obj.(type) {
		case *autoscalingv2.HorizontalPodAutoscaler:
			target := cluster.Ref{Kind: o.Spec.ScaleTargetRef.Kind, Namespace: o.Namespace, Name: o.Spec.ScaleTargetRef.Name}
			if cluster.Find(objects, target) == nil {
				return fmt.Errorf("%s scales %s, which does not exist%s", of.Ref.String(), target.String(), listOfKind(objects, target))
			}
			of.Ref = target
		case *v1.PersistentVolumeClaim:
			if user := firstUser(objects, o); user != nil {
				of.Ref = cluster.RefTo(user)
			}
		case *batchv1.Job, *appsv1.ReplicaSet:
			if by := metav1.GetControllerOfNoCopy(obj); by != nil && (by.Kind == "CronJob" || by.Kind == "Deployment") {
				of.Ref = cluster.Ref{Kind: by.Kind, Namespace: obj.GetNamespace(), Name: by.Name}
			}
		}
		return nil
	}
	return nil
}

// listOfKind lists the objects of the kind in the namespace, as the end of a sentence; "" if there are none.
func listOfKind(objects []cluster.Object, like cluster.Ref) string {
	same := list.Where(objects, func(obj cluster.Object) bool {
		return cluster.KindOf(obj) == like.Kind && obj.GetNamespace() == like.Namespace
	})
	if len(same) == 0 {
		return ""
	}
	names := list.Map(same, func(obj cluster.Object) string { return cluster.RefTo(obj).String() })
	return words.Pick(len(names), "; there is ", "; there are ") + words.Few(names)
}

// firstUser returns a pod that has the claim, one without a node before the others, or the first workload whose pods do; nil if there is none.
func firstUser(objects []cluster.Object, claim *v1.PersistentVolumeClaim) (user cluster.Object) {
	for _, obj := range objects {
		template := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace()}}
		if spec, _ := cluster.PodSpec(obj); spec != nil {
			template.Spec = *spec
		}
		if !cluster.HasClaim(template, claim) {
			continue
		}
		if pod, is := obj.(*v1.Pod); is && pod.Spec.NodeName == "" {
			return pod
		} else if _, placed := user.(*v1.Pod); user == nil || is && !placed {
			user = obj
		}
	}
	return user
}
