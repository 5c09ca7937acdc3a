package sched

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/policy/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/list"
)

// This file has rules of the release after the code's own that no feature gate switches, as the changelog of its alphas has them:
// https://github.com/kubernetes/kubernetes/blob/master/CHANGELOG/CHANGELOG-1.38.md. docs/versions.md lists the changes that it lacks.

// removedGates has the feature gates that the next release no longer has. What they switched on is always on.
var removedGates = []string{
	"AggregatedDiscoveryRemoveBetaType", "CRDValidationRatcheting", "CustomResourceFieldSelectors", "DynamicResourceAllocation", "MatchLabelKeysInPodAffinity",
	"PodSchedulingReadiness", "SeparateTaintEvictionController",
}

// lockedGates has the feature gates that the next release no longer lets be off.
var lockedGates = []string{"DRADeviceTaintRules", "DRADeviceTaints", "EnvFiles", "HPAGeneration", "StrictIPCIDRValidation"}

// PreviewNote says what a preview is.
func PreviewNote() string {
	return fmt.Sprintf("Kubernetes %s is a preview: the code of %s with four changes of its alphas; docs/versions.md lists them, and what is missing.", Preview(), Version)
}

// isPreview reports whether the release is the one after the code's own.
func (r Release) isPreview() bool { return r.Kubernetes == Preview() }

// replacePlugins replaces the registry's plugins by those of the next release, if the release is that.
func (r Release) replacePlugins(registry Registry) {
	if r.isPreview() {
		wrapPlugin(registry, names.PodTopologySpread, func(plugin fwk.Plugin, _ fwk.Handle) fwk.Plugin { return laterSpread{plugin.(spreadPlugin)} })
	}
}

// spreadPlugin is the parts of PodTopologySpread.
type spreadPlugin interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
	fwk.EnqueueExtensions
	fwk.SignPlugin
}

// laterSpread is PodTopologySpread since 1.38: a constraint with an empty labelSelector counts all pods of the namespace. Before, it counts
// none. See https://github.com/kubernetes/kubernetes/pull/141340. Filter and Score read the states of PreFilter and PreScore.
type laterSpread struct{ spreadPlugin }

func (p laterSpread) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return p.spreadPlugin.PreFilter(ctx, state, withCountingSpreads(pod), nodes)
}

func (p laterSpread) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	return p.spreadPlugin.PreScore(ctx, state, withCountingSpreads(pod), nodes)
}

// EmptySelectorCounts reports whether a spread constraint with an empty labelSelector counts pods in the release that is set. See
// [laterSpread].
func EmptySelectorCounts() bool { return currentRelease().isPreview() }

// everything selects every pod. labels.Everything() does so, too, but is empty, and upstream's code asks for that.
var everything = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "faultline.dev/nothing", Operator: metav1.LabelSelectorOpDoesNotExist}}}

func isEmptySelector(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// withCountingSpreads returns the pod with a selector of all pods in place of the empty selectors of its spread constraints.
func withCountingSpreads(pod *v1.Pod) *v1.Pod {
	isEmpty := func(c v1.TopologySpreadConstraint) bool { return isEmptySelector(c.LabelSelector) }
	if !slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, isEmpty) {
		return pod
	}
	counting := *pod
	counting.Spec.TopologySpreadConstraints = slices.Clone(pod.Spec.TopologySpreadConstraints)
	for i, c := range counting.Spec.TopologySpreadConstraints {
		if isEmpty(c) {
			counting.Spec.TopologySpreadConstraints[i].LabelSelector = everything
		}
	}
	return &counting
}

// laterBudgets lists the disruption budgets as preemption reads them since 1.38: a budget with an empty selector guards all pods of its
// namespace. Before, preemption ignores such a budget. See https://github.com/kubernetes/kubernetes/pull/141785. Pods without labels, which
// are guarded since then, too, stay unguarded here.
type laterBudgets struct {
	listersv1.PodDisruptionBudgetLister
}

// replaceBudgets gives the budgets to the preemption of pod groups. [preemptionInterface] gives them to the preemption of single pods.
func replaceBudgets(plugin *defaultpreemption.DefaultPreemption) {
	if groups, preempts := unexported(plugin, "podGroupEvaluator").Interface().(*preemption.PodGroupEvaluator); preempts {
		lister := unexported(groups, "pdbLister")
		lister.Set(reflect.ValueOf(laterBudgets{lister.Interface().(listersv1.PodDisruptionBudgetLister)}))
	}
}

func (b laterBudgets) List(selector labels.Selector) ([]*policyv1.PodDisruptionBudget, error) {
	all, err := b.PodDisruptionBudgetLister.List(selector)
	return withGuardingSelectors(all), err
}

// withGuardingSelectors returns the budgets with a selector of all pods in place of empty ones.
func withGuardingSelectors(budgets []*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	return list.Map(budgets, func(budget *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		if !isEmptySelector(budget.Spec.Selector) {
			return budget
		}
		guarding := *budget
		guarding.Spec.Selector = everything
		return &guarding
	})
}

// nobody stands for the victims on a node where nobody has to go, and that an extender refuses. Since 1.38 such a node is a candidate, and
// extenders that preempt name the victims; before, it is an error. See https://github.com/kubernetes/kubernetes/pull/135486. Upstream's code
// wants at least one victim of each candidate. Of two candidates, the one without victims wins, as the priority is the lowest.
var nobody = &v1.Pod{Spec: v1.PodSpec{Priority: ptr.To[int32](math.MinInt32)}}

// nobodyIfNone returns the victims, or nobody if there are none.
func nobodyIfNone(victims []*v1.Pod) []*v1.Pod {
	if len(victims) == 0 {
		return []*v1.Pod{nobody}
	}
	return victims
}

// askAboutNobody asks for the victims without nobody among them. An answer without victims for such a node means nobody again.
func askAboutNobody(candidates map[string]*extenderv1.Victims, ask func(map[string]*extenderv1.Victims) (map[string]*extenderv1.Victims, error)) (map[string]*extenderv1.Victims, error) {
	asked, free := map[string]*extenderv1.Victims{}, map[string]bool{}
	for node, victims := range candidates {
		asked[node] = victims
		if free[node] = slices.Contains(victims.Pods, nobody); free[node] {
			asked[node] = &extenderv1.Victims{}
		}
	}
	answer, err := ask(asked)
	for node, victims := range answer {
		if free[node] && victims != nil {
			victims.Pods = nobodyIfNone(victims.Pods)
		}
	}
	return answer, err
}

// withoutNobody corrects upstream's message, which counts nobody as a victim.
func withoutNobody(message string) string {
	return strings.Replace(message, "preempting 1 victims", "preempting 0 victims", 1)
}
