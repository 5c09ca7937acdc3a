package sched

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

// releasesAround138 are the code's own release and the next one.
var releasesAround138 = []string{"1.37", "1.38"}

// Two pods run on n1, in the pod's namespace; on n2 one runs in another namespace, and one is Terminating. Only n1 has room. The constraint
// allows one pod more on a node than on the other: since 1.38 n1 would have three and n2 none. Before, the constraint counts no pod.
func TestEmptySpreadSelectorSince138(t *testing.T) {
	elsewhere := pod("elsewhere", "8", 0)
	elsewhere.Namespace = "east"
	everyPod := func(c *v1.TopologySpreadConstraint) { c.LabelSelector = &metav1.LabelSelector{} }
	state := (&cluster.State{Now: cluster.Epoch, TerminationSeconds: 1}).With(node("n1", nil), node("n2", nil), running(elsewhere, "n2"), ending(pod("ends", "100m", 0), "n2"),
		running(pod("other", "1", 0), "n1"), running(newAppPod("web", "web-0"), "n1"))
	t.Cleanup(func() { setRelease(t, Release{}) })
	for name, c := range map[string]struct {
		constraint func(*v1.Pod)
		want       map[string]string // by release: the node
	}{
		"hard":                        {spreadOver(hostname, v1.DoNotSchedule, nil, everyPod), map[string]string{"1.37": "n1", "1.38": "pending "}},
		"of pods with the same label": {spreadOver(hostname, v1.DoNotSchedule, nil, everyPod, func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"app"}; c.MaxSkew = 2 }), map[string]string{"1.37": "n1", "1.38": "n1"}},
		"without a selector":          {spreadOver(hostname, v1.DoNotSchedule, nil, func(c *v1.TopologySpreadConstraint) { c.LabelSelector = nil }), map[string]string{"1.37": "n1", "1.38": "n1"}},
	} {
		for _, kubernetes := range releasesAround138 {
			setRelease(t, Release{Kubernetes: kubernetes})
			kept, err := DefaultConfig()
			if err != nil {
				t.Fatal(err)
			}
			for _, config := range []*Config{kept, kept.Plain()} {
				engine := engineOf(t, config, Ties{})
				waiting := newAppPod("web", "new", c.constraint)
				result, err := engine.Place(t.Context(), state.With(waiting), []*v1.Pod{waiting})
				if err != nil {
					t.Fatal(err)
				}
				if got := outcome(result)["new"]; got != c.want[kubernetes] {
					t.Errorf("%s as %s, with answers kept %t: %q, want %q", name, kubernetes, config.cachesAnswers(), got, c.want[kubernetes])
				}
				for _, placed := range result.Placed {
					if len(placed.Pod.Spec.TopologySpreadConstraints[0].LabelSelector.String()) > len("&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}") {
						t.Errorf("%s as %s: the pod is bound with the constraint %v", name, kubernetes, placed.Pod.Spec.TopologySpreadConstraints[0])
					}
				}
			}
		}
	}
}

// Both nodes are full. The pod on n1 has the lower priority, and a budget with an empty selector allows it no disruption. The budget counts since
// 1.38, so that the pod of n2 goes.
func TestEmptyBudgetSelectorSince138(t *testing.T) {
	guarded, free := pod("guarded", "8", 1), pod("free", "8", 2)
	free.Namespace = "east"
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "all", Namespace: guarded.Namespace}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}}}
	high := pod("high", "8", 3)
	state := (&cluster.State{Now: cluster.Epoch, TerminationSeconds: 1}).With(node("n1", nil), node("n2", nil), running(guarded, "n1"), running(free, "n2"), budget, high)
	for kubernetes, want := range map[string]string{"1.37": "guarded", "1.38": "free"} {
		result, err := engineAsRelease(t, kubernetes).Place(t.Context(), state, []*v1.Pod{high})
		if err != nil {
			t.Fatal(err)
		}
		if len(result.Preempted) != 1 || result.Preempted[0].Victim.Name != want {
			t.Errorf("%s: %d preempted, want %s", kubernetes, len(result.Preempted), want)
		}
	}
}

