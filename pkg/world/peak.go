package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// peak scales the workloads with a HorizontalPodAutoscaler, and those that the step names, towards their replicas at the peak. The CronJobs of the
// step run at the same moment.
func (c *Cluster) peak(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	path := field.NewPath("peak", "replicas")
	targets, _, problem := FindPeak(state, step.Peak)
	var scaled []cluster.Object
	before, after := 0, 0
	for i := range targets {
		t := &targets[i]
		if t.Wanted != t.Most {
			to.Held = append(to.Held, Held{t.Ref, t.Most, t.Wanted})
			to.Notes = append(to.Notes, fmt.Sprintf("%s gets at most %s at the peak in place of %d, as its HorizontalPodAutoscaler allows.", t.Qualified(), words.Count(int(t.Most), "replica"), t.Wanted))
		}
		before, after = before+int(t.Now), after+int(t.Replicas)
		if t.Replicas != t.Now {
			obj := t.object.DeepCopyObject().(cluster.Object)
			*cluster.ReplicasOf(obj) = &t.Replicas
			scaled = append(scaled, obj)
		}
	}
	next, err := c.admitWith(admission.Scale, state, path, to, scaled...)
	did := fmt.Sprintf("scale %s to %s of the way to the peak, from %d to %s", words.Count(len(targets), "workload"), percent(step.Peak.Way()), before, words.Count(after, "replica"))
	if len(step.Peak.CronJobs) > 0 {
		due, _, missing := FindCronJobs(next, step.Peak)
		for _, cronJob := range due {
			after, _, failed := controller.RunCronJob(next, cronJob)
			if failed != nil {
				missing = errors.Join(missing, &Problem{field.NewPath("peak", "cronJobs"), failed})
				continue
			}
			next = after
		}
		did, err = did+fmt.Sprintf(", and run %s", words.Count(len(due), "CronJob")), errors.Join(err, missing)
	}
	return next, did, errors.Join(problem, err)
}

// FindCronJobs returns the CronJobs that the step runs, in order of arrival, and the beginning of the busiest hour, in UTC, if the step asks for that;
// the zero time if it does not, or if no CronJob is ever due. The error joins a [Problem] for each CronJob of the step that does not exist.
func FindCronJobs(state *cluster.State, action *scenario.Peak) (runs []*batchv1.CronJob, busiest time.Time, err error) {
	var problems []error
	named := map[*batchv1.CronJob]bool{}
	for i, name := range action.CronJobs {
		switch name {
		case scenario.AllCronJobs:
			for _, cronJob := range state.CronJobs {
				named[cronJob] = true
			}
		case scenario.BusiestCronJobs:
			hour := controller.FindBusiestHour(state)
			for _, cronJob := range hour.CronJobs {
				named[cronJob], busiest = true, hour.Begin
			}
		default:
			path := field.NewPath("peak", "cronJobs").Index(i)
			ref, err := scenario.ParseWorkload(name)
			if err != nil {
				problems = append(problems, &Problem{path, err})
				continue
			}
			obj, err := findTarget(state, path, scenario.Target{Target: ref.String(), Namespace: cmp.Or(ref.Namespace, v1.NamespaceDefault)}, "CronJob")
			if cronJob, is := obj.(*batchv1.CronJob); is && err == nil {
				named[cronJob] = true
			}
			problems = append(problems, err)
		}
	}
	return list.Where(state.CronJobs, func(cronJob *batchv1.CronJob) bool { return named[cronJob] }), busiest, errors.Join(problems...)
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'g', 6, 64) + " %" }

// PeakTarget is a workload that a step peak scales.
type PeakTarget struct {
	cluster.Ref
	// Autoscaler is the HorizontalPodAutoscaler of the workload; nil if only the step names the workload.
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Now is the present number of replicas, Most the number at the peak, and Replicas the number at the share of the way that the step
	// asks for. Wanted is the number at the peak that the step asks for; its autoscaler may allow another.
	Now, Most, Replicas, Wanted int32

	object cluster.Object
}

// IdleAutoscaler is a HorizontalPodAutoscaler that scales nothing at the peak, with the reason.
type IdleAutoscaler struct {
	cluster.Ref
	Why string
}

