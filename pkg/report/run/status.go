package run

import (
	"maps"
	"slices"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
)

// PodGroup is a pod group after the step.
type PodGroup struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Conditions are the conditions of its status.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is a condition of an object's status.
type Condition struct {
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Quota is a ResourceQuota after the step.
type Quota struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Resources are the resources that it limits, sorted by name, without those that a simulation does not count.
	Resources []Limited `json:"resources,omitempty"`
}

// Limited is a resource that a quota limits.
type Limited struct {
	// Name is the name of the resource, for example pods or requests.cpu.
	Name string `json:"name"`
	// Used and Hard are quantities, for example 2250m or 6Gi.
	Used string `json:"used"`
	Hard string `json:"hard"`
}

// StorageCapacity is a CSIStorageCapacity after the step.
type StorageCapacity struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// StorageClass is the class of the volumes that it is about.
	StorageClass string `json:"storageClass"`
	// Nodes selects the nodes that can reach it, for example topology.kubernetes.io/zone=west-1a; missing if none can.
	Nodes string `json:"nodes,omitempty"`
	// Capacity is the capacity that is left, and MaximumVolumeSize the largest volume that fits; missing if the driver does not report
	// them.
	Capacity          string `json:"capacity,omitempty"`
	MaximumVolumeSize string `json:"maximumVolumeSize,omitempty"`
}

func newPodGroups(state *cluster.State) []PodGroup {
	return list.Map(state.PodGroups, func(group *schedulingv1beta1.PodGroup) PodGroup {
		return PodGroup{Namespace: group.Namespace, Name: group.Name, Conditions: list.Map(group.Status.Conditions, func(c metav1.Condition) Condition {
			return Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message}
		})}
	})
}

func newQuotas(state *cluster.State) []Quota {
	var all []Quota
	for _, counted := range admission.QuotasWithStatus(state) {
		q := Quota{Namespace: counted.Namespace, Name: counted.Name}
		for _, name := range slices.Sorted(maps.Keys(counted.Status.Hard)) {
			used, hard := counted.Status.Used[name], counted.Status.Hard[name]
			q.Resources = append(q.Resources, Limited{Name: string(name), Used: used.String(), Hard: hard.String()})
		}
		all = append(all, q)
	}
	return all
}

func newStorageCapacities(state *cluster.State) []StorageCapacity {
	var all []StorageCapacity
	for _, given := range state.CSIStorageCapacities {
		c := StorageCapacity{Namespace: given.Namespace, Name: given.Name, StorageClass: given.StorageClassName}
		if given.NodeTopology != nil {
			c.Nodes = metav1.FormatLabelSelector(given.NodeTopology)
		}
		if given.Capacity != nil {
			c.Capacity = given.Capacity.String()
		}
		if given.MaximumVolumeSize != nil {
			c.MaximumVolumeSize = given.MaximumVolumeSize.String()
		}
		all = append(all, c)
	}
	return all
}

// text returns the condition on one line: "PodGroupInitiallyScheduled=False: Unschedulable: " and the scheduler's message.
func (c Condition) text() string {
	parts := slices.DeleteFunc([]string{c.Type + "=" + c.Status, c.Reason, c.Message}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}

// statuses writes tables of pod groups, quotas and storage capacities.
func (t *writer) statuses(s *stepText) {
	groups := [][]doc.Cell{doc.Bold.Row("POD GROUP", "CONDITIONS")}
	for _, g := range s.PodGroups {
		groups = append(groups, doc.Plain.Row(s.qualify(g.Namespace, g.Name), doc.OrNone(strings.Join(list.Map(g.Conditions, Condition.text), ", "))))
	}
	quotas := [][]doc.Cell{doc.Bold.Row("QUOTA", "RESOURCE", "USED", "HARD")}
	for _, q := range s.Quotas {
		for _, r := range q.Resources {
			quotas = append(quotas, doc.Plain.Row(s.qualify(q.Namespace, q.Name), r.Name, r.Used, r.Hard))
		}
	}
	capacities := [][]doc.Cell{doc.Bold.Row("STORAGE CAPACITY", "CLASS", "NODES", "LEFT", "LARGEST VOLUME")}
	for _, c := range s.StorageCapacities {
		capacities = append(capacities, doc.Plain.Row(s.qualify(c.Namespace, c.Name), c.StorageClass, doc.OrNone(c.Nodes), doc.OrNone(c.Capacity), doc.OrNone(c.MaximumVolumeSize)))
	}
	for _, table := range [][][]doc.Cell{groups, quotas, capacities} {
		if len(table) > 1 {
			t.Space()
			t.Table("", table...)
		}
	}
}
