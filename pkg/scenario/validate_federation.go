package scenario

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/util/taints"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
)

// maxClusterName is the largest length of a cluster's name. See ValidateClusterName in
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/apis/cluster/validation/validation.go.
const maxClusterName = 48

// Times within these bounds can be added up without overflow.
const (
	maxTolerationSeconds = 10 * 365 * 24 * 60 * 60
	minEvictionRate      = 0.00001
)

// The values of fields of Federation and Failover.
const (
	EstimateKarmada   = "karmada"
	EstimateScheduler = "scheduler"
	// WorkloadAffinity is the feature gate of Karmada that can be switched.
	WorkloadAffinity = "WorkloadAffinity"
)

// karmadaGates are Karmada's other feature gates. See
// https://github.com/karmada-io/karmada/blob/f8fdd02d/pkg/features/features.go.
var karmadaGates = []string{
	"ControllerPriorityQueue", "CustomizedClusterResourceModeling", "Failover", "FederatedQuotaEnforcement", "GracefulEviction", "MultiClusterService",
	"MultiplePodTemplatesScheduling", "PriorityBasedScheduling", "PropagateDeps", "PropagationPolicyPreemption", "ResourceQuotaEstimate",
	"SchedulingOvercommitProtection", "StatefulFailoverInjection",
}

// IsZero reports whether no field is given.
func (f *Federation) IsZero() bool { return reflect.ValueOf(*f).IsZero() }

// ValidateFederation reports problems of the options of Karmada.
func ValidateFederation(p *Problems, f *Federation) {
	path := field.NewPath("federation")
	for _, gate := range slices.Sorted(maps.Keys(f.FeatureGates)) {
		switch path := path.Child("featureGates").Key(gate); {
		case gate == WorkloadAffinity:
		case gate == "Failover":
			p.Add(path, "is switched by federation.failover.enabled; leave it out here")
		case slices.Contains(karmadaGates, gate):
			p.Add(path, "is a feature gate of Karmada that is not simulated; leave it out, only %s can be switched", WorkloadAffinity)
		default:
			p.Add(path, "is not a feature gate of Karmada; %s", ListChoices(gate, []string{WorkloadAffinity}))
		}
	}
	validateEither(p, path.Child("estimate"), f.Estimate, EstimateKarmada, EstimateScheduler)
	failover, path := &f.Failover, path.Child("failover")
	validateEither(p, path.Child("purgeMode"), failover.PurgeMode, federation.PurgeGracefully, federation.PurgeDirectly)
	switch s := failover.TolerationSeconds; {
	case s == nil:
	case *s < 0:
		p.Add(path.Child("tolerationSeconds"), "%d is negative; give 0 or more", *s)
	case *s > maxTolerationSeconds:
		p.Add(path.Child("tolerationSeconds"), "%d is more than the %d of ten years; give less", *s, maxTolerationSeconds)
	}
	switch r := failover.EvictionRate; {
	case r == nil:
	case *r <= 0:
		p.Add(path.Child("evictionRate"), "%g is not above 0; give workloads a second, such as 0.5", *r)
	case *r < minEvictionRate:
		p.Add(path.Child("evictionRate"), "%g is less than %g, which is about one a day; give workloads a second, such as 0.5", *r, minEvictionRate)
	}
	if given := *failover; !given.Enabled && !reflect.ValueOf(given).IsZero() {
		p.Add(path, "has no effect without enabled: true; nothing moves away from a cluster that fails")
	}
}

// ValidateCluster reports problems of a member cluster that do not depend on its nodes.
func ValidateCluster(p *Problems, path *field.Path, c *Cluster) {
	switch messages := validation.IsDNS1123Label(c.Name); {
	case c.Name == "":
		p.Add(path.Child("name"), "is missing; the report shows a cluster, and what is in it, by its name")
	case len(messages) > 0:
		p.Add(path.Child("name"), "%q is not a name of a cluster: %s", c.Name, strings.Join(messages, "; "))
	case len(c.Name) > maxClusterName:
		p.Add(path.Child("name"), "%q is longer than the %d characters that Karmada allows", c.Name, maxClusterName)
	}
	for _, err := range validateLabelsAndTaints(c.Labels, path.Child("labels"), c.Taints, path.Child("taints")) {
		p.Add(nil, "%s", err)
	}
	for i, api := range c.APIs {
		if _, err := parseAPI(api); err != nil {
			p.Add(path.Child("apis").Index(i), "%s", err)
		}
	}
}

