package cause

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/features"

	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// Shortage is a resource of which no refused node has as much free as the pod asks for. Amounts are quantities as in a manifest.
type Shortage struct {
	// Resource is the name of the resource, such as cpu. The resource pods is the number of pods that a node takes.
	Resource v1.ResourceName `json:"resource"`
	// Asked is the pod's effective request, and Parts are its parts if it comes from more than one container.
	Asked string `json:"asked"`
	Parts []Part `json:"parts,omitempty"`
	// Node is the refused node that has the most free: Free of Allocatable, since its Pods pods request Requested.
	Node        string `json:"node"`
	Free        string `json:"free"`
	Allocatable string `json:"allocatable"`
	// Capacity is what the node has in all, if that would do; missing if it would not.
	Capacity  string `json:"capacity,omitempty"`
	Requested string `json:"requested"`
	Pods      int    `json:"pods"`
	// HeldBy are these pods, as namespace/name, if the resource is an extended one or huge pages, which few pods request.
	HeldBy []string `json:"heldBy,omitempty"`
	// Without is the number of refused nodes that have nothing of the resource, if others have some.
	Without int `json:"without,omitempty"`
	// Similar are extended resources of a similar name that nodes have, if none that could take the pod has this one; without such, those of the
	// same vendor, or huge pages of another size.
	Similar []string `json:"similar,omitempty"`
	// Unusable is the number of refused nodes that another plugin would refuse even if they had room. Node is none of them, unless all are.
	Unusable int `json:"unusable,omitempty"`
	// Resizes are the resizes of the node's pods that make the scheduler count something else than their requests, or than their allocated
	// resources.
	Resizes []Resize `json:"resizes,omitempty"`

	asked, free, allocatable, capacity resource.Quantity
	plugin                             *DevicePlugin
}

// Part is a part of an effective request.
type Part struct {
	// Of says what asks for the part: "container web", "sidecar proxy", "init container migrate", "overhead", "pod-level requests".
	Of    string `json:"of"`
	Asked string `json:"asked"`
	// LimitRange is the LimitRange whose default the part is; missing if the template gives the request.
	LimitRange string `json:"limitRange,omitempty"`
	// ByLimit means that the template gives a limit alone, which then is the request, too.
	ByLimit bool `json:"byLimit,omitempty"`

	asked resource.Quantity
}

// Resize is a change of a running pod's request that its kubelet has not made yet. The scheduler counts the larger of the pod's request and
// its allocated resources; for an Infeasible resize, only the latter.
type Resize struct {
	// Pod is namespace/name.
	Pod string `json:"pod"`
	// Wanted is the pod's request, Allocated what its kubelet has allocated, and Counted what the scheduler counts.
	Wanted    string `json:"wanted"`
	Allocated string `json:"allocated"`
	Counted   string `json:"counted"`
	// State is Deferred (the node has no room), Infeasible, or InProgress, and Message the kubelet's words.
	State   string `json:"state" jsonschema:"enum=Deferred,enum=Infeasible,enum=InProgress"`
	Message string `json:"message,omitempty"`
}

// listResizes returns the resizes of pods that change what the scheduler counts of the resource.
func listResizes(pods []*v1.Pod, name v1.ResourceName) []Resize {
	var all []Resize
	for _, pod := range pods {
		wanted, counted := podRequests(pod, false)[name], podRequests(pod, true)[name]
		allocated := podRequests(admission.AllocatedPod(pod), false)[name]
		if wanted.Cmp(counted) == 0 && wanted.Cmp(allocated) == 0 {
			continue
		}
		r := Resize{Pod: pod.Namespace + "/" + pod.Name, Wanted: quantityText(wanted), Allocated: quantityText(allocated), Counted: quantityText(counted), State: "InProgress"}
		if _, pending := podutil.GetPodCondition(&pod.Status, v1.PodResizePending); pending != nil {
			r.State, r.Message = pending.Reason, pending.Message
		}
		all = append(all, r)
	}
	return all
}

// describe returns, for example, "default/big counts with 8, the larger of the 8 that it wants and the 4 that it has, as its resize is Deferred
// (Node didn't have enough resource: …)".
func (r Resize) describe() string {
	counts := fmt.Sprintf("the larger of the %s that it wants and the %s that it has", r.Wanted, r.Allocated)
	if r.State == v1.PodReasonInfeasible {
		counts = fmt.Sprintf("what it has, not the %s that it wants", r.Wanted)
	}
	state := map[string]string{"InProgress": "in progress"}[r.State]
	if state == "" {
		state = r.State
	}
	line := fmt.Sprintf("%s counts with %s, %s, as its resize is %s", r.Pod, r.Counted, counts, state)
	if r.Message != "" {
		line += " (" + r.Message + ")"
	}
	return line
}

