package scenario

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/input/operator/generic"
)

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
	// ReplicasPath is where a resource has its number of replicas, in the same way. Default: 1 replica.
	ReplicasPath string `json:"replicasPath,omitempty"`
	// As is the kind of workload: Deployment, StatefulSet, DaemonSet or Job. Default: Deployment.
	As string `json:"as,omitempty" jsonschema:"enum=Deployment,enum=StatefulSet,enum=DaemonSet,enum=Job"`
	// Objects are the shapes of what the operator makes of a resource, in place of podTemplatePath, replicasPath and as. Default: none.
	Objects []generic.Shape `json:"objects,omitempty"`
}

// customResources takes the rules by which custom resources become workloads.
func (l *loader) customResources(given []CustomResource) {
	first := map[schema.GroupKind]int{}
	for i := range given {
		c, path := &given[i], field.NewPath("customResources").Index(i)
		gv, err := schema.ParseGroupVersion(c.APIVersion)
		gvk := gv.WithKind(c.Kind)
		problems := len(l.problems)
		switch {
		case c.APIVersion == "" || c.Kind == "":
			l.problem(path, "give the apiVersion and the kind of the resources")
		case err != nil:
			l.problem(path.Child("apiVersion"), "%q is not of the form group/version", c.APIVersion)
		case gv.Group == "" || strings.HasSuffix(gv.Group, ".k8s.io") || scheme.Scheme.IsGroupRegistered(gv.Group):
			l.problem(path, "%s of %s is Kubernetes' own; leave it out, since a workload is taken as it is", c.Kind, c.APIVersion)
		case slices.ContainsFunc(programmed(OperatorOptions{}), func(o operator.Operator) bool { return slices.Contains(o.Kinds, gvk.GroupKind()) }):
			l.problem(path, "%s of %s is expanded already; leave it out", c.Kind, c.APIVersion)
		default:
			if at, twice := first[gvk.GroupKind()]; twice {
				l.problem(path, "%s of %s is in %s already; keep one", c.Kind, c.APIVersion, field.NewPath("customResources").Index(at))
			}
			first[gvk.GroupKind()] = i
		}
		if len(c.Objects) > 0 {
			l.shapesOf(path, c)
			if len(l.problems) == problems {
				l.opts.Operators.Custom = append(l.opts.Operators.Custom, generic.Rule{Kind: gvk, Objects: c.Objects})
			}
			continue
		}
		l.shapeOfPath(path.Child("podTemplatePath"), c.PodTemplatePath, "spec.template")
		if c.ReplicasPath != "" {
			l.shapeOfPath(path.Child("replicasPath"), c.ReplicasPath, "spec.replicas")
		}
		switch as := cmp.Or(c.As, "Deployment"); {
		case !slices.Contains(generic.Workloads, as):
			l.problem(path.Child("as"), "%q is none of %s", c.As, strings.Join(generic.Workloads, ", "))
		case as == "DaemonSet" && c.ReplicasPath != "":
			l.problem(path.Child("replicasPath"), "has no effect, since a DaemonSet has a pod on every node; leave it out")
		}
		if len(l.problems) == problems {
			l.opts.Operators.Custom = append(l.opts.Operators.Custom, generic.Rule{
				Kind: gvk, PodTemplatePath: c.PodTemplatePath, ReplicasPath: c.ReplicasPath, As: cmp.Or(c.As, "Deployment"),
			})
		}
	}
}

// shapesOf finds what is wrong with the shapes whatever the resources are.
func (l *loader) shapesOf(path *field.Path, c *CustomResource) {
	if c.PodTemplatePath+c.ReplicasPath+c.As != "" {
		l.problem(path, "objects take the place of podTemplatePath, replicasPath and as; leave those out")
	}
	for i := range c.Objects {
		if err := c.Objects[i].Validate(); err != nil {
			l.problem(path.Child("objects").Index(i), "%s", err)
		}
	}
}

func (l *loader) shapeOfPath(path *field.Path, given, example string) {
	switch {
	case given == "":
		l.problem(path, "is missing; give the fields with dots between them, for example %s", example)
	case slices.Contains(strings.Split(given, "."), ""):
		l.problem(path, "%q has an empty part; give the fields with dots between them, for example %s", given, example)
	}
}
