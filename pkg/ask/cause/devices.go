package cause

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/devices"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Devices is a request of a claim that DynamicResources cannot serve on any refused node.
type Devices struct {
	// Claim is the ResourceClaim as namespace/name, and Request the name of the request in it. Both are missing if the requests cannot be
	// served together.
	Claim   string `json:"claim,omitempty"`
	Request string `json:"request,omitempty"`
	// Resource is the extended resource that a DeviceClass stands for, and Container the one that asks for it; missing for a claim.
	Resource  v1.ResourceName `json:"resource,omitempty"`
	Container string          `json:"container,omitempty"`
	// Node is the refused node that lacks the fewest devices.
	Node string `json:"node,omitempty"`
	// Options are the kinds of device that the request takes: one kind, or the first available of several.
	Options []DeviceOption `json:"options,omitempty"`
	// Sharing are the pods that use a claim which has devices already.
	Sharing []string `json:"sharing,omitempty"`
	// Constraints are the constraints of the claims, if the requests cannot be served together.
	Constraints []string `json:"constraints,omitempty"`
}

// DeviceOption is a kind of device that a request takes, and how many the node has of it.
type DeviceOption struct {
	// Name is the name of the subrequest; missing if the request takes one kind.
	Name string `json:"name,omitempty"`
	// Class is the DeviceClass, and Selectors are the CEL expressions of the request.
	Class     string   `json:"class"`
	Selectors []string `json:"selectors,omitempty"`
	// Asked is the number of devices; missing if the request asks for all matching ones.
	Asked int `json:"asked,omitempty"`
	// Devices is the number of devices that the node reaches, OfClass the number of these that match the class's selectors, and Matching
	// the number of these that match the request's, too.
	Devices  int `json:"devices"`
	OfClass  int `json:"ofClass"`
	Matching int `json:"matching"`
	// Has are the attributes and capacities by which the selectors choose, as the node's devices have them, if none matches.
	Has []string `json:"has,omitempty"`
	// Tainted is the number of matching devices with a taint that the request does not tolerate, HeldBy are the claims that hold others,
	// with the pods for which they are reserved, and Free is the number of matching devices that are free.
	Tainted int `json:"tainted,omitempty"`
	// Taints are these taints, each with its device, such as "gpu-1: example.com/ecc=errors:NoSchedule".
	Taints []string `json:"taints,omitempty"`
	HeldBy []string `json:"heldBy,omitempty"`
	Free   int      `json:"free"`
	// Incomplete are the pools, as driver/pool, of which a ResourceSlice is missing, so that no claim gets a device of them.
	Incomplete []string `json:"incomplete,omitempty"`
	// NoClass means that the DeviceClass does not exist.
	NoClass bool `json:"noClass,omitempty"`
}

// maxSelector is how many characters of a CEL expression a sentence shows. An expression can have 10,240.
const maxSelector = 200

// notAllocated is the plugin's message for a node on which the pod's claims cannot be allocated; see dynamicresources.go in
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/pkg/scheduler/framework/plugins/dynamicresources.
const notAllocated = "cannot allocate all claims"