// shortages returns a cause for each resource that is short on a node which NodeResourcesFit refuses.
func shortages(v *view, r refused) []Cause {
	asked := podRequests(v.pod, false)
	names := append(sortedNames(asked), v1.ResourcePods)
	asked[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	var causes []Cause
	for _, name := range names {
		short := Shortage{Resource: name, asked: asked[name]}
		n := 0
		for _, node := range r.nodes {
			free := node.Status.Allocatable[name].DeepCopy()
			used := v.requestedOn(node.Name)[name]
			free.Sub(used)
			if free.Cmp(short.asked) >= 0 {
				continue
			}
			if v.behind[node.Name] {
				short.Unusable++
			}
			n++
			all := node.Status.Allocatable[name]
			if all.IsZero() {
				short.Without++
			}
			if short.Node == "" || v.isNearer(node, free, &short) {
				short.Node, short.free, short.Pods = node.Name, free, len(v.podsOn[node.Name])
				short.allocatable, short.capacity, short.Requested = all, node.Status.Capacity[name], quantityText(used)
			}
		}
		if n == 0 {
			continue
		}
		if short.Unusable == n {
			short.Unusable = 0
		}
		if short.Without == n {
			short.Without = 0
		}
		if isScarce(name) {
			short.HeldBy = v.holdersOf(name, short.Node)
		}
		if short.allocatable.IsZero() {
			similar := SimilarResources(name, v.state.Nodes)
			if len(similar) == 0 {
				similar = RelatedResources(name, v.state.Nodes)
			}
			short.Similar = list.Map(similar, func(name v1.ResourceName) string { return string(name) })
			if v1helper.IsExtendedResourceName(name) {
				short.plugin = FindDevicePlugin(v.state, name)
			}
		}
		if short.allocatable.Cmp(short.asked) < 0 && short.capacity.Cmp(short.asked) >= 0 {
			short.Capacity = quantityText(short.capacity)
		}
		short.Resizes = listResizes(v.podsOn[short.Node], name)
		short.Asked, short.Free, short.Allocatable, short.Parts = quantityText(short.asked), quantityText(short.free), quantityText(short.allocatable), v.requestParts(name)
		causes = append(causes, Cause{Plugin: "NodeResourcesFit", Nodes: n, Sentence: short.sentence(), Resource: &short})
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Nodes, a.Nodes) })
	return causes
}

// isNearer reports whether a full node is nearer to taking the pod than the nearest so far: room alone would help it, it has more free, or it has more in
// all, as a node whose GPUs are in use is nearer than one without.
func (v *view) isNearer(node *v1.Node, free resource.Quantity, than *Shortage) bool {
	if v.behind[node.Name] != v.behind[than.Node] {
		return v.behind[than.Node]
	}
	all := node.Status.Allocatable[than.Resource]
	return cmp.Or(free.Cmp(than.free), all.Cmp(than.allocatable)) > 0
}

// isScarce reports whether few pods request the resource, so that their names say something.
func isScarce(name v1.ResourceName) bool {
	return v1helper.IsExtendedResourceName(name) || v1helper.IsHugePageResourceName(name)
}

// holdersOf returns the pods on the node that request the resource.
func (v *view) holdersOf(name v1.ResourceName, node string) []string {
	var holders []string
	for _, pod := range v.podsOn[node] {
		if held := podRequests(pod, true)[name]; !held.IsZero() {
			holders = append(holders, pod.Namespace+"/"+pod.Name)
		}
	}
	return holders
}

