// Package hydrolix expands the resources of Hydrolix, whose operator is closed source. The code follows the documentation of Hydrolix.
// profile.yaml has the values that the documentation leaves open, such as replicas, labels and weights; the expansion reports them as
// assumptions.
package hydrolix

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/operator"
)

// Options configure the operator.
type Options struct {
	// Profile has the values that are not published. Default: the shipped profile.
	Profile *Profile
}

const group, version, kind = "hydrolix.io", "v1", "HydrolixCluster"

// New returns the operator of HydrolixClusters. If a profile cannot be read, its Expand returns the error.
func New(opts Options) operator.Operator {
	return operator.Operator{
		Name:  "Hydrolix",
		Kinds: []schema.GroupKind{{Group: group, Kind: kind}},
		Expand: func(resource *operator.Resource, all []*operator.Resource) (*operator.Expansion, error) {
			profile := opts.Profile
			if profile == nil {
				var err error
				if profile, err = readShippedProfile(); err != nil {
					return nil, err
				}
			}
			return expandCluster(resource, all, profile)
		},
	}
}

func expandCluster(resource *operator.Resource, all []*operator.Resource, profile *Profile) (*operator.Expansion, error) {
	if resource.APIVersion != group+"/"+version {
		return nil, fmt.Errorf("apiVersion: unknown version %s: use %s/%s", resource.APIVersion, group, version)
	}
	var problems []error
	if resource.Name == "" {
		problems = append(problems, errors.New("metadata.name: Required value"))
	}
	spec, warnings, err := readSpec(resource)
	if err != nil {
		return nil, errors.Join(append(problems, err)...)
	}
	result := &operator.Expansion{Warnings: warnings}
	problems = append(problems, checkTargeting(spec.Targeting), checkClasses(&spec.PriorityClasses), checkScale("spec.scale", spec.Scale))
	for _, name := range slices.Sorted(maps.Keys(spec.profiles)) {
		problems = append(problems, checkScale(fmt.Sprintf("spec.scale.profile[%s]", name), spec.profiles[name]))
	}
	c := &components{spec: spec, profile: profile, result: result}
	workloads, err := c.resolveWorkloads()
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, err
	}
	warnings, assumptions := targetingNotes(spec, profile)
	result.Warnings = append(result.Warnings, warnings...)
	if isFirstOfKind(resource, all) {
		result.Objects = shippedClasses()
	}
	for i := range workloads {
		result.Objects = append(result.Objects, workloads[i].newObject(c))
	}
	result.Assumptions = append(append(profile.describeAssumptions(c, workloads), assumptions...), result.Assumptions...)
	return result, nil
}

// isFirstOfKind reports whether the resource is the first of its kind. Only the expansion of the first resource has the objects that exist once per
// cluster.
func isFirstOfKind(resource *operator.Resource, all []*operator.Resource) bool {
	at := slices.IndexFunc(all, func(r *operator.Resource) bool { return r.APIVersion == resource.APIVersion && r.Kind == kind })
	return at < 0 || all[at] == resource
}

// shippedClasses returns the priority classes that come with the operator. See
// https://docs.hydrolix.io/latest/self-managed/manage-a-cluster/pod-priority-classes
func shippedClasses() []operator.WrittenObject {
	var objects []operator.WrittenObject
	for _, class := range []struct {
		name  string
		value int32
	}{
		{"hdx-critical", 10000}, {"vector", 10000}, {"hdx-highest", 9900}, {"hdx-high", 9800}, {"hdx-medium", 9700}, {"hdx-low", 9600}, {"hdx-lowest", 9500},
	} {
		objects = append(objects, operator.WrittenObject{Object: &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: class.name}, Value: class.value, PreemptionPolicy: new(v1.PreemptLowerPriority),
		}})
	}
	return objects
}