// deviceRequests returns a cause for each request that no refused node can serve, and one for the nodes that can serve each request but not
// all together.
func deviceRequests(v *view, r refused) []Cause {
	nodes := list.Where(r.nodes, func(node *v1.Node) bool { return r.messages[node.Name] == notAllocated })
	elsewhere := list.Where(r.nodes, func(node *v1.Node) bool { return r.messages[node.Name] == "resourceclaim not available on the node" })
	offers := devices.NewOffers(v.state)
	var causes []Cause
	blamed := map[string]bool{} // nodes
	claims := v.deviceClaims()
	for _, claim := range claims {
		if claim.Status.Allocation != nil {
			causes = append(causes, v.allocatedElsewhere(claim, elsewhere)...)
			continue
		}
		for i := range claim.Spec.Devices.Requests {
			d := Devices{Claim: claim.Namespace + "/" + claim.Name, Request: claim.Spec.Devices.Requests[i].Name}
			short := v.nodesLacking(offers, &d, &claim.Spec.Devices.Requests[i], nodes)
			for _, node := range short {
				blamed[node.Name] = true
			}
			if len(d.Options) > 0 {
				causes = append(causes, Cause{Plugin: "DynamicResources", Nodes: len(short), Sentence: d.sentence(), Devices: &d})
			}
		}
	}
	extended := v.extendedRequests()
	for i := range extended {
		d := Devices{Resource: extended[i].resource, Container: extended[i].container}
		short := v.nodesLacking(offers, &d, &extended[i].request, nodes)
		for _, node := range short {
			blamed[node.Name] = true
		}
		if len(d.Options) > 0 {
			causes = append(causes, Cause{Plugin: "DynamicResources", Nodes: len(short), Sentence: d.sentence(), Devices: &d})
		}
	}
	if rest := list.Without(nodes, func(node *v1.Node) bool { return blamed[node.Name] }); len(rest) > 0 && len(claims)+len(extended) > 0 {
		d := Devices{Node: rest[0].Name}
		for _, claim := range claims {
			d.Constraints = append(d.Constraints, constraintsOf(claim)...)
		}
		causes = append(causes, Cause{Plugin: "DynamicResources", Nodes: len(rest), Sentence: d.togetherSentence(), Devices: &d})
	}
	return causes
}

// deviceClaims returns the claims of the pod that exist.
func (v *view) deviceClaims() []*resourcev1.ResourceClaim {
	var all []*resourcev1.ResourceClaim
	for i := range v.pod.Spec.ResourceClaims {
		name, _, err := resourceclaim.Name(v.pod, &v.pod.Spec.ResourceClaims[i])
		if err != nil || name == nil {
			continue
		}
		for _, claim := range v.state.ResourceClaims {
			if claim.Namespace == v.pod.Namespace && claim.Name == *name {
				all = append(all, claim)
			}
		}
	}
	return all
}

// extendedRequest is what a container asks for of an extended resource that a DeviceClass stands for.
type extendedRequest struct {
	resource  v1.ResourceName
	container string
	request   resourcev1.DeviceRequest
}

// extendedRequests are the requests of the claim that the plugin makes for a pod's extended resources: createRequestsAndMappings in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go. There init
// containers that end share a request, so that here each of them has one.
func (v *view) extendedRequests() []extendedRequest {
	var all []extendedRequest
	for _, c := range slices.Concat(v.pod.Spec.InitContainers, v.pod.Spec.Containers) {
		for _, name := range sortedNames(c.Resources.Requests) {
			if class := ClassOf(v.state, name); class != nil {
				asked := c.Resources.Requests[name]
				all = append(all, extendedRequest{name, c.Name, resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class.Name, Count: asked.Value()}}})
			}
		}
	}
	return all
}

// ClassOf returns the DeviceClass that stands for an extended resource; nil if none does.
func ClassOf(state *cluster.State, name v1.ResourceName) *resourcev1.DeviceClass {
	if len(state.DeviceClasses) == 0 || !v1helper.IsExtendedResourceName(name) {
		return nil
	}
	return admission.ExtendedResources(state).GetDeviceClass(name)
}

// allocatedElsewhere returns the cause for a claim with allocated devices that the refused nodes do not reach.
func (v *view) allocatedElsewhere(claim *resourcev1.ResourceClaim, nodes []*v1.Node) []Cause {
	selector := claim.Status.Allocation.NodeSelector
	if len(nodes) == 0 || selector == nil {
		return nil
	}
	given := list.Map(claim.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) string {
		return r.Driver + "/" + r.Pool + "/" + r.Device
	})
	d := Devices{Claim: claim.Namespace + "/" + claim.Name}
	reached := "nodes other than these reach"
	switch term := selector.NodeSelectorTerms; {
	case len(term) != 1:
	case len(term[0].MatchFields) == 1: // by name, the only field
		reached = "only " + words.Few(term[0].MatchFields[0].Values) + " reaches"
	default:
		reached = "only nodes with " + words.And(list.Map(term[0].MatchExpressions, func(r v1.NodeSelectorRequirement) string { return expressionText(&r) })) + " reach"
	}
	sentence := fmt.Sprintf("claim %s has %s, which %s", d.Claim, words.Few(given), reached)
	if d.Sharing = list.Map(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) string { return r.Name }); len(d.Sharing) > 0 {
		sentence += fmt.Sprintf("; as long as %s %s it, every pod that shares the claim must run there", words.Few(d.Sharing), words.Pick(len(d.Sharing), "uses", "use"))
	}
	return []Cause{{Plugin: "DynamicResources", Nodes: len(nodes), Devices: &d, Sentence: sentence}}
}

