package explain

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/devices"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Changes of what a claim on devices selects. Its spec cannot change, nor can that of its template, so that the pods name a new one.

// deviceRequest is a request for devices of one class in a claim of the pods.
type deviceRequest struct {
	*resourcev1.ExactDeviceRequest
	of    *claimSource
	claim int // in the spec of the pods
	index int // in the claim
}

// deviceRequests returns the requests for devices of one class that the claims of the pod have, if DynamicResources refuses it.
func (p *pendingPod) deviceRequests() []deviceRequest {
	if p.spec == nil || p.member != nil || !p.refusedBy("DynamicResources") {
		return nil
	}
	var all []deviceRequest
	for i := range p.spec.ResourceClaims {
		of := p.claimSource(i)
		if of == nil {
			continue
		}
		for j := range of.spec.Devices.Requests {
			if request := of.spec.Devices.Requests[j].Exactly; request != nil {
				all = append(all, deviceRequest{request, of, i, j})
			}
		}
	}
	return all
}

// loosenSelectors returns the attempts for each request whose selectors match no device of its class: the value that devices have in place of the one asked
// for, or no selector.
func (p *pendingPod) loosenSelectors() []attempt {
	var attempts []attempt
	for _, r := range p.deviceRequests() {
		if len(r.Selectors) == 0 || !p.isOffered(r, nil) || p.isOffered(r, r.Selectors) {
			continue
		}
		attempts = append(attempts, p.attemptFirst(p.selectPresentDevices(r))...)
		attempts = append(attempts, p.attemptOne(r.withSelectors(fmt.Sprintf("select any device of class %s, without the selectors", r.DeviceClassName), nil)))
	}
	return attempts
}

// askForFewerDevices returns the attempts that let a request ask for as many devices as the node with the most free ones has, where it asks for more, or
// for all devices.
func (p *pendingPod) askForFewerDevices() []attempt {
	var attempts []attempt
	for _, r := range p.deviceRequests() {
		most := 0
		for _, offer := range p.offersFor(r, r.Selectors) {
			most = max(most, offer.Free)
		}
		now := fmt.Sprint(r.Count)
		if r.AllocationMode == resourcev1.DeviceAllocationModeAll {
			now = "all"
		}
		if most == 0 || now != "all" && r.Count <= int64(most) {
			continue
		}
		attempts = append(attempts, p.attemptOne(r.with(fmt.Sprintf("ask for %s (now %s)", words.Count(most, "device"), now), func(request *resourcev1.ExactDeviceRequest) {
			request.AllocationMode, request.Count = resourcev1.DeviceAllocationModeExactCount, int64(most)
		})))
	}
	return attempts
}

// tolerateDevices returns the attempts that tolerate the taints of the devices that match a request.
func (p *pendingPod) tolerateDevices() []attempt {
	var attempts []attempt
	for _, r := range p.deviceRequests() {
		var taints []resourcev1.DeviceTaint
		for _, offer := range p.offersFor(r, r.Selectors) {
			for _, device := range offer.Tainted {
				if !slices.ContainsFunc(taints, func(known resourcev1.DeviceTaint) bool {
					return cause.DeviceTaintText(known) == cause.DeviceTaintText(device.Taint)
				}) {
					taints = append(taints, device.Taint)
				}
			}
		}
		if len(taints) == 0 || len(taints) > maxPerDomain {
			continue
		}
		tolerating := r.with("tolerate "+words.And(list.Map(taints, cause.DeviceTaintText))+" of devices", func(request *resourcev1.ExactDeviceRequest) {
			for _, taint := range taints {
				request.Tolerations = append(request.Tolerations, resourcev1.DeviceToleration{Key: taint.Key, Operator: resourcev1.DeviceTolerationOpEqual, Value: taint.Value, Effect: taint.Effect})
			}
		})
		tolerating.price = []string{"gets devices that are marked, for example as not healthy"}
		attempts = append(attempts, p.attemptOne(tolerating))
	}
	return attempts
}

// claimSource is the claim on devices that a pod names, or the template of its claim.
type claimSource struct {
	kind, namespace, name string
	spec                  *resourcev1.ResourceClaimSpec
}

// claimSource returns the i-th claim of the pods, or its template; nil if there is none, or if it has devices.
func (p *pendingPod) claimSource(i int) *claimSource {
	of := p.spec.ResourceClaims[i]
	for _, template := range p.step.State.ResourceClaimTemplates {
		if of.ResourceClaimTemplateName != nil && template.Namespace == p.pod.Namespace && template.Name == *of.ResourceClaimTemplateName {
			return &claimSource{"ResourceClaimTemplate", template.Namespace, template.Name, &template.Spec.Spec}
		}
	}
	for _, claim := range p.step.State.ResourceClaims {
		if of.ResourceClaimName != nil && claim.Namespace == p.pod.Namespace && claim.Name == *of.ResourceClaimName && claim.Status.Allocation == nil {
			return &claimSource{"ResourceClaim", claim.Namespace, claim.Name, &claim.Spec}
		}
	}
	return nil
}

