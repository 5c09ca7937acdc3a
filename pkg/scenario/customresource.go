package scenario

import "github.com/faultline/faultline/pkg/input/operator/generic"

// CustomResource makes a workload of each custom resource of a kind that holds a pod template, of the resource's name; or the objects that
// its operator makes, by their shapes.
type CustomResource struct {
	// APIVersion is that of the resources, for example example.com/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the resources, for example Widget.
	Kind string `json:"kind"`
	// PodTemplatePath is where a resource has its pod template, with dots between the fields, for example spec.template. Default: objects
	// are given.
	PodTemplatePath string `json:"podTemplatePath,omitempty"`
	// ReplicasPath is where a resource has its number of replicas, in the same way. In a federation Karmada divides
	// them, and gives each cluster whole what objects makes of a resource. Default: 1 replica.
	ReplicasPath string `json:"replicasPath,omitempty"`
	// As is the kind of workload: Deployment, StatefulSet, DaemonSet or Job. Default: Deployment.
	As string `json:"as,omitempty" jsonschema:"enum=Deployment,enum=StatefulSet,enum=DaemonSet,enum=Job"`
	// Objects are the shapes of what the operator makes of a resource, in place of podTemplatePath, replicasPath and as. Default: none.
	Objects []generic.Shape `json:"objects,omitempty"`
}