// nodesLacking returns the nodes that cannot serve the request, and fills in what the nearest of them has. If the plugin looked at no node, a
// class that does not exist is the reason.
func (v *view) nodesLacking(offers *devices.Offers, d *Devices, request *resourcev1.DeviceRequest, nodes []*v1.Node) (short []*v1.Node) {
	options, wants := v.optionsOf(request)
	for _, option := range options {
		if option.NoClass {
			if len(nodes) == 0 {
				d.Options = []DeviceOption{option}
			}
			return nil
		}
	}
	var nearest []int // what the nearest node lacks, and the negative numbers of its devices that match and that are of a class
	for _, node := range nodes {
		tried := slices.Clone(options)
		least, match, ofClass := 0, 0, 0
		for i := range tried {
			tried[i].setOffer(v, offers.On(context.Background(), node, wants[i]))
			if lack := tried[i].countLacking(); i == 0 || lack < least {
				least = lack
			}
			match, ofClass = max(match, tried[i].Matching), max(ofClass, tried[i].OfClass)
		}
		if least <= 0 {
			continue
		}
		for i := range tried {
			if tried[i].OfClass > 0 && tried[i].Matching == 0 {
				tried[i].Has = v.selectedValues(node, tried[i].Selectors)
			}
		}
		short = append(short, node)
		if near := []int{least, -match, -ofClass}; nearest == nil || slices.Compare(near, nearest) < 0 {
			nearest, d.Node, d.Options = near, node.Name, tried
		}
	}
	return short
}

// selectedPattern matches an attribute or a capacity in a CEL expression: device.attributes["gpu.example.com"].model.
var selectedPattern = regexp.MustCompile(`device\.(attributes|capacity)\[["']([^"']+)["']\]\.(\w+)`)