// The extender refuses the only node, which has room for the pod beside the pod of low priority there: so nobody has to go for the scheduler's
// own filters. Since 1.38 the extender is asked which pods have to go for its part.
func TestEmptyVictimListsSince138(t *testing.T) {
	low, high := pod("low", "1", 1), pod("high", "1", 2)
	low.UID = types.UID("uid-of-low")
	const noCandidate = "preemption: expected at least one victim pod on node \"n\""
	for name, c := range map[string]struct {
		verbs string
		pods  []*extenderv1.MetaPod
		want  map[string]string // by release: the end of the message
		gone  int               // since 1.38
	}{
		"it names a victim": {"filterVerb: filter, preemptVerb: preempt", []*extenderv1.MetaPod{{UID: string(low.UID)}}, map[string]string{"1.37": noCandidate, "1.38": "found a potential placement for pod on node n, preempting 1 victims"}, 1},
		"it names nobody":   {"filterVerb: filter, preemptVerb: preempt", nil, map[string]string{"1.37": noCandidate, "1.38": "found a potential placement for pod on node n, preempting 0 victims"}, 0},
		"it only filters":   {"filterVerb: filter", nil, map[string]string{"1.37": noCandidate, "1.38": "found a potential placement for pod on node n, preempting 0 victims"}, 0},
	} {
		for _, kubernetes := range releasesAround138 {
			s := serve(t, &testExtender{filter: filterWithMessages(map[string]string{"n": "no licence"}, nil), preempt: func(args extenderv1.ExtenderPreemptionArgs) extenderv1.ExtenderPreemptionResult {
				if asked := args.NodeNameToVictims["n"]; asked == nil || len(asked.Pods) > 0 {
					t.Errorf("%s as %s: the extender is asked about %v, want n without victims", name, kubernetes, args.NodeNameToVictims)
				}
				return extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"n": {Pods: c.pods}}}
			}})
			setRelease(t, Release{Kubernetes: kubernetes})
			t.Cleanup(func() { setRelease(t, Release{}) })
			state := (&cluster.State{Now: cluster.Epoch, TerminationSeconds: 1}).With(node("n", nil), running(low, "n"), high)
			result, err := engineOf(t, s.config(t, c.verbs), Ties{}).Place(t.Context(), state, []*v1.Pod{high})
			if err != nil {
				t.Fatal(err)
			}
			gone := 0
			if kubernetes == "1.38" {
				gone = c.gone
			}
			if got := result.Pending[0].Message; len(result.Preempted) != gone || !strings.HasSuffix(got, c.want[kubernetes]) {
				t.Errorf("%s as %s: %d preempted, %q; want %d, %q", name, kubernetes, len(result.Preempted), got, gone, c.want[kubernetes])
			}
		}
	}
}

func TestGatesOf138(t *testing.T) {
	t.Cleanup(func() { setRelease(t, Release{}) })
	for gates, want := range map[string]string{
		"PodSchedulingReadiness=true":        `kube-scheduler 1.38 has no feature gate "PodSchedulingReadiness"`,
		"DynamicResourceAllocation=true":     `kube-scheduler 1.38 has no feature gate "DynamicResourceAllocation"`,
		"MatchLabelKeysInPodAffinity=true":   `kube-scheduler 1.38 has no feature gate "MatchLabelKeysInPodAffinity"`,
		"DRADeviceTaints=false":              "cannot set feature gate DRADeviceTaints to false, feature is locked to true",
		"DRADeviceTaints=true,EnvFiles=true": "",
		"StorageCapacityScoring=false":       "",
	} {
		got := ""
		if err := SetRelease(Release{Kubernetes: "1.38", FeatureGates: gates}); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", gates, diff)
		}
	}
}
