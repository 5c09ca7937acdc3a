package expect

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

// stepInThreeZones returns a step with three zones: a has nodes a1 and a2, b has b1, c has c1. web-1 and web-2 run on a1, web-3 on b1, db-1 on a2;
// web-4 and db-2 are Pending. The rollout of web is not complete.
func stepInThreeZones() *simulation.Step {
	const zone = v1.LabelTopologyZone
	node := func(name, in string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zone: in}}}
	}
	pod := func(name, app, node string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}}, Spec: v1.PodSpec{NodeName: node}}
	}
	ended := pod("web-0", "web", "c1")
	ended.Status.Phase = v1.PodSucceeded
	waiting := []*v1.Pod{pod("web-4", "web", ""), pod("db-2", "db", "")}
	waiting[1].Namespace = "shop"
	stays := func(name, reason string) world.BlockedPod {
		return world.BlockedPod{PodRef: cluster.PodRef{Namespace: "default", Name: name}, Reason: reason}
	}
	return &simulation.Step{
		State: &cluster.State{
			Nodes: []*v1.Node{node("a1", "a"), node("a2", "a"), node("b1", "b"), node("c1", "c")},
			Pods: append(waiting, ended, pod("web-1", "web", "a1"), pod("web-2", "web", "a1"), pod("web-3", "web", "b1"),
				pod("db-1", "db", "a2")),
		},
		Refused: []cluster.Refusal{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}, Pods: 2, Message: "exceeded quota: q"},
			{Ref: cluster.Ref{Kind: "Pod", Namespace: "default", Name: "bare"}, Pods: 1, Message: "no such class"},
			{Ref: cluster.Ref{Kind: "Service", Namespace: "default", Name: "s"}, Message: "exceeded quota: q"}},
		Record: world.Record{
			Pending:  []placement.Pending{{Pod: waiting[0], Message: "0/4 nodes: too small."}, {Pod: waiting[1], Message: "0/4 nodes: tainted."}},
			Rollouts: []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Name: "web"}, Waiting: "web-4 is Pending"}, {Ref: cluster.Ref{Kind: "Deployment", Name: "db"}, Complete: true}},
			Drained: []world.DrainedNode{
				{Node: "a1", Blocked: []world.BlockedPod{stays("web-1", "no controller"), stays("web-2", "no budget")}},
				{Node: "a2", Ends: true},
				{Node: "b1", Refused: []world.BlockedPod{stays("web-3", "no budget")}},
			},
		},
	}
}

// placeOf returns the place of an expectation, with its field as the file.
func placeOf(field ...any) *manifest.Place { return sourceOf(field...).Place() }

// sourceOf returns the source of a field, with the field as the file.
func sourceOf(field ...any) manifest.Source { return manifest.Source{File: fmt.Sprint(field...)} }