// sentence returns, for example, "asks 3 cpu (pod-level requests 3, its containers 1); the most that is free is 1900m on w-2 (8
// allocatable, 6100m requested by 14 pods)".
func (s *Shortage) sentence() string {
	if s.Resource == v1.ResourcePods {
		return fmt.Sprintf("%s takes %s, and has %d", s.Node, words.Count(int(s.allocatable.Value()), "pod"), s.Pods)
	}
	asks := fmt.Sprintf("asks %s %s", s.Asked, s.Resource)
	if len(s.Parts) > 0 {
		asks += " (" + strings.Join(list.Map(s.Parts, Part.text), ", ") + ")"
	}
	switch {
	case s.allocatable.IsZero():
		asks += "; no node that could take it has any"
		if others := list.Without(s.Similar, func(name string) bool { return name == string(s.Resource) }); len(others) > 0 {
			asks += ", but there is " + words.Few(others)
		}
		if s.plugin != nil {
			asks += "; " + s.plugin.sentence()
		}
		return asks
	case s.Capacity != "":
		asks += fmt.Sprintf(", and of the %s of %s only %s are for pods", s.Capacity, s.Node, s.Allocatable)
	case s.allocatable.Cmp(s.asked) < 0:
		asks += fmt.Sprintf(", more than %s has in all", s.Node)
	}
	by := words.Count(s.Pods, "pod")
	if len(s.HeldBy) > 0 {
		by = words.Few(s.HeldBy)
	}
	line := fmt.Sprintf("%s; the most that is free%s is %s on %s (%s allocatable, %s requested by %s)",
		asks, words.Pick(min(s.Unusable, 1), " where nothing else refuses it", ""), s.Free, s.Node, s.Allocatable, s.Requested, by)
	if s.Without > 0 {
		line += fmt.Sprintf("; %s no %s", words.Count(s.Without, "node")+words.Pick(s.Without, " has", " have"), s.Resource)
	}
	if len(s.Resizes) > 0 {
		line += "; " + words.Few(list.Map(s.Resizes, Resize.describe))
	}
	return line
}

// SimilarResources returns the extended resources of the nodes that may be meant by one that no node has, sorted: the names are similar as those
// of [SimilarKeys] are, one is the other's plural, such as nvidia.com/gpu for nvidia.com/gpus, or one goes on where the other ends, such as
// nvidia.com/gpu.shared for nvidia.com/gpu.
func SimilarResources(name v1.ResourceName, nodes []*v1.Node) []v1.ResourceName {
	return offeredResources(nodes, func(other v1.ResourceName) bool {
		alike := isSimilar(strings.TrimSuffix(string(other), "s"), strings.TrimSuffix(string(name), "s")) || goesOn(string(other), string(name)) || goesOn(string(name), string(other))
		return alike && v1helper.IsExtendedResourceName(other)
	})
}

// RelatedResources returns the resources of the nodes that a pod may ask for in place of one that no node has, sorted: extended resources of the same
// vendor, such as nvidia.com/mig-1g.5gb for nvidia.com/gpu, and huge pages of another size.
func RelatedResources(name v1.ResourceName, nodes []*v1.Node) []v1.ResourceName {
	return offeredResources(nodes, func(other v1.ResourceName) bool {
		if v1helper.IsHugePageResourceName(name) {
			return v1helper.IsHugePageResourceName(other)
		}
		return v1helper.IsExtendedResourceName(other) && isOfVendor(other, name)
	})
}

// goesOn reports whether the longer name is the shorter one, a dot, a dash or an underscore, and more.
func goesOn(longer, shorter string) bool {
	more, begins := strings.CutPrefix(longer, shorter)
	return begins && more != "" && strings.ContainsRune("-_.", rune(more[0]))
}

// isOfVendor reports whether two resources have the same prefix, such as nvidia.com for nvidia.com/mig-1g.5gb.
func isOfVendor(a, b v1.ResourceName) bool {
	vendor, _, _ := strings.Cut(string(b), "/")
	return strings.HasPrefix(string(a), vendor+"/")
}

// offeredResources returns the resources that nodes have and that the function wants, sorted.
func offeredResources(nodes []*v1.Node, wanted func(v1.ResourceName) bool) []v1.ResourceName {
	found := map[v1.ResourceName]bool{}
	for _, node := range nodes {
		for name, amount := range node.Status.Allocatable {
			if !amount.IsZero() && wanted(name) {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func quantityText(q resource.Quantity) string { return q.String() }

// podRequests returns what the scheduler counts for a pod. For a running pod, what its status says about a resize counts, too. See
// CalculateResource in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/types.go.
func podRequests(pod *v1.Pod, runs bool) v1.ResourceList {
	gate := utilfeature.DefaultFeatureGate.Enabled
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: runs && gate(features.InPlacePodVerticalScaling),
		InPlacePodLevelResourcesVerticalScalingEnabled: runs && gate(features.InPlacePodLevelResourcesVerticalScaling),
		SkipPodLevelResources:                          !gate(features.PodLevelResources),
		UseDRANodeAllocatableResourceClaimStatus:       gate(features.DRANodeAllocatableResources),
	})
}

func sortedNames(list v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for name, quantity := range list {
		if !quantity.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
