package expect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/world"
)

func TestFindings(t *testing.T) {
	db, web := cluster.Ref{Kind: "StatefulSet", Namespace: "data", Name: "db"}, cluster.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}
	loss := func(of cluster.Ref, lost int) blast.Loss { return blast.Loss{Ref: of, Replicas: 4, Lost: lost} }
	quorum := func(lost int) blast.Loss {
		l := loss(db, lost)
		l.Quorum, l.QuorumLost = 3, lost > 1
		return l
	}
	budget := loss(web, 2)
	budget.BrokenBudgets = []string{"shop/web", "shop/all"}
	for name, c := range map[string]struct {
		facts Facts
		want  []string
	}{
		"nothing": {Facts{}, nil},
		"not met": {Facts{Unmet: []Judged{{Want: "0 pods Pending", Got: "2"}}},
			[]string{"error expectation-not-met / : want 0 pods Pending, got 2"}},
		"some of a workload": {Facts{Pending: []Pods{{Workload: web, Desired: 3, Messages: []string{"no room", "no room"}}}},
			[]string{"warning pods-pending shop/deployment/web web.yaml: 2 of 3 pods of deployment/web Pending: no room"}},
		"more than are desired": {Facts{Pending: []Pods{{Workload: web, Desired: 1, Messages: []string{"", "no room", "no zone", "no room"}}}},
			[]string{"warning pods-pending shop/deployment/web web.yaml: 4 pods of deployment/web Pending: kube-scheduler gave no message (and 2 other messages)"}},
		"a bare pod": {Facts{Pending: []Pods{{Workload: cluster.Ref{Kind: "Pod", Namespace: "shop", Name: "bare"}, Desired: 1, Messages: []string{"no room"}}}},
			[]string{"warning pods-pending shop/pod/bare : pod/bare Pending: no room"}},
		"refused": {Facts{Refused: []cluster.Refusal{{Ref: web, Pods: 2, Message: "exceeded quota: q"}, {Ref: cluster.Ref{Kind: "Service", Namespace: "shop", Name: "s"}, Message: "exceeded quota: q"}}},
			[]string{"warning pods-refused shop/deployment/web web.yaml: 2 pods of deployment/web refused: exceeded quota: q",
				"warning pods-refused shop/service/s : service/s refused: exceeded quota: q"}},
		"stuck": {Facts{Stuck: []controller.Rollout{{Ref: web, Desired: 3, Updated: 1, Waiting: "web-2 is Pending"}}},
			[]string{"error rollout-stuck shop/deployment/web web.yaml: the rollout of deployment/web is stuck at 1 of 3 updated: web-2 is Pending"}},
		"the worst failure is named, not the first": {
			Facts{Failures: []Failure{{Domains: "zone a"}, {Domains: "zone b", Losses: []blast.Loss{quorum(2)}}, {Domains: "zone c", Losses: []blast.Loss{quorum(3)}},
				{Domains: "zone d", Losses: []blast.Loss{quorum(1)}}}},
			[]string{"error quorum-lost data/statefulset/db : the failure of zone c takes 3 of 4 running pods of statefulset/db, whose quorum is 3 (likewise 1 other failure)"}},
		"of equal ones the first": {
			Facts{Failures: []Failure{{Domains: "zone a", Losses: []blast.Loss{quorum(2)}}, {Domains: "zone b", Losses: []blast.Loss{quorum(2)}}, {Domains: "zone c", Losses: []blast.Loss{quorum(2)}}}},
			[]string{"error quorum-lost data/statefulset/db : the failure of zone a takes 2 of 4 running pods of statefulset/db, whose quorum is 3 (likewise 2 other failures)"}},
		"a workload that is gone has lost its quorum, too": {Facts{Failures: []Failure{{Domains: "node n", Losses: []blast.Loss{quorum(4)}}}}, []string{
			"error quorum-lost data/statefulset/db : the failure of node n takes 4 of 4 running pods of statefulset/db, whose quorum is 3",
			"warning workload-gone data/statefulset/db : the failure of node n takes 4 of 4 running pods of statefulset/db"}},
		"one replica": {Facts{Failures: []Failure{{Domains: "zone a", Losses: []blast.Loss{{Ref: web, Lost: 1, Replicas: 1}}}}}, []string{
			"note one-replica shop/deployment/web web.yaml: deployment/web has one replica, and the failure of zone a takes it"}},
		"each workload and rule once": {
			Facts{Failures: []Failure{
				{Domains: "zone a", Losses: []blast.Loss{loss(web, 4), budget}, Gone: []Pods{{Workload: web, Messages: []string{""}}}},
				{Domains: "zone b", Gone: []Pods{{Workload: db, Messages: []string{"x"}}, {Workload: web, Messages: []string{"y", "z"}}}}}},
			[]string{
				"warning workload-gone shop/deployment/web web.yaml: the failure of zone a takes 4 of 4 running pods of deployment/web",
				"warning budget-broken shop/deployment/web web.yaml: the failure of zone a takes 2 of 4 running pods of deployment/web, which breaks PodDisruptionBudget shop/web, shop/all",
				"warning pods-stranded shop/deployment/web web.yaml: the failure of zone b takes 2 pods of deployment/web that do not come back: y (likewise 1 other failure)",
				"warning pods-stranded data/statefulset/db : the failure of zone b takes 1 pod of statefulset/db that does not come back: x"}},
	} {
		c.facts.Source = func(of cluster.Ref) *manifest.Place {
			if of != web {
				return nil
			}
			return &manifest.Place{File: "web.yaml"}
		}
		var got []string
		for _, f := range c.facts.Findings() {
			file := ""
			if f.Source != nil {
				file = f.Source.File
			}
			got = append(got, f.Level+" "+f.ID+" "+f.Namespace+"/"+f.Workload+" "+file+": "+f.Message)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A workload should have as many pods as its spec says, or else as many as it has, without pods that have ended or are Terminating.
// Workloads are in the order of their first pods, including running ones.
func TestFactsOf(t *testing.T) {
	state := &cluster.State{
		StatefulSets: []*appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "db"}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5)}}},
		Jobs:         []*batchv1.Job{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "once", UID: "once"}}},
	}
	pod := func(name, kind, owner, node string, edit func(*v1.Pod)) *v1.Pod {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, UID: types.UID(owner), Controller: ptr.To(true)}}
		}
		if edit != nil {
			edit(p)
		}
		state.Pods = append(state.Pods, p)
		return p
	}
	pod("once-1", "Job", "once", "n1", nil)
	pod("once-2", "Job", "once", "n1", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })
	pod("once-3", "Job", "once", "n1", func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{} })
	waiting := []placement.Pending{
		{Pod: pod("db-0", "StatefulSet", "db", "", nil), Message: "no room"}, {Pod: pod("once-4", "Job", "once", "", nil), Message: "no zone"},
		{Pod: pod("bare", "", "", "", nil)}, {Pod: pod("db-1", "StatefulSet", "db", "", nil), Message: "no disk"},
	}
	pod("fine", "", "", "n1", nil)
	rollouts := []controller.Rollout{{Complete: true, Old: 1}, {Desired: 2}, {Desired: 3, Old: 1}, {Desired: 4, NotCreated: []string{"db-2"}}}
	ref := func(kind, name string) cluster.Ref { return cluster.Ref{Kind: kind, Namespace: "shop", Name: name} }
	want := &Facts{
		Step: "now",
		Pending: []Pods{
			{Workload: ref("Job", "once"), Desired: 2, Messages: []string{"no zone"}},
			{Workload: ref("StatefulSet", "db"), Desired: 5, Messages: []string{"no room", "no disk"}},
			{Workload: ref("Pod", "bare"), Desired: 1, Messages: []string{""}},
		},
		Stuck: rollouts[2:],
	}
	if diff := cmp.Diff(want, newFacts(&simulation.Step{Name: "now", State: state, Record: world.Record{Pending: waiting, Rollouts: rollouts}})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules {
		if rule.ID == "" || rule.Short == "" || rule.Full == "" || rule.Help == "" || seen[rule.ID] {
			t.Errorf("rule %+v lacks something, or is listed twice", rule)
		}
		if rule.Level != Error && rule.Level != Warning && rule.Level != Note {
			t.Errorf("%s has the level %q", rule.ID, rule.Level)
		}
		seen[rule.ID] = true
	}
}