// selectedValues returns the attributes and capacities that the selectors name, as the devices of the node have them, such as model=t4, sorted.
func (v *view) selectedValues(node *v1.Node, selectors []string) []string {
	own := list.Where(v.state.ResourceSlices, func(slice *resourcev1.ResourceSlice) bool { return ptr.Deref(slice.Spec.NodeName, "") == node.Name })
	var values []string
	for _, selected := range selectedPattern.FindAllStringSubmatch(strings.Join(selectors, " "), -1) {
		for _, value := range DeviceValues(own, selected[1], selected[2], selected[3]) {
			values = append(values, selected[3]+"="+value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// DeviceValues returns the values that the devices of the slices have for an attribute or a capacity, sorted. The kind is "attributes" or "capacity", as
// in device.attributes["gpu.example.com"].model, whose domain is gpu.example.com and whose name is model.
func DeviceValues(of []*resourcev1.ResourceSlice, kind, domain, name string) []string {
	values := map[string]bool{}
	for _, slice := range of {
		names := []resourcev1.QualifiedName{resourcev1.QualifiedName(domain + "/" + name)}
		if slice.Spec.Driver == domain {
			names = append(names, resourcev1.QualifiedName(name))
		}
		for i := range slice.Spec.Devices {
			for _, qualified := range names {
				if value := valueOf(&slice.Spec.Devices[i], kind, qualified); value != "" {
					values[value] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// valueOf returns the attribute or the capacity of the device as text; "" if the device has none.
func valueOf(device *resourcev1.Device, kind string, name resourcev1.QualifiedName) string {
	if kind == "capacity" {
		if capacity, has := device.Capacity[name]; has {
			return capacity.Value.String()
		}
		return ""
	}
	switch a := device.Attributes[name]; {
	case a.StringValue != nil:
		return *a.StringValue
	case a.VersionValue != nil:
		return *a.VersionValue
	case a.IntValue != nil:
		return fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	}
	return ""
}

// countLacking returns how many devices the node lacks for the option; 0 or less if it has enough.
func (o *DeviceOption) countLacking() int {
	if o.Asked == 0 && o.Matching > 0 { // the request asks for all, and there is at least one
		return o.Matching - o.Free
	}
	return max(o.Asked, 1) - o.Free
}

// optionsOf returns the kinds of devices that the request takes, each with its options and what to look for.
func (v *view) optionsOf(request *resourcev1.DeviceRequest) (options []DeviceOption, wants []devices.Want) {
	consider := func(name, class string, mode resourcev1.DeviceAllocationMode, count int64, want devices.Want) {
		option := DeviceOption{Name: name, Class: class, Asked: int(count), NoClass: true}
		if mode == resourcev1.DeviceAllocationModeAll {
			option.Asked = 0
		}
		for _, selector := range want.Selectors {
			if selector.CEL != nil {
				option.Selectors = append(option.Selectors, selector.CEL.Expression)
			}
		}
		for _, known := range v.state.DeviceClasses {
			if known.Name == class {
				option.NoClass, want.Class = false, known.Spec.Selectors
			}
		}
		options, wants = append(options, option), append(wants, want)
	}
	if e := request.Exactly; e != nil {
		consider("", e.DeviceClassName, e.AllocationMode, e.Count, devices.Want{Selectors: e.Selectors, Tolerations: e.Tolerations, Capacity: e.Capacity,
			AdminAccess: ptr.Deref(e.AdminAccess, false)})
	}
	for _, sub := range request.FirstAvailable {
		consider(sub.Name, sub.DeviceClassName, sub.AllocationMode, sub.Count, devices.Want{Selectors: sub.Selectors, Tolerations: sub.Tolerations, Capacity: sub.Capacity})
	}
	return options, wants
}

func (o *DeviceOption) setOffer(v *view, offer devices.Offer) {
	o.Devices, o.OfClass, o.Matching, o.Free, o.Incomplete = offer.Reachable, offer.OfClass, offer.Matching, offer.Free, offer.Incomplete
	o.Tainted = len(offer.Tainted)
	o.Taints = list.Map(offer.Tainted, func(device devices.TaintedDevice) string { return device.Name + ": " + DeviceTaintText(device.Taint) })
	o.HeldBy = list.Map(offer.Holders, v.holder)
}

// DeviceTaintText returns the taint as kubectl writes a node's, such as "example.com/ecc=errors:NoSchedule".
func DeviceTaintText(taint resourcev1.DeviceTaint) string {
	return (&v1.Taint{Key: taint.Key, Value: taint.Value, Effect: v1.TaintEffect(taint.Effect)}).ToString()
}

// holder returns, for example, "default/a-gpu of pod a".
func (v *view) holder(name types.NamespacedName) string {
	for _, claim := range v.state.ResourceClaims {
		if cluster.NameOf(claim) != name {
			continue
		}
		pods := list.Map(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) string { return r.Name })
		if len(pods) > 0 {
			return fmt.Sprintf("%s of %s", name, words.Few(pods))
		}
	}
	return name.String()
}

func constraintsOf(claim *resourcev1.ResourceClaim) []string {
	var all []string
	for _, c := range claim.Spec.Devices.Constraints {
		of := "all requests"
		if len(c.Requests) > 0 {
			of = "requests " + words.And(c.Requests)
		}
		switch {
		case c.MatchAttribute != nil:
			all = append(all, fmt.Sprintf("the same %s for %s", *c.MatchAttribute, of))
		case c.DistinctAttribute != nil:
			all = append(all, fmt.Sprintf("another %s for each device of %s", *c.DistinctAttribute, of))
		}
	}
	return all
}

// brief returns, for example, "2 devices of gpu.example.com asked and at most 1 free on 3 nodes".
func (d *Devices) brief(on string) string {
	o := d.Options[0]
	switch {
	case o.NoClass:
		return fmt.Sprintf("DeviceClass %s does not exist", o.Class)
	case o.Devices == 0:
		return fmt.Sprintf("devices of %s asked and none on %s", o.Class, on)
	case o.OfClass > 0 && o.Matching == 0 && len(o.Has) > 0:
		return fmt.Sprintf("no device of %s matches the selector of its claim on %s (they have %s)", o.Class, on, words.Few(o.Has))
	case o.Asked == 0:
		return fmt.Sprintf("all devices of %s asked and %d of %d free on %s", o.Class, o.Free, o.Matching, d.Node)
	}
	return fmt.Sprintf("%s of %s asked and at most %d free on %s", words.Count(o.Asked, "device"), o.Class, o.Free, on)
}

// togetherSentence returns, for example, "each request of its claims by itself finds enough devices on g-1, but no choice serves all of
// them at once; wanted are the same numa for all requests".
func (d *Devices) togetherSentence() string {
	line := fmt.Sprintf("each request of its claims by itself finds enough devices on %s, but no choice serves all of them at once", d.Node)
	if len(d.Constraints) > 0 {
		line += "; wanted are " + words.And(d.Constraints)
	}
	return line
}

// sentence returns, for example, "claim default/a-gpu, request gpu: asks 2 devices of DeviceClass gpu.example.com with device.attributes[…]
// > 40; g-1 comes nearest: of its 4 devices 4 are of the class, 3 match and 1 is free; default/b-gpu of b has the others".
func (d *Devices) sentence() string {
	line := fmt.Sprintf("claim %s, request %s: ", d.Claim, d.Request)
	if d.Resource != "" {
		line = fmt.Sprintf("extended resource %s in container %s: ", d.Resource, d.Container)
	}
	if d.Options[0].NoClass {
		return line + fmt.Sprintf("DeviceClass %s does not exist", d.Options[0].Class)
	}
	nearest := d.Node + " comes nearest: "
	for i := range d.Options {
		if i > 0 {
			line += "; "
		}
		line += d.Options[i].describe(nearest)
		nearest = ""
	}
	return line
}

// describe returns the part of the sentence about one kind of device; nearest introduces the counts of the node.
func (o *DeviceOption) describe(nearest string) string {
	line := "asks for all devices"
	if o.Asked > 0 {
		line = "asks " + words.Count(o.Asked, "device")
	}
	if o.Name != "" {
		line = o.Name + " " + line
	}
	line += " of DeviceClass " + o.Class
	if len(o.Selectors) > 0 {
		line += " with " + strings.Join(list.Map(o.Selectors, func(s string) string { return words.Shorten(s, maxSelector) }), " and ")
	}
	switch {
	case o.Devices == 0 && len(o.Incomplete) == 0:
		return line + "; no node that could take the pod has a device"
	case o.Devices == 0:
		return fmt.Sprintf("%s; %sits devices are all of %s, of which a ResourceSlice is missing", line, nearest, words.Few(o.Incomplete))
	}
	counts := []string{fmt.Sprintf("%s of the class", countWithVerb(o.OfClass))}
	if len(o.Selectors) > 0 {
		match := fmt.Sprintf("%d %s", o.Matching, words.Pick(o.Matching, "matches", "match"))
		if len(o.Has) > 0 {
			match += fmt.Sprintf(" (they have %s)", words.Few(o.Has))
		}
		counts = append(counts, match)
	}
	if o.Tainted > 0 {
		counts = append(counts, fmt.Sprintf("%d %s a taint that the request does not tolerate (%s)", o.Tainted, words.Pick(o.Tainted, "has", "have"), words.Few(o.Taints)))
	}
	counts = append(counts, countWithVerb(o.Free)+" free")
	line += fmt.Sprintf("; %sof its %s %s", nearest, words.Count(o.Devices, "device"), words.And(counts))
	if len(o.HeldBy) > 0 {
		line += "; held by claim " + words.Few(o.HeldBy)
	}
	return line
}

// countWithVerb returns, for example, "1 is" or "2 are".
func countWithVerb(n int) string { return fmt.Sprintf("%d %s", n, words.Pick(n, "is", "are")) }
