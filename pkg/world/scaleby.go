package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// scaleBy multiplies the replicas of workloads.
func (c *Cluster) scaleBy(_ context.Context, state *cluster.State, step *scenario.LoadedStep, to *Record) (*cluster.State, string, error) {
	action, path := step.ScaleBy, field.NewPath("scaleBy")
	selected, problem := selectWorkloads(state, path, action)
	var scaled []cluster.Object
	before, after := 0, 0
	for _, obj := range selected {
		now, _ := cluster.Replicas(obj)
		wanted := multiplyReplicas(now, action.Factor)
		obj = obj.DeepCopyObject().(cluster.Object)
		*cluster.ReplicasOf(obj) = &wanted
		// An autoscaler whose load grows by the factor asks for as many, and stays within its bounds.
		if bounded := controller.AutoscaledReplicas(state, obj); bounded != wanted {
			to.Held = append(to.Held, Held{cluster.RefTo(obj), bounded, wanted})
			limit := "fewest"
			if bounded < wanted {
				limit = "most"
			}
			to.Notes = append(to.Notes, fmt.Sprintf("%s gets %s in place of %d, the %s that its HorizontalPodAutoscaler allows.",
				cluster.RefTo(obj).Qualified(), words.Count(int(bounded), "replica"), wanted, limit))
			*cluster.ReplicasOf(obj) = &bounded
			wanted = bounded
		}
		before, after = before+int(now), after+int(wanted)
		if wanted != now {
			scaled = append(scaled, obj)
		}
	}
	next, err := c.admitWith(admission.Scale, state, path, to, scaled...)
	return next, fmt.Sprintf("scale %s by %v, from %d to %s", words.Count(len(selected), "workload"), action.Factor, before, words.Count(after, "replica")),
		errors.Join(problem, err)
}

// Held is a workload whose HorizontalPodAutoscaler allows another number of replicas than a step asked for.
type Held struct {
	cluster.Ref
	Replicas int32 `json:"replicas"`
	Wanted   int32 `json:"wanted"`
}

// SumHeldBack counts the workloads that get fewer replicas than they should, and sums their replicas and the wanted ones.
func SumHeldBack(held []Held) (workloads, replicas, wanted int) {
	for _, h := range held {
		if h.Replicas < h.Wanted {
			workloads, replicas, wanted = workloads+1, replicas+int(h.Replicas), wanted+int(h.Wanted)
		}
	}
	return workloads, replicas, wanted
}

// selectWorkloads returns the workloads that the step names or, if it names none, all scalable workloads of its namespace.
func selectWorkloads(state *cluster.State, path *field.Path, action *scenario.ScaleBy) ([]cluster.Object, error) {
	var selected []cluster.Object
	var problems []error
	for i, workload := range action.Workloads {
		path := path.Child("workloads").Index(i)
		ref, err := scenario.ParseWorkload(workload)
		if err != nil {
			problems = append(problems, &Problem{path, err})
			continue
		}
		in := cmp.Or(ref.Namespace, action.Namespace, v1.NamespaceDefault)
		obj, err := findTarget(state, path, scenario.Target{Target: ref.String(), Namespace: in}, scenario.ScalableKinds...)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		selected = append(selected, obj)
	}
	if len(action.Workloads) > 0 {
		return selected, errors.Join(problems...)
	}
	namespaces := sets.New[string]()
	for _, obj := range state.Scalable() {
		if action.Namespace == "" || obj.GetNamespace() == action.Namespace {
			selected = append(selected, obj)
		}
		namespaces.Insert(obj.GetNamespace())
	}
	if len(selected) == 0 && action.Namespace != "" {
		return nil, &Problem{path.Child("namespace"), &scenario.NoMatchError{
			Why: fmt.Sprintf("no workload with replicas is in namespace %q; %s", action.Namespace, scenario.ListChoices(action.Namespace, sets.List(namespaces))),
		}}
	}
	return selected, nil
}

// multiplyReplicas returns replicas × factor, rounded up. It computes with the decimals as written: as floating-point numbers 10 × 1.1 is above 11.
func multiplyReplicas(replicas int32, factor float64) int32 {
	by, _ := new(big.Rat).SetString(strconv.FormatFloat(factor, 'g', -1, 64))
	product := by.Mul(by, new(big.Rat).SetInt64(int64(replicas)))
	up := new(big.Int).Add(product.Num(), product.Denom())
	up.Sub(up, big.NewInt(1)).Quo(up, product.Denom())
	return int32(min(up.Int64(), math.MaxInt32))
}