// validateLabelsAndTaints returns the labels and taints of a cluster that the API server rejects.
func validateLabelsAndTaints(labels map[string]string, ofLabels *field.Path, given []v1.Taint, ofTaints *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabels(labels, ofLabels)
	for i, taint := range given {
		if err := taints.CheckTaintValidation(taint); err != nil {
			errs = append(errs, field.Invalid(ofTaints.Index(i), taint.ToString(), err.Error()))
		}
		if slices.ContainsFunc(given[:i], func(other v1.Taint) bool { return other.MatchTaint(&taint) }) {
			errs = append(errs, field.Duplicate(ofTaints.Index(i), taint.ToString()))
		}
	}
	return errs
}

// parseAPI splits a text such as apps/v1/Deployment into apiVersion and kind.
func parseAPI(text string) (schema.GroupVersionKind, error) {
	i := max(strings.LastIndex(text, "/"), 0)
	gv, err := schema.ParseGroupVersion(text[:i])
	if kind := strings.TrimPrefix(text[i:], "/"); err == nil && i > 0 && gv.Version != "" && kind != "" {
		return gv.WithKind(kind), nil
	}
	return schema.GroupVersionKind{}, fmt.Errorf("%q is not of the form apiVersion/kind; give a kind such as apps/v1/Deployment or v1/Pod", text)
}

// validate reports a step that only a federation takes; ValidateCluster reports problems of the cluster.
func (c *Cluster) validate(v *actionChecks) {
	if !v.federated {
		v.Add(v.path, "is for a federation; give clusters in place of cluster")
	}
}

// Karmada returns the cluster as it is registered in Karmada, without what Karmada learns from its nodes.
func (c *Cluster) Karmada() *federation.Cluster {
	of := &federation.Cluster{}
	of.APIVersion, of.Kind = federation.ClusterAPIVersion, federation.KindCluster
	of.Name, of.Labels = c.Name, c.Labels
	of.Spec = federation.ClusterSpec{Provider: c.Provider, Region: c.Region, Zones: c.Zones, Taints: c.Taints}
	for _, text := range c.APIs {
		kind, err := parseAPI(text)
		if err != nil {
			continue // ValidateCluster has reported it
		}
		version := kind.GroupVersion().String()
		at := slices.IndexFunc(of.Status.APIEnablements, func(api federation.APIEnablement) bool { return api.GroupVersion == version })
		if at < 0 {
			at = len(of.Status.APIEnablements)
			of.Status.APIEnablements = append(of.Status.APIEnablements, federation.APIEnablement{GroupVersion: version})
		}
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		of.Status.APIEnablements[at].Resources = append(of.Status.APIEnablements[at].Resources, federation.APIResource{Name: resource.Resource, Kind: kind.Kind})
	}
	return of
}

// NewMember returns the member of a federation with the objects of its sources.
func NewMember(c *federation.Cluster, objects []cluster.Object) Member {
	alone := &cluster.Federation{
		Members: []cluster.Member{{Name: c.Name, State: (&cluster.State{}).With(objects...)}},
		Control: &cluster.Control{Clusters: []*federation.Cluster{c}},
	}
	return Member{Cluster: c, Objects: objects, Shown: alone.Join().Objects()}
}

// Federated reports whether the scenario has several clusters.
func (s *Scenario) Federated() bool { return len(s.Members) > 0 }

// AppliesWorkloads reports whether anything is applied before the first step.
func (s *Scenario) AppliesWorkloads() bool {
	return len(s.Workloads)+len(s.Karmada.Policies)+len(s.Karmada.Overrides)+len(s.Karmada.Resources) > 0
}

// AllMembers returns the clusters with which the federation starts, and the clusters that join later.
func (s *Scenario) AllMembers() []Member {
	all := slices.Clone(s.Members)
	for i := range s.Steps {
		if joined := s.Steps[i].Karmada.Joined; joined != nil {
			all = append(all, *joined)
		}
	}
	return all
}

// operatorObjects returns the objects that operators make of the custom resources.
func (k *Karmada) operatorObjects() []cluster.Object {
	var all []cluster.Object
	for i := range k.Resources {
		all = append(all, k.Resources[i].Objects...)
	}
	return all
}

// isSame reports whether both hold the same objects; scenarios that are derived from one another share them.
func (k *Karmada) isSame(other *Karmada) bool {
	sameMade := func(a, b cluster.ResourceTemplate) bool {
		return a.Template == b.Template && slices.Equal(a.Objects, b.Objects)
	}
	return slices.Equal(k.Policies, other.Policies) && slices.Equal(k.Overrides, other.Overrides) &&
		slices.EqualFunc(k.Resources, other.Resources, sameMade) && (k.Joined == other.Joined || k.Joined != nil && other.Joined != nil && k.Joined.isSame(*other.Joined))
}

func (m Member) isSame(other Member) bool {
	return m.Cluster == other.Cluster && slices.Equal(m.Objects, other.Objects)
}
