package explain

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/devices"
)

// Changes of what a claim on devices selects. Its spec cannot change, nor can that of its template, so that the pods name a new one.

// loosenSelectors returns the attempts for each request whose selectors match no device of its class: the value that devices have in place of the one asked
// for, or no selector.
func (p *pendingPod) loosenSelectors() []attempt {
	if p.spec == nil || p.member != nil || !p.refusedBy("DynamicResources") {
		return nil
	}
	var attempts []attempt
	for i := range p.spec.ResourceClaims {
		of := p.claimSource(i)
		if of == nil {
			continue
		}
		for j := range of.spec.Devices.Requests {
			request := of.spec.Devices.Requests[j].Exactly
			if request == nil || len(request.Selectors) == 0 || !p.isOffered(request, nil) || p.isOffered(request, request.Selectors) {
				continue
			}
			attempts = append(attempts, p.attemptFirst(p.selectPresentDevices(of, i, j))...)
			attempts = append(attempts, p.attemptOne(of.withSelectors(fmt.Sprintf("select any device of class %s, without the selectors", request.DeviceClassName), i, j, nil)))
		}
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

// withSelectors returns the change that creates a claim or a template like the source whose j-th request has the selectors, and lets the i-th claim of the pods be
// the new one.
func (s *claimSource) withSelectors(change string, i, j int, selectors []resourcev1.DeviceSelector) candidate {
	meta := metav1.ObjectMeta{Namespace: s.namespace, Name: s.name + "-2"}
	kind := metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: s.kind}
	spec := s.spec.DeepCopy()
	spec.Devices.Requests[j].Exactly.Selectors = selectors
	c := candidate{change: fmt.Sprintf("%s: name a new %s %s, like %s but for this", change, s.kind, meta.Name, s.name)}
	if s.kind == "ResourceClaim" {
		c.objects = []cluster.Object{&resourcev1.ResourceClaim{TypeMeta: kind, ObjectMeta: meta, Spec: *spec}}
		c.edit = func(spec *v1.PodSpec) { spec.ResourceClaims[i].ResourceClaimName = &meta.Name }
		return c
	}
	c.objects = []cluster.Object{&resourcev1.ResourceClaimTemplate{TypeMeta: kind, ObjectMeta: meta, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: *spec}}}
	c.edit = func(spec *v1.PodSpec) { spec.ResourceClaims[i].ResourceClaimTemplateName = &meta.Name }
	return c
}

// isOffered reports whether a node has a device of the request's class that the selectors match.
func (p *pendingPod) isOffered(request *resourcev1.ExactDeviceRequest, selectors []resourcev1.DeviceSelector) bool {
	want := devices.Want{Selectors: selectors, Tolerations: request.Tolerations, Capacity: request.Capacity}
	for _, class := range p.step.State.DeviceClasses {
		if class.Name == request.DeviceClassName {
			want.Class = class.Spec.Selectors
		}
	}
	offers := devices.NewOffers(p.step.State)
	return slices.ContainsFunc(p.nodes, func(node *v1.Node) bool { return offers.On(context.Background(), node, want).Matching > 0 })
}

// comparedPattern matches an attribute or a capacity of a device with the literal that stands behind it, as in
// device.attributes["gpu.example.com"].model == "h100".
var comparedPattern = regexp.MustCompile(`device\.(attributes|capacity)\[["']([^"']+)["']\]\.(\w+)[^"'&|\d]*["']?([\w.-]+)`)

// selectPresentDevices returns the changes that compare an attribute or a capacity with a value that devices have, where a device then matches.
func (p *pendingPod) selectPresentDevices(of *claimSource, i, j int) []candidate {
	request := of.spec.Devices.Requests[j].Exactly
	var all []candidate
	for k, selector := range request.Selectors {
		if selector.CEL == nil {
			continue
		}
		text := selector.CEL.Expression
		for _, at := range comparedPattern.FindAllStringSubmatchIndex(text, -1) {
			part := func(n int) string { return text[at[2*n]:at[2*n+1]] }
			for _, value := range cause.DeviceValues(p.step.State.ResourceSlices, part(1), part(2), part(3)) {
				selectors := slices.Clone(request.Selectors)
				selectors[k] = resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: text[:at[8]] + value + text[at[9]:]}}
				if len(all) < maxPerDomain && p.isOffered(request, selectors) {
					all = append(all, of.withSelectors(fmt.Sprintf("select devices by %s %s (now %s)", part(3), value, part(4)), i, j, selectors))
				}
			}
		}
	}
	return all
}
