package queue

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// The fields of Kueue's kinds that this package reads:
// https://github.com/kubernetes-sigs/kueue/tree/v0.19.2/apis/kueue/v1beta2.

type kueueWorkload struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		QueueName string `json:"queueName"`
		Priority  *int32 `json:"priority"`
		PodSets   []struct {
			Name     string             `json:"name"`
			Count    int32              `json:"count"`
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"podSets"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		Admission  *struct {
			ClusterQueue      string `json:"clusterQueue"`
			PodSetAssignments []struct {
				Name               string                       `json:"name"`
				Flavors            map[string]string            `json:"flavors"`
				ResourceUsage      map[string]resource.Quantity `json:"resourceUsage"`
				Count              *int32                       `json:"count"`
				TopologyAssignment *topologyAssignment          `json:"topologyAssignment"`
			} `json:"podSetAssignments"`
		} `json:"admission"`
	} `json:"status"`
}

type topologyAssignment struct {
	Levels []string `json:"levels"`
	Slices []struct {
		DomainCount    int32                   `json:"domainCount"`
		ValuesPerLevel []topologyAssignmentSet `json:"valuesPerLevel"`
		PodCounts      struct {
			Individual []int32 `json:"individual"`
			Universal  *int32  `json:"universal"`
		} `json:"podCounts"`
	} `json:"slices"`
}

type topologyAssignmentSet struct {
	Universal  *string `json:"universal"`
	Individual *struct {
		Prefix *string  `json:"prefix"`
		Suffix *string  `json:"suffix"`
		Roots  []string `json:"roots"`
	} `json:"individual"`
}

type clusterQueue struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		CohortName     string `json:"cohortName"`
		ResourceGroups []struct {
			Flavors []struct {
				Name      string `json:"name"`
				Resources []struct {
					Name           string             `json:"name"`
					NominalQuota   resource.Quantity  `json:"nominalQuota"`
					BorrowingLimit *resource.Quantity `json:"borrowingLimit"`
				} `json:"resources"`
			} `json:"flavors"`
		} `json:"resourceGroups"`
	} `json:"spec"`
}

type localQueue struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ClusterQueue string `json:"clusterQueue"`
	} `json:"spec"`
}

// read returns the custom resources of a kind of Kueue, in the order of the state.
func read[T any](state *cluster.State, kind string) []*T {
	var all []*T
	for _, r := range state.CustomResources {
		if r.GetKind() != kind || r.GroupVersionKind().Group != group {
			continue
		}
		object := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object, object); err == nil {
			all = append(all, object)
		}
	}
	return all
}

const group = "kueue.x-k8s.io"

// Kueue's conditions of a Workload.
const (
	quotaReserved = "QuotaReserved"
	admitted      = "Admitted"
	evicted       = "Evicted"
	finished      = "Finished"
)

func (w *kueueWorkload) is(condition string) bool {
	return meta.IsStatusConditionTrue(w.Status.Conditions, condition)
}

func (w *kueueWorkload) condition(name string) *metav1.Condition {
	return meta.FindStatusCondition(w.Status.Conditions, name)
}

// reserves reports whether the workload takes quota.
func (w *kueueWorkload) reserves() bool { return w.Status.Admission != nil && !w.is(finished) }

// owner is the job that the workload stands for, or the workload itself.
func (w *kueueWorkload) owner() cluster.Ref {
	for _, ref := range w.OwnerReferences {
		if ref.Controller != nil && *ref.Controller {
			return cluster.Ref{Kind: ref.Kind, Namespace: w.Namespace, Name: ref.Name}
		}
	}
	return cluster.Ref{Kind: "Workload", Namespace: w.Namespace, Name: w.Name}
}