// withSelectors returns the change by which the request has the selectors.
func (r *deviceRequest) withSelectors(change string, selectors []resourcev1.DeviceSelector) candidate {
	return r.with(change, func(request *resourcev1.ExactDeviceRequest) { request.Selectors = selectors })
}

// with returns the change that creates a claim or a template like that of the request, but for what is edited, and lets the claim of the pods be the new
// one.
func (r *deviceRequest) with(change string, edit func(*resourcev1.ExactDeviceRequest)) candidate {
	meta := metav1.ObjectMeta{Namespace: r.of.namespace, Name: r.of.name + "-2"}
	kind := metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: r.of.kind}
	made := r.of.spec.DeepCopy()
	edit(made.Devices.Requests[r.index].Exactly)
	c := candidate{change: fmt.Sprintf("%s: name a new %s %s, like %s but for this", change, r.of.kind, meta.Name, r.of.name)}
	if r.of.kind == "ResourceClaim" {
		c.objects = []cluster.Object{&resourcev1.ResourceClaim{TypeMeta: kind, ObjectMeta: meta, Spec: *made}}
		c.edit = func(spec *v1.PodSpec) { spec.ResourceClaims[r.claim].ResourceClaimName = &meta.Name }
		return c
	}
	c.objects = []cluster.Object{&resourcev1.ResourceClaimTemplate{TypeMeta: kind, ObjectMeta: meta, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: *made}}}
	c.edit = func(spec *v1.PodSpec) { spec.ResourceClaims[r.claim].ResourceClaimTemplateName = &meta.Name }
	return c
}

// isOffered reports whether a node has a device of the request's class that the selectors match.
func (p *pendingPod) isOffered(r deviceRequest, selectors []resourcev1.DeviceSelector) bool {
	return slices.ContainsFunc(p.offersFor(r, selectors), func(offer devices.Offer) bool { return offer.Matching > 0 })
}

// offersFor returns what each node has for the request, were these its selectors.
func (p *pendingPod) offersFor(r deviceRequest, selectors []resourcev1.DeviceSelector) []devices.Offer {
	want := devices.Want{Selectors: selectors, Tolerations: r.Tolerations, Capacity: r.Capacity}
	for _, class := range p.step.State.DeviceClasses {
		if class.Name == r.DeviceClassName {
			want.Class = class.Spec.Selectors
		}
	}
	offers := devices.NewOffers(p.step.State)
	return list.Map(p.nodes, func(node *v1.Node) devices.Offer { return offers.On(context.Background(), node, want) })
}

// comparedPattern matches an attribute or a capacity of a device with the literal that stands behind it, as in
// device.attributes["gpu.example.com"].model == "h100".
var comparedPattern = regexp.MustCompile(`device\.(attributes|capacity)\[["']([^"']+)["']\]\.(\w+)[^"'&|\d]*["']?([\w.-]+)`)

// selectPresentDevices returns the changes that compare an attribute or a capacity with a value that devices have, where a device then matches.
func (p *pendingPod) selectPresentDevices(r deviceRequest) []candidate {
	var all []candidate
	for k, selector := range r.Selectors {
		if selector.CEL == nil {
			continue
		}
		text := selector.CEL.Expression
		for _, at := range comparedPattern.FindAllStringSubmatchIndex(text, -1) {
			part := func(n int) string { return text[at[2*n]:at[2*n+1]] }
			for _, value := range nearestFirst(cause.DeviceValues(p.step.State.ResourceSlices, part(1), part(2), part(3)), part(4)) {
				selectors := slices.Clone(r.Selectors)
				selectors[k] = resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: text[:at[8]] + value + text[at[9]:]}}
				if len(all) < maxPerDomain && p.isOffered(r, selectors) {
					all = append(all, r.withSelectors(fmt.Sprintf("select devices by %s %s (now %s)", part(3), value, part(4)), selectors))
				}
			}
		}
	}
	return all
}

// nearestFirst returns the values with those first that differ least from the asked one, if all are quantities: 81559Mi before 40Gi where 80Gi is asked.
func nearestFirst(values []string, asked string) []string {
	want, err := resource.ParseQuantity(asked)
	if err != nil {
		return values
	}
	distance := map[string]float64{}
	for _, value := range values {
		is, err := resource.ParseQuantity(value)
		if err != nil {
			return values
		}
		distance[value] = math.Abs(is.AsApproximateFloat64() - want.AsApproximateFloat64())
	}
	return slices.SortedStableFunc(slices.Values(values), func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
}
