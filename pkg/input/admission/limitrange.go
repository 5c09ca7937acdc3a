package admission

import (
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"

	"github.com/faultline/faultline/pkg/cluster"
)

// limitRangesOf returns the LimitRanges of a namespace. The plugin LimitRanger checks new pods and claims against them.
func limitRangesOf(s *cluster.State, namespace string) []*v1.LimitRange {
	var ranges []*v1.LimitRange
	for _, limits := range s.LimitRanges {
		if limits.Namespace == namespace {
			ranges = append(ranges, limits)
		}
	}
	return ranges
}

// checkLimits returns upstream's error for the first range that refuses the request. validate is upstream's check of the whole object. For
// a type of limits, parts returns the single checks of which upstream's error consists, in order.
func checkLimits(a apiadmission.Attributes, ranges []*v1.LimitRange, validate limitFunc, parts func(of v1.LimitType) []limitFunc) error {
	for _, limits := range ranges {
		if validate(limits) == nil {
			continue
		}
		var broken []error
		for i := range limits.Spec.Limits {
			for _, part := range parts(limits.Spec.Limits[i].Type) {
				broken = append(broken, findBrokenBounds(&limits.Spec.Limits[i], part)...)
			}
		}
		return apiadmission.NewForbidden(a, utilerrors.NewAggregate(broken))
	}
	return nil
}

// limitFunc checks an object against a LimitRange.
type limitFunc func(*v1.LimitRange) error

// findBrokenBounds returns the errors of a check in upstream's order: resources below the minimum, above the maximum, and with too large a
// ratio. Upstream lists the resources of each group in random order; here they are sorted.
func findBrokenBounds(limit *v1.LimitRangeItem, validate limitFunc) (all []error) {
	for _, bounds := range []v1.LimitRangeItem{{Min: limit.Min}, {Max: limit.Max}, {MaxLimitRequestRatio: limit.MaxLimitRequestRatio}} {
		bounds.Type = limit.Type
		var broken utilerrors.Aggregate
		if errors.As(validate(&v1.LimitRange{Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{bounds}}}), &broken) {
			all = append(all, slices.SortedFunc(slices.Values(broken.Errors()), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })...)
		}
	}
	return all
}

// checkPodLimits checks a pod against the ranges. Upstream checks the containers one by one, and the init containers last.
func checkPodLimits(a apiadmission.Attributes, ranges []*v1.LimitRange, pod *core.Pod) error {
	of := func(pod *core.Pod) limitFunc {
		return func(limits *v1.LimitRange) error { return limitranger.PodValidateLimitFunc(limits, pod) }
	}
	return checkLimits(a, ranges, of(pod), func(limited v1.LimitType) []limitFunc {
		if limited != v1.LimitTypeContainer {
			return []limitFunc{of(pod)}
		}
		var each []limitFunc
		for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			each = append(each, of(&core.Pod{Spec: core.PodSpec{Containers: []core.Container{container}}}))
		}
		return each
	})
}

// checkResizeLimits checks a pod whose resources change against the LimitRanges of its namespace.
func checkResizeLimits(s *cluster.State, pod, was *v1.Pod) error {
	ranges := limitRangesOf(s, pod.Namespace)
	if len(ranges) == 0 {
		return nil
	}
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), &internal, nil); err != nil {
		return err
	}
	return checkPodLimits(newUpdateRequest(pod, was), ranges, &internal)
}

// checkClaimLimits checks a new or changed claim against the LimitRanges of its namespace.
func checkClaimLimits(s *cluster.State, claim *v1.PersistentVolumeClaim) error {
	ranges := limitRangesOf(s, claim.Namespace)
	if len(ranges) == 0 {
		return nil
	}
	var internal core.PersistentVolumeClaim
	if err := corev1.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim(claim.DeepCopy(), &internal, nil); err != nil {
		return err
	}
	validate := func(limits *v1.LimitRange) error {
		return limitranger.PersistentVolumeClaimValidateLimitFunc(limits, &internal)
	}
	return checkLimits(newCreateRequest(claim, &internal), ranges, validate, func(v1.LimitType) []limitFunc { return []limitFunc{validate} })
}
