package scenario

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/operator"
	"github.com/faultline/faultline/pkg/operator/generic"
	"github.com/faultline/faultline/pkg/operator/hydrolix"
)

// HydrolixOptions are for HydrolixCluster resources.
type HydrolixOptions struct {
	// Profile is the path of a file with what Hydrolix does not publish: replicas of scale profiles, sizes, labels and weights.
	// Default: the file that is shipped, whose values the report lists as assumed.
	Profile string `json:"profile,omitempty"`
}

// CustomResource makes a workload of each custom resource of a kind that holds a pod template, of the resource's name.
type CustomResource struct {
	// APIVersion is that of the resources, for example example.com/v1.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the resources, for example Widget.
	Kind string `json:"kind"`
	// PodTemplatePath is where a resource has its pod template, with dots between the fields, for example spec.template.
	PodTemplatePath string `json:"podTemplatePath"`
	// ReplicasPath is where a resource has its number of replicas, in the same way. Default: 1 replica.
	ReplicasPath string `json:"replicasPath,omitempty"`
	// As is the kind of workload: Deployment, StatefulSet, DaemonSet or Job. Default: Deployment.
	As string `json:"as,omitempty" jsonschema:"enum=Deployment,enum=StatefulSet,enum=DaemonSet,enum=Job"`
}

// hydrolix reads the profile that the scenario names, unless the options have one.
func (l *loader) hydrolix(given *HydrolixOptions) {
	if given == nil || given.Profile == "" {
		return
	}
	path := field.NewPath("operators", "hydrolix", "profile")
	l.named[given.Profile] = true
	file := l.resolve(given.Profile)
	if !l.exists(file) {
		l.problem(path, "%s", l.missing(file))
		return
	}
	data, err := manifest.ReadFile(l.fsys, nil, file)
	var profile *hydrolix.Profile
	if err == nil {
		profile, err = hydrolix.ReadProfile(file, data)
	}
	if err != nil {
		l.problems = append(l.problems, err)
		return
	}
	if l.opts.Operators.Hydrolix.Profile == nil {
		l.opts.Operators.Hydrolix.Profile = profile
	}
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
		case slices.ContainsFunc(operators(OperatorOptions{}), func(o operator.Operator) bool { return slices.Contains(o.Kinds, gvk.GroupKind()) }):
			l.problem(path, "%s of %s is expanded already; leave it out", c.Kind, c.APIVersion)
		default:
			if at, twice := first[gvk.GroupKind()]; twice {
				l.problem(path, "%s of %s is in %s already; keep one", c.Kind, c.APIVersion, field.NewPath("customResources").Index(at))
			}
			first[gvk.GroupKind()] = i
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

func (l *loader) shapeOfPath(path *field.Path, given, example string) {
	switch {
	case given == "":
		l.problem(path, "is missing; give the fields with dots between them, for example %s", example)
	case slices.Contains(strings.Split(given, "."), ""):
		l.problem(path, "%q has an empty part; give the fields with dots between them, for example %s", given, example)
	}
}
