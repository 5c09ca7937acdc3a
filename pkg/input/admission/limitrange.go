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

// limitRangesOf returns the LimitRanges of a namespace, which the plugin LimitRanger holds new pods and claims to.
func limitRangesOf(s *cluster.State, namespace string) []*v1.LimitRange {
	var ranges []*v1.LimitRange
	for _, limits := range s.LimitRanges {
		if limits.Namespace == namespace {
			ranges = append(ranges, limits)
		}
	}
	return ranges
}

// withinLimits returns upstream's error for the first of the ranges that refuses. Upstream lists the bounds that are broken in random order;
// here they are sorted.
func withinLimits(a apiadmission.Attributes, ranges []*v1.LimitRange, validate func(*v1.LimitRange) error) error {
	for _, limits := range ranges {
		err := validate(limits)
		var broken utilerrors.Aggregate
		if errors.As(err, &broken) {
			all := slices.SortedFunc(slices.Values(broken.Errors()), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
			err = utilerrors.NewAggregate(all)
		}
		if err != nil {
			return apiadmission.NewForbidden(a, err)
		}
	}
	return nil
}

// limitResize holds a pod that requests something else than before to the LimitRanges of its namespace.
func limitResize(s *cluster.State, pod, was *v1.Pod) error {
	ranges := limitRangesOf(s, pod.Namespace)
	if len(ranges) == 0 {
		return nil
	}
	var internal core.Pod
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), &internal, nil); err != nil {
		return err
	}
	return withinLimits(changeOf(pod, was), ranges, func(limits *v1.LimitRange) error { return limitranger.PodValidateLimitFunc(limits, &internal) })
}

// limitClaim holds a new or changed claim to the LimitRanges of its namespace.
func limitClaim(s *cluster.State, claim *v1.PersistentVolumeClaim) error {
	ranges := limitRangesOf(s, claim.Namespace)
	if len(ranges) == 0 {
		return nil
	}
	var internal core.PersistentVolumeClaim
	if err := corev1.Convert_v1_PersistentVolumeClaim_To_core_PersistentVolumeClaim(claim.DeepCopy(), &internal, nil); err != nil {
		return err
	}
	return withinLimits(creationOf(claim, &internal), ranges, func(limits *v1.LimitRange) error {
		return limitranger.PersistentVolumeClaimValidateLimitFunc(limits, &internal)
	})
}
