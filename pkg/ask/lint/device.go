package lint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/cluster"
)

// deviceClaim is a claim on devices as a pod names it.
type deviceClaim struct {
	field, what string
	spec        *resourcev1.ResourceClaimSpec // nil: there is none
	allocated   bool
}

func (s *subject) deviceClaims() []deviceClaim {
	var all []deviceClaim
	for i, named := range s.pod.Spec.ResourceClaims {
		claim := deviceClaim{field: fmt.Sprintf("%s[%d]", s.field("resourceClaims"), i)}
		switch {
		case named.ResourceClaimName != nil:
			claim.what = "ResourceClaim " + *named.ResourceClaimName
			for _, known := range s.step.State.ResourceClaims {
				if known.Namespace == s.owner.Namespace && known.Name == *named.ResourceClaimName {
					claim.spec, claim.allocated = &known.Spec, known.Status.Allocation != nil
				}
			}
		case named.ResourceClaimTemplateName != nil:
			claim.what = "ResourceClaimTemplate " + *named.ResourceClaimTemplateName
			for _, known := range s.step.State.ResourceClaimTemplates {
				if known.Namespace == s.owner.Namespace && known.Name == *named.ResourceClaimTemplateName {
					claim.spec = &known.Spec.Spec
				}
			}
		default:
			continue
		}
		all = append(all, claim)
	}
	return all
}

// alternative is one way to meet a request.
type alternative struct {
	class     string
	selectors []resourcev1.DeviceSelector
}

func alternatives(request *resourcev1.DeviceRequest) []alternative {
	var all []alternative
	if request.Exactly != nil {
		all = append(all, alternative{request.Exactly.DeviceClassName, request.Exactly.Selectors})
	}
	for _, sub := range request.FirstAvailable {
		all = append(all, alternative{sub.DeviceClassName, sub.Selectors})
	}
	return all
}

// deviceClaimMissing finds pods that wait forever, because the claim on devices that they name does not exist, or its template or class.
// The API server accepts such pods, because somebody may create the missing object later.
func deviceClaimMissing(_ *inspection, s *subject) []Finding {
	var found []Finding
	for _, claim := range s.deviceClaims() {
		if claim.spec == nil {
			found = append(found, Finding{Field: claim.field, Message: claim.what + " does not exist in namespace " + s.owner.Namespace + ": the pods stay Pending", Fix: "create it"})
			continue
		}
		missing := map[string]bool{}
		for i := range claim.spec.Devices.Requests {
			for _, a := range alternatives(&claim.spec.Devices.Requests[i]) {
				if s.deviceClass(a.class) != nil || missing[a.class] {
					continue
				}
				missing[a.class] = true
				found = append(found, Finding{Field: claim.field, Message: fmt.Sprintf("%s asks for devices of DeviceClass %s, which does not exist: the pods stay Pending", claim.what, a.class),
					Fix: "create the DeviceClass, or name one that exists"})
			}
		}
	}
	return found
}

func (s *subject) deviceClass(name string) *resourcev1.DeviceClass {
	for _, class := range s.step.State.DeviceClasses {
		if class.Name == name {
			return class
		}
	}
	return nil
}

// noSuchDevice finds claims with a request that no published device can meet. It does not check whether a device is taken, tainted or out
// of reach.
func noSuchDevice(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, claim := range s.deviceClaims() {
		if claim.spec == nil || claim.allocated {
			continue
		}
		for i := range claim.spec.Devices.Requests {
			request := &claim.spec.Devices.Requests[i]
			var classes, of []string // classes that the request names, and classes that have devices
			met := false
			for _, a := range alternatives(request) {
				class := s.deviceClass(a.class)
				if class == nil {
					met = true // deviceClaimMissing reports it
					break
				}
				classes = append(classes, a.class)
				if l.hasDevice(class.Spec.Selectors) {
					of = append(of, a.class)
				}
				met = met || l.hasDevice(slices.Concat(class.Spec.Selectors, a.selectors))
			}
			switch {
			case met:
			case !l.hasDevice(nil): // the input may lack the ResourceSlices
				found = append(found, Finding{Field: claim.field, Severity: Warning, Fix: "give the ResourceSlices of the cluster, or nodes with devices",
					Message: claim.what + " asks for a device, and the input has no ResourceSlice with one: the pods stay Pending"})
			case len(of) == 0:
				found = append(found, Finding{Field: claim.field, Fix: "give nodes such devices, or ask for others",
					Message: fmt.Sprintf("%s asks for a device of DeviceClass %s, and no node has one: the pods stay Pending", claim.what, strings.Join(classes, " or "))})
			default:
				found = append(found, Finding{Field: claim.field, Fix: "change the selectors, or give nodes such devices",
					Message: fmt.Sprintf("%s asks for a device of DeviceClass %s, and no device matches the selectors of its request %s: the pods stay Pending", claim.what, strings.Join(of, " or "), request.Name)})
			}
		}
	}
	return found
}

