package loader

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/input/operator/generic"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// addCustomResourceRules checks the rules that turn custom resources into workloads, and adds them to the operators.
func (l *loader) addCustomResourceRules(given []scenario.CustomResource) {
	first := map[schema.GroupKind]int{}
	for i := range given {
		c, path := &given[i], field.NewPath("customResources").Index(i)
		gv, err := schema.ParseGroupVersion(c.APIVersion)
		gvk := gv.WithKind(c.Kind)
		problems := l.problems.Len()
		switch {
		case c.APIVersion == "" || c.Kind == "":
			l.problems.Add(path, "give the apiVersion and the kind of the resources")
		case err != nil:
			l.problems.Add(path.Child("apiVersion"), "%q is not of the form group/version", c.APIVersion)
		case gv.Group == "" || strings.HasSuffix(gv.Group, ".k8s.io") || scheme.Scheme.IsGroupRegistered(gv.Group):
			l.problems.Add(path, "%s of %s is built into Kubernetes; leave it out, since workloads are used as they are", c.Kind, c.APIVersion)
		case slices.ContainsFunc(codedOperators(OperatorOptions{}), func(o operator.Operator) bool { return slices.Contains(o.Kinds, gvk.GroupKind()) }):
			l.problems.Add(path, "%s of %s is expanded already; leave it out", c.Kind, c.APIVersion)
		default:
			if at, twice := first[gvk.GroupKind()]; twice {
				l.problems.Add(path, "%s of %s is in %s already; keep one", c.Kind, c.APIVersion, field.NewPath("customResources").Index(at))
			}
			first[gvk.GroupKind()] = i
		}
		if len(c.Objects) > 0 {
			l.checkShapes(path, c)
			if l.problems.Len() == problems {
				l.opts.Operators.Custom = append(l.opts.Operators.Custom, generic.Rule{Kind: gvk, Objects: c.Objects})
			}
			continue
		}
		l.checkFieldPath(path.Child("podTemplatePath"), c.PodTemplatePath, "spec.template")
		if c.ReplicasPath != "" {
			l.checkFieldPath(path.Child("replicasPath"), c.ReplicasPath, "spec.replicas")
		}
		switch as := cmp.Or(c.As, "Deployment"); {
		case !slices.Contains(generic.Workloads, as):
			l.problems.Add(path.Child("as"), "%q is not a kind of workload; use %s", c.As, words.Or(generic.Workloads))
		case as == "DaemonSet" && c.ReplicasPath != "":
			l.problems.Add(path.Child("replicasPath"), "has no effect, since a DaemonSet has a pod on every node; leave it out")
		}
		if l.problems.Len() == problems {
			l.opts.Operators.Custom = append(l.opts.Operators.Custom, generic.Rule{
				Kind: gvk, PodTemplatePath: c.PodTemplatePath, ReplicasPath: c.ReplicasPath, As: cmp.Or(c.As, "Deployment"),
			})
		}
	}
}

// checkShapes reports the problems of a rule's objects that are independent of any resource.
func (l *loader) checkShapes(path *field.Path, c *scenario.CustomResource) {
	if c.PodTemplatePath+c.As != "" {
		l.problems.Add(path, "objects take the place of podTemplatePath and as; leave those out")
	}
	if c.ReplicasPath != "" {
		l.problems.Add(path.Child("replicasPath"), "objects take their replicas by fields, and each cluster of a federation gets the resource whole; "+
			"leave it out, or give podTemplatePath in place of objects to have Karmada divide the replicas")
	}
	for i := range c.Objects {
		if err := c.Objects[i].Validate(); err != nil {
			l.problems.Add(path.Child("objects").Index(i), "%s", err)
		}
	}
}

// checkFieldPath reports a path of fields that is missing or has an empty part.
func (l *loader) checkFieldPath(path *field.Path, given, example string) {
	switch {
	case given == "":
		l.problems.Add(path, "is missing; give the fields with dots between them, for example %s", example)
	case slices.Contains(strings.Split(given, "."), ""):
		l.problems.Add(path, "%q has an empty part; give the fields with dots between them, for example %s", given, example)
	}
}