// FindPeak returns the workloads that the step scales, in the order of their autoscalers, then those that only the step names. It also returns the autoscalers
// that scale nothing. The error joins a [Problem] for each workload of the step that does not exist.
func FindPeak(state *cluster.State, action *scenario.Peak) (targets []PeakTarget, idle []IdleAutoscaler, err error) {
	var problems []error
	wanted := map[cluster.Ref]int32{}
	named := map[cluster.Ref]cluster.Object{}
	for _, workload := range slices.Sorted(maps.Keys(action.Replicas)) {
		path := field.NewPath("peak", "replicas").Key(workload)
		ref, err := scenario.ParseWorkload(workload)
		if err != nil {
			problems = append(problems, &Problem{path, err})
			continue
		}
		obj, err := findTarget(state, path, scenario.Target{Target: ref.String(), Namespace: cmp.Or(ref.Namespace, v1.NamespaceDefault)}, scenario.ScalableKinds...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		wanted[cluster.RefTo(obj)], named[cluster.RefTo(obj)] = action.Replicas[workload], obj
	}
	known := map[cluster.Ref]bool{}
	for _, hpa := range state.HorizontalPodAutoscalers {
		of := cluster.ScaleTarget(hpa)
		obj := findScaled(state, of)
		if obj == nil {
			idle = append(idle, IdleAutoscaler{cluster.RefTo(hpa), fmt.Sprintf("the input has no %s", of.Qualified())})
			continue
		}
		t := PeakTarget{Ref: cluster.RefTo(obj), Autoscaler: hpa, Most: hpa.Spec.MaxReplicas, Wanted: hpa.Spec.MaxReplicas, object: obj}
		t.Now, _ = cluster.Replicas(obj)
		if known[t.Ref] {
			idle = append(idle, IdleAutoscaler{cluster.RefTo(hpa), fmt.Sprintf("%s has another autoscaler, too", t.Qualified())})
			continue
		}
		known[t.Ref] = true
		replicas, given := wanted[t.Ref]
		if t.Now == 0 && !given && !scalesFromZero(hpa) {
			idle = append(idle, IdleAutoscaler{cluster.RefTo(hpa), fmt.Sprintf("%s has 0 replicas, which switches it off", t.Qualified())})
			continue
		}
		if given {
			t.Wanted = replicas
			t.Most = min(max(replicas, ptr.Deref(hpa.Spec.MinReplicas, 1)), hpa.Spec.MaxReplicas)
		}
		targets = append(targets, t)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(wanted), cluster.Ref.Compare) {
		if !known[ref] {
			t := PeakTarget{Ref: ref, Most: wanted[ref], Wanted: wanted[ref], object: named[ref]}
			t.Now, _ = cluster.Replicas(named[ref])
			targets = append(targets, t)
		}
	}
	for i := range targets {
		targets[i].Replicas = goTowards(targets[i].Now, targets[i].Most, action.Way())
	}
	return targets, idle, errors.Join(problems...)
}

// findScaled returns the workload that an autoscaler scales. A custom resource that is not in the state stands for the workload that it
// made: the ReplicaSet that names it as its controller, or the workload with its name.
func findScaled(state *cluster.State, target cluster.Ref) cluster.Object {
	var made, same []cluster.Object
	for obj := range state.Scaled() {
		if cluster.RefTo(obj) == target {
			return obj
		}
		if slices.Contains(scenario.ScalableKinds, target.Kind) || obj.GetNamespace() != target.Namespace {
			continue
		}
		if by := metav1.GetControllerOfNoCopy(obj); by != nil && by.Kind == target.Kind && by.Name == target.Name {
			made = append(made, obj)
		}
		if obj.GetName() == target.Name {
			same = append(same, obj)
		}
	}
	for _, found := range [][]cluster.Object{slices.DeleteFunc(made, hasNoReplicas), same} {
		if len(found) == 1 {
			return found[0]
		}
	}
	return nil
}

func hasNoReplicas(obj cluster.Object) bool {
	replicas, _ := cluster.Replicas(obj)
	return replicas == 0
}

// KEDALabel is the label of KEDA's HorizontalPodAutoscalers that has the name of the ScaledObject.
const KEDALabel = "scaledobject.keda.sh/name"

// scalesFromZero reports whether the autoscaler scales a workload that has 0 replicas. Kubernetes' own does so with minReplicas 0; KEDA
// itself scales such a workload to 1, and leaves the rest to its HorizontalPodAutoscaler.
func scalesFromZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return ptr.Deref(hpa.Spec.MinReplicas, 1) == 0 || hpa.Labels[KEDALabel] != ""
}

// goTowards returns the number at that share of the way from one number to another, rounded up. It computes with the decimals as written:
// as floating-point numbers 30 × 0.1 is above 3.
func goTowards(from, to int32, share float64) int32 {
	by, _ := new(big.Rat).SetString(strconv.FormatFloat(share, 'g', -1, 64))
	way := by.Mul(by, new(big.Rat).SetInt64(int64(to)-int64(from)))
	// Euclid's division rounds down, as the denominator is positive.
	down := new(big.Int).Div(new(big.Int).Neg(way.Num()), way.Denom())
	return from - int32(down.Int64())
}