func TestJudgeStep(t *testing.T) {
	const zone = v1.LabelTopologyZone
	both := "web-4: 0/4 nodes: too small; shop/db-2: 0/4 nodes: tainted"
	web := func(d scenario.Domains) *scenario.Expect {
		d.TopologyKey, d.Selector = zone, "app=web"
		return &scenario.Expect{Domains: []scenario.Domains{d}}
	}
	nodes := func(n scenario.PodsOnNodes) *scenario.Expect {
		return &scenario.Expect{Nodes: []scenario.PodsOnNodes{n}}
	}
	zones := "app=web pods by " + zone
	for name, c := range map[string]struct {
		expect *scenario.Expect
		want   []Judged
	}{
		"pending":             {&scenario.Expect{Pending: ptr.To(2)}, []Judged{{Want: "2 pods Pending", Got: "2", Met: true, Source: placeOf("pending")}}},
		"pending, unmet":      {&scenario.Expect{Pending: ptr.To(1)}, []Judged{{Want: "1 pod Pending", Got: "2", Why: both, Source: placeOf("pending")}}},
		"pending more, unmet": {&scenario.Expect{Pending: ptr.To(3)}, []Judged{{Want: "3 pods Pending", Got: "2", Why: both, Source: placeOf("pending")}}},
		"at most":             {&scenario.Expect{PendingAtMost: ptr.To(3)}, []Judged{{Want: "at most 3 pods Pending", Got: "2", Met: true, Source: placeOf("pendingAtMost")}}},
		"at most, unmet":      {&scenario.Expect{PendingAtMost: ptr.To(1)}, []Judged{{Want: "at most 1 pod Pending", Got: "2", Why: both, Source: placeOf("pendingAtMost")}}},
		"not created":         {&scenario.Expect{NotCreated: ptr.To(3)}, []Judged{{Want: "3 pods refused", Got: "3", Met: true, Source: placeOf("notCreated")}}},
		"not created, unmet": {&scenario.Expect{NotCreated: ptr.To(0)}, []Judged{{Want: "0 pods refused", Got: "3",
			Why: "shop/deployment/web: exceeded quota: q; pod/bare: no such class", Source: placeOf("notCreated")}}},
		"message": {&scenario.Expect{Message: "small"}, []Judged{{Want: `a Pending pod's message contains "small"`, Got: "0/4 nodes: too small.", Met: true, Source: placeOf("message")}}},
		"message, unmet": {&scenario.Expect{Message: "cpu"}, []Judged{
			{Want: `a Pending pod's message contains "cpu"`, Got: "0/4 nodes: tainted.", Why: both, Source: placeOf("message")}}},
		"rollouts": {&scenario.Expect{Rollouts: ptr.To(false)}, []Judged{{Want: "a rollout that does not complete", Got: "not complete: deployment/web", Met: true, Source: placeOf("rollouts")}}},
		"drained":  {&scenario.Expect{Drained: ptr.To(false)}, []Judged{{Want: "a drain that does not end", Got: "not drained: a1 and b1", Met: true, Source: placeOf("drained")}}},
		"drained, unmet": {&scenario.Expect{Drained: ptr.To(true)}, []Judged{{Want: "every drain to end", Got: "not drained: a1 and b1",
			Why: "web-1: no controller; web-2 and web-3: no budget", Source: placeOf("drained")}}},
		"rollouts, unmet": {&scenario.Expect{Rollouts: ptr.To(true)}, []Judged{{Want: "every rollout complete", Got: "not complete: deployment/web", Why: "deployment/web: web-4 is Pending", Source: placeOf("rollouts")}}},
		"domains": {web(scenario.Domains{Min: ptr.To(0), Max: ptr.To(2), Skew: ptr.To(2), Used: ptr.To(2), Exactly: map[string]int{"b": 1, "c": 0}}), []Judged{
			{Want: zones + ": at least 0 in each", Got: "a 2, b 1, c 0", Met: true, Source: placeOf("domains", 0, "min")},
			{Want: zones + ": at most 2 in each", Got: "a 2, b 1, c 0", Met: true, Source: placeOf("domains", 0, "max")},
			{Want: zones + ": skew at most 2", Got: "a 2, b 1, c 0", Met: true, Source: placeOf("domains", 0, "skew")},
			{Want: zones + ": at least 2 used", Got: "a 2, b 1, c 0", Met: true, Source: placeOf("domains", 0, "used")},
			{Want: zones + ": exactly 1 in b", Got: "a 2, b 1, c 0", Met: true, Source: placeOf("domains", 0, "exactly")},
			{Want: zones + ": exactly 0 in c", Got: "a 2, b 1, c 0", Met: true, Source: placeOf("domains", 0, "exactly")},
		}},
		"domains, unmet": {web(scenario.Domains{Min: ptr.To(1), Max: ptr.To(1), Skew: ptr.To(1), Used: ptr.To(3), Exactly: map[string]int{"a": 1, "b": 2}}), []Judged{
			{Want: zones + ": at least 1 in each", Got: "a 2, b 1, c 0", Why: "c has no pod; Pending web-4: 0/4 nodes: too small", Source: placeOf("domains", 0, "min")},
			{Want: zones + ": at most 1 in each", Got: "a 2, b 1, c 0", Why: "a has web-1 and web-2", Source: placeOf("domains", 0, "max")},
			{Want: zones + ": skew at most 1", Got: "a 2, b 1, c 0", Why: "a has web-1 and web-2 and c has no pod; Pending web-4: 0/4 nodes: too small", Source: placeOf("domains", 0, "skew")},
			{Want: zones + ": at least 3 used", Got: "a 2, b 1, c 0", Why: "c has no pod; Pending web-4: 0/4 nodes: too small", Source: placeOf("domains", 0, "used")},
			{Want: zones + ": exactly 1 in a", Got: "a 2, b 1, c 0", Why: "a has web-1 and web-2", Source: placeOf("domains", 0, "exactly")},
			{Want: zones + ": exactly 2 in b", Got: "a 2, b 1, c 0", Why: "b has web-3; Pending web-4: 0/4 nodes: too small", Source: placeOf("domains", 0, "exactly")},
		}},
		"nodes": {nodes(scenario.PodsOnNodes{Selector: "app=web", OnlyOn: &scenario.Nodes{Names: []string{"a1", "b1"}}, NotOn: &scenario.Nodes{Selector: zone + "=c"}}), []Judged{
			{Want: "all app=web pods on a1 or b1", Got: "0 of 3 pods elsewhere", Met: true, Source: placeOf("nodes", 0, "onlyOn")},
			{Want: "no app=web pods on a node with " + zone + "=c", Got: "0 of 3 pods there", Met: true, Source: placeOf("nodes", 0, "notOn")},
		}},
		"nodes, unmet": {nodes(scenario.PodsOnNodes{OnlyOn: &scenario.Nodes{Names: []string{"b1"}, Selector: zone + "=c"}, NotOn: &scenario.Nodes{Selector: zone + " in (a)"}}), []Judged{
			{Want: "all pods on b1 or a node with " + zone + "=c", Got: "3 of 4 pods elsewhere", Why: "web-1 is on a1, web-2 is on a1 and db-1 is on a2", Source: placeOf("nodes", 0, "onlyOn")},
			{Want: "no pods on a node with " + zone + " in (a)", Got: "3 of 4 pods there", Why: "web-1 is on a1, web-2 is on a1 and db-1 is on a2", Source: placeOf("nodes", 0, "notOn")},
		}},
		"nodes without pods": {nodes(scenario.PodsOnNodes{Selector: "app=x", OnlyOn: &scenario.Nodes{Names: []string{"a1"}}}), []Judged{
			{Want: "all app=x pods on a1", Got: "no such pod is running", Met: true, Source: placeOf("nodes", 0, "onlyOn")},
		}},
	} {
		var got []Judged
		j := &stepJudge{Expect: c.expect, judged: &got, source: sourceOf}
		j.judgeStep(stepInThreeZones())
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A Terminating pod is no longer in its domain. If all domains are gone, none has enough pods.
func TestJudgeCountsWhatRuns(t *testing.T) {
	step := stepInThreeZones()
	for _, pod := range step.State.Pods {
		if pod.Name == "web-3" { // the one in zone b
			pod.DeletionTimestamp = &cluster.Epoch
		}
	}
	for key, want := range map[string]Judged{
		v1.LabelTopologyZone: {Got: "a 3, b 0, c 0", Met: true},
		"rack":               {Got: "no such domain is left", Met: false},
	} {
		var judged []Judged
		j := &stepJudge{Expect: &scenario.Expect{Domains: []scenario.Domains{{TopologyKey: key, Min: ptr.To(0)}}}, judged: &judged}
		j.judgeStep(step)
		got := judged[0]
		if got.Got != want.Got || got.Met != want.Met {
			t.Errorf("%s: %q, met %v; want %q, %v", key, got.Got, got.Met, want.Got, want.Met)
		}
	}
}
