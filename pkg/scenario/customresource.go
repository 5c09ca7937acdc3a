package scenario

import "github.com/faultline/faultline/pkg/input/operator/generic"

// CustomResource turns each custom resource of a kind into a workload with the resource's name, if the kind has a pod template, or into the
// objects that its operator makes, if their shapes are given.
type CustomResource struct {
	// APIVersion is the resources' apiVersion, for example example.com/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is the resources' kind, for example Widget.
	Kind string `json:"kind"`
	// PodTemplatePath is the path of the pod template in a resource, with dots between the fields, for example spec.template. Default:
	// objects are given.
	PodTemplatePath string `json:"podTemplatePath,omitempty"`
	// ReplicasPath is the path of the number of replicas in a resource, in the same form. In a federation Karmada divides the replicas;
	// objects that are given by their shapes go to each cluster as a whole. Default: 1 replica.
	ReplicasPath string `json:"replicasPath,omitempty"`
	// As is the kind of workload: Deployment, StatefulSet, DaemonSet or Job. Default: Deployment.
	As string `json:"as,omitempty" jsonschema:"enum=Deployment,enum=StatefulSet,enum=DaemonSet,enum=Job"`
	// Objects are the shapes of the objects that the operator makes of a resource, in place of podTemplatePath, replicasPath and as.
	// Default: none.
	Objects []generic.Shape `json:"objects,omitempty"`
}
