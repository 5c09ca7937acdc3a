package scenario

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MakeRoom moves pods to other nodes, in the given order. It cordons the nodes of all these pods, evicts one pod after the other, each when
// the one that replaces the pod before has a node, and uncordons the nodes in the end. It stops at a pod that its budget does not let go, or
// whose replacement gets no node.
type MakeRoom struct {
	// Pods lists the pods, as namespace/name or as name in the namespace default.
	Pods []string `json:"pods"`
	// DeleteEmptyDirData moves pods with emptyDir volumes, too. Without it, the step stops at such a pod. Default: false.
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
	// IgnoreBudgets deletes the pods, whatever their budgets say. Default: false.
	IgnoreBudgets bool `json:"ignoreBudgets,omitempty"`
}

// Names returns the names of the pods.
func (m *MakeRoom) Names() []types.NamespacedName {
	names := make([]types.NamespacedName, len(m.Pods))
	for i, pod := range m.Pods {
		names[i] = parsePod(pod)
	}
	return names
}

// parsePod returns the name of a pod that is given as namespace/name, or as name in the namespace default.
func parsePod(given string) types.NamespacedName {
	namespace, name, found := strings.Cut(given, "/")
	if !found {
		namespace, name = "", given
	}
	return types.NamespacedName{Namespace: cmp.Or(namespace, v1.NamespaceDefault), Name: name}
}

func (*MakeRoom) instead() string { return "cordon the nodes, or make them fail" }

func (m *MakeRoom) validate(c *actionChecks) {
	if len(m.Pods) == 0 {
		c.Add(c.path.Child("pods"), "is missing; give the pods to move, as namespace/name")
	}
	names := m.Names()
	for i, name := range names {
		switch {
		case name.Name == "" || strings.Contains(name.Name, "/"):
			c.Add(c.path.Child("pods").Index(i), "%q is not a pod; give namespace/name, or name in the namespace default", m.Pods[i])
		case slices.Contains(names[:i], name):
			c.Add(c.path.Child("pods").Index(i), "%q is there twice; name each pod once", m.Pods[i])
		}
	}
}