// hasDevice reports whether some device of the scenario matches all selectors, by upstream's evaluation. An expression that fails on a
// device does not match it.
func (l *inspection) hasDevice(selectors []resourcev1.DeviceSelector) bool {
	var key strings.Builder
	var compiled []cel.CompilationResult
	for _, selector := range selectors {
		if selector.CEL != nil {
			fmt.Fprintf(&key, "%q", selector.CEL.Expression)
		}
	}
	if has, known := l.devices[key.String()]; known {
		return has
	}
	compiler := cel.GetCompiler(cel.Features{
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		EnableListTypeAttributes: utilfeature.DefaultFeatureGate.Enabled(features.DRAListTypeAttributes),
	})
	for _, selector := range selectors {
		if selector.CEL != nil {
			compiled = append(compiled, compiler.CompileCELExpression(selector.CEL.Expression, cel.Options{}))
		}
	}
	has := false
	for _, obj := range l.result.Scenario.Objects() {
		slice, ok := obj.(*resourcev1.ResourceSlice)
		for i := 0; ok && !has && i < len(slice.Spec.Devices); i++ {
			has = matchesSelectors(l.ctx, slice.Spec.Driver, &slice.Spec.Devices[i], compiled)
		}
	}
	l.devices[key.String()] = has
	return has
}

func matchesSelectors(ctx context.Context, driver string, device *resourcev1.Device, selectors []cel.CompilationResult) bool {
	for _, selector := range selectors {
		if selector.Error != nil {
			return false
		}
		given := cel.Device{Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity}
		if match, _, err := selector.DeviceMatches(ctx, given); err != nil || !match {
			return false
		}
	}
	return true
}

// deviceClaimUnused finds claims, and templates of claims, that no pod of the scenario names. They belong to no subject, so the check
// reports them for the first subject of each step.
func deviceClaimUnused(l *inspection, s *subject) []Finding {
	if !l.isFirstOfStep(s) {
		return nil
	}
	var found []Finding
	unused := func(obj cluster.Object, why string) {
		found = append(found, Finding{Object: objectOf(cluster.RefTo(obj)), Field: "metadata.name", Message: why, Fix: "name it in spec.resourceClaims of the pods that need it, or delete it"})
	}
	named := l.namedClaims()
	for _, template := range s.step.State.ResourceClaimTemplates {
		if !named[cluster.RefTo(template)] {
			unused(template, "no pod and no pod template names it, so that no claim is made of it")
		}
	}
	for _, claim := range s.step.State.ResourceClaims {
		if !named[cluster.RefTo(claim)] && metav1.GetControllerOfNoCopy(claim) == nil && len(claim.Status.ReservedFor) == 0 {
			unused(claim, "no pod and no pod template names it, so that it gets no device")
		}
	}
	return found
}

// isFirstOfStep reports whether the subject is the first of its step.
func (l *inspection) isFirstOfStep(s *subject) bool {
	for _, other := range l.subjects {
		if other.step == s.step {
			return other == s
		}
	}
	return false
}

// namedClaims returns the claims and templates that pods and pod templates of the scenario name in any step.
func (l *inspection) namedClaims() map[cluster.Ref]bool {
	named := map[cluster.Ref]bool{}
	add := func(obj cluster.Object) {
		spec, _ := cluster.PodSpec(obj)
		if spec == nil {
			return
		}
		for _, claim := range spec.ResourceClaims {
			if claim.ResourceClaimName != nil {
				named[cluster.Ref{Kind: "ResourceClaim", Namespace: obj.GetNamespace(), Name: *claim.ResourceClaimName}] = true
			}
			if claim.ResourceClaimTemplateName != nil {
				named[cluster.Ref{Kind: "ResourceClaimTemplate", Namespace: obj.GetNamespace(), Name: *claim.ResourceClaimTemplateName}] = true
			}
		}
	}
	for _, obj := range l.result.Scenario.Objects() {
		add(obj)
	}
	for _, s := range l.subjects {
		add(s.object)
	}
	return named
}
