package sched

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	listersv1 "k8s.io/client-go/listers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/imagelocality"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// This file has rules of earlier releases that no feature gate switches. docs/model.md lists the rules that it does not restore.

// restorePlugins replaces the registry's plugins by those of the release.
func (r Release) restorePlugins(registry Registry) {
	if r.before("1.36") {
		wrapPlugin(registry, names.NodeResourcesBalancedAllocation, func(plugin fwk.Plugin, _ fwk.Handle) fwk.Plugin {
			unexported(plugin, "scorer").Set(reflect.ValueOf(earlierBalance))
			return plugin
		})
	}
	if r.before("1.37") {
		wrapPlugin(registry, names.ImageLocality, func(plugin fwk.Plugin, handle fwk.Handle) fwk.Plugin {
			return &earlierImages{plugin.(*imagelocality.ImageLocality), handle, !r.before("1.36")}
		})
		wrapPlugin(registry, names.DynamicResources, func(plugin fwk.Plugin, _ fwk.Handle) fwk.Plugin {
			return &earlierClaims{boundedClaims: plugin.(*boundedClaims), scores: !r.before("1.35")}
		})
		wrapPlugin(registry, names.InterPodAffinity, func(plugin fwk.Plugin, _ fwk.Handle) fwk.Plugin {
			lister := unexported(plugin, "nsLister")
			lister.Set(reflect.ValueOf(earlierNamespaces{lister.Interface().(listersv1.NamespaceLister)}))
			return plugin
		})
	}
}

// wrapPlugin makes the registry pass each plugin of that name through the function.
func wrapPlugin(registry Registry, name string, by func(fwk.Plugin, fwk.Handle) fwk.Plugin) {
	factory := registry[name]
	registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := factory(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		return by(plugin, handle), nil
	}
}

// earlierBalance is NodeResourcesBalancedAllocation's score before 1.36: how evenly the node's resources are used with the pod on it. Since
// 1.36 the score is by how much the pod improves the balance. See https://github.com/kubernetes/kubernetes/pull/135573 and
// balancedResourceScorer in
// https://github.com/kubernetes/kubernetes/blob/v1.35.4/pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go.
func earlierBalance(requested, _, allocatable []int64) int64 {
	var used []float64
	var sum, deviation float64
	for i := range requested {
		if allocatable[i] != 0 {
			used = append(used, min(1, float64(requested[i])/float64(allocatable[i])))
			sum += used[len(used)-1]
		}
	}
	switch mean := sum / float64(len(used)); {
	case len(used) == 2: // upstream treats this case separately, and the last bit of a float64 can decide
		deviation = math.Abs((used[0] - used[1]) / 2)
	case len(used) > 2:
		var squares float64
		for _, fraction := range used {
			squares += (fraction - mean) * (fraction - mean)
		}
		deviation = math.Sqrt(squares / float64(len(used)))
	}
	return int64((1 - deviation) * float64(fwk.MaxScore))
}

// earlierImages is ImageLocality before 1.37. Before 1.36 it ignores image volumes, see
// https://github.com/kubernetes/kubernetes/pull/130231. 1.36 adds their sizes, but not their number, see
// https://github.com/kubernetes/kubernetes/pull/138951.
type earlierImages struct {
	*imagelocality.ImageLocality
	handle fwk.Handle
	sizes  bool // whether it adds the sizes of image volumes
}

func (p *earlierImages) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if !slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return v.Image != nil }) {
		return p.ImageLocality.Score(ctx, state, pod, node)
	}
	if !p.sizes {
		without := *pod
		without.Spec.Volumes = nil
		return p.ImageLocality.Score(ctx, state, &without, node)
	}
	nodes, err := p.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	var images []string
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		images = append(images, container.Image)
	}
	const mebibyte = 1 << 20
	least, most := int64(23*mebibyte), int64(1000*mebibyte*len(images))
	for _, volume := range pod.Spec.Volumes {
		if volume.Image != nil {
			images = append(images, volume.Image.Reference)
		}
	}
	var sum int64
	for _, image := range images {
		if strings.LastIndex(image, ":") <= strings.LastIndex(image, "/") {
			image += ":latest"
		}
		if found, ok := node.GetImageStates()[image]; ok {
			sum += int64(float64(found.Size) * (float64(found.NumNodes) / float64(len(nodes))))
		}
	}
	return fwk.MaxScore * (min(max(sum, least), most) - least) / (most - least), nil
}

// earlierNamespaces lists the namespaces that a rule between pods selects, for the pod that has the rule. Before 1.37, a selector that matches
// a namespace without labels, such as one with NotIn or DoesNotExist, selects all of them. See
// https://github.com/kubernetes/kubernetes/pull/138198.
type earlierNamespaces struct{ listersv1.NamespaceLister }

func (n earlierNamespaces) List(selector labels.Selector) ([]*v1.Namespace, error) {
	if selector.Matches(labels.Set{}) {
		selector = labels.Everything()
	}
	return n.NamespaceLister.List(selector)
}

// earlierClaims is DynamicResources before 1.37: if it can do nothing for a pod that fits no node, it says so in the pod's message. See
// https://github.com/kubernetes/kubernetes/pull/140222. Before 1.35 it has no score, see
// https://github.com/kubernetes/kubernetes/pull/134711.
type earlierClaims struct {
	*boundedClaims
	scores    bool
	allocates bool // whether the current pod has claims
}

func (p *earlierClaims) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if !p.scores {
		return 0, nil
	}
	return p.DynamicResources.Score(ctx, state, pod, node)
}

func (p *earlierClaims) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	result, status := p.DynamicResources.PreFilter(ctx, state, pod, nodes)
	p.allocates = status.IsSuccess()
	return result, status
}

func (p *earlierClaims) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	result, status := p.DynamicResources.PostFilter(ctx, state, pod, nodes)
	if status.Code() != fwk.Unschedulable || status.Message() != "" {
		return result, status
	}
	reason := "no new claims to deallocate"
	if p.allocates {
		reason = "still not schedulable"
	}
	return result, fwk.NewStatus(fwk.Unschedulable, reason)
}

// orderPlugins orders plugins as before 1.37, where NodeUnschedulable stands before NodeName. See getDefaultPlugins in
// https://github.com/kubernetes/kubernetes/blob/v1.36.2/pkg/scheduler/apis/config/v1/default_plugins.go.
func (r Release) orderPlugins(api *schedulerapi.KubeSchedulerConfiguration) {
	if !r.before("1.37") {
		return
	}
	for _, profile := range api.Profiles {
		all := profile.Plugins.MultiPoint.Enabled
		at := slices.IndexFunc(all, func(p schedulerapi.Plugin) bool { return p.Name == names.NodeName })
		if at >= 0 && at+1 < len(all) && all[at+1].Name == names.NodeUnschedulable {
			all[at], all[at+1] = all[at+1], all[at]
		}
	}
}

// postFilterMessage returns the message of the PostFilter plugins about a pod for which they preempt that many others. Since 1.37 it also says
// that preemption finds a node. See https://github.com/kubernetes/kubernetes/pull/140180.
func (r Release) postFilterMessage(status *fwk.Status, preempted int) string {
	switch {
	case r.before("1.37") && status.IsSuccess():
		return ""
	case r.isPreview() && preempted == 0:
		return withoutNobody(status.Message())
	}
	return status.Message()
}
