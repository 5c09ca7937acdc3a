package advice_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/variant"
)

var web = cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}

// world returns a scenario of three zones with that many nodes, in which web has that many replicas and this pod spec.
func world(t *testing.T, nodes, replicas, spec string) *scenario.Scenario {
	t.Helper()
	var source scenario.Source
	if err := json.Unmarshal([]byte(`{"synthetic": {"zones": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "nodeGroups": [{"count": `+nodes+`}]}}`), &source); err != nil {
		t.Fatal(err)
	}
	deployment := runtime.RawExtension{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": ` + replicas + `,
		"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
		"spec": {` + spec + `"containers": [{"name": "c", "image": "i"}]}}}}`)}
	s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{source}, Workloads: []scenario.Source{{Objects: []runtime.RawExtension{deployment}}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	hardZone = `"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
		{"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "web"}}}]}}, `
	// cache keeps away from another workload and prefers SSDs; neither rule is about its own pods.
	others = `"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1,
		"preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}]},
		"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
		{"weight": 3, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "cache"}}}},
		{"weight": 4, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}}]}},
		"topologySpreadConstraints": [{"maxSkew": 3, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway",
		"labelSelector": {"matchLabels": {"app": "web"}}}], `
)

func ask(t *testing.T, s *scenario.Scenario, opts advice.Options) *advice.Advice {
	t.Helper()
	a, err := advice.ForWorkload(t.Context(), s, web, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func nameWithStrategy(t *testing.T, a *advice.Advice, name string) *advice.Candidate {
	t.Helper()
	var names []string
	for i := range a.Candidates {
		if a.Candidates[i].Name == name {
			return &a.Candidates[i]
		}
		names = append(names, a.Candidates[i].Name)
	}
	t.Fatalf("no candidate %q among %s", name, strings.Join(names, "; "))
	return nil
}

// Three replicas, one in each of three zones: the surge pod of a rolling update finds an old pod in every zone, and 25% of 3 unavailable
// rounds down to none. With maxUnavailable 1 the rollout finishes, and so it does with a rule per revision. With a soft rule it finishes
// anyway, and recovers from the loss of a zone.
func TestRolloutDeadlock(t *testing.T) {
	a := ask(t, world(t, "1", "3", hardZone), advice.Options{})
	now := nameWithStrategy(t, a, advice.AsItIs)
	if now.Rollout.Ends || !strings.Contains(now.Rollout.Waiting, "the 3 old pods stay because maxUnavailable is 25% (0)") {
		t.Errorf("as it is: ends %v, waiting %q", now.Rollout.Ends, now.Rollout.Waiting)
	}
	other := nameWithStrategy(t, a, "as it is, maxUnavailable 1 and maxSurge 0")
	if !other.Rollout.Ends || other.Surge != 0 || other.Stuck != now.Rollout.Waiting {
		t.Errorf("with another strategy: %+v", other)
	}
	want := `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}}}`
	if diff := cmp.Diff(want, string(other.Patch)); diff != "" {
		t.Errorf("its patch (-want +got)\n%s", diff)
	}
	if c := nameWithStrategy(t, a, "hard zone, per revision"); !c.Rollout.Ends || c.Strategy != "" {
		t.Errorf("per revision: %+v", c)
	}
	best := a.Candidates[0]
	if stranded, _ := best.Level(v1.LabelTopologyZone).NotBack(); !best.Rollout.Ends || stranded != 0 || best.Strategy != "" {
		t.Errorf("best: %+v", best)
	}
	if now.Front || now.BeatenBy == "" || now.BeatenIn == "" {
		t.Errorf("as it is: front %v, beaten by %q in %q", now.Front, now.BeatenBy, now.BeatenIn)
	}
}

// Four replicas over three zones: a hard rule leaves one Pending; a rule with skew 1 does not. After the loss of the worst zone, one of its
// two pods is evicted first: the other still counts there, so each zone may have two, and the first comes back. Then the zone is empty and
// counts as a domain with no pods, so no other zone may have more than one, and the second does not come back.
func TestFourReplicasOverThreeZones(t *testing.T) {
	a := ask(t, world(t, "2", "4", ""), advice.Options{})
	for _, test := range []struct {
		name              string
		pending, stranded int
		radius            float64
		ends              bool
	}{
		{"hard zone", 1, 1, 1.0 / 3, false},
		{"spread zone", 0, 1, 0.5, true},
		{"soft zone", 0, 0, 0.5, true},
		{"as it is", 0, 0, 0.5, true},
	} {
		c := nameWithStrategy(t, a, test.name)
		zone := c.Level(v1.LabelTopologyZone)
		stranded, _ := zone.NotBack()
		if c.Pending != test.pending || stranded != test.stranded || zone.Radius != test.radius || c.Rollout.Ends != test.ends {
			t.Errorf("%s: Pending %d, stranded %d, radius %v, ends %v; want %+v", test.name, c.Pending, stranded, zone.Radius, c.Rollout.Ends, test)
		}
	}
	if c := nameWithStrategy(t, a, "hard zone"); c.OwnPending != 1 || !strings.Contains(c.Why, "didn't match pod anti-affinity rules") {
		t.Errorf("hard zone: %d Pending of its own, %q", c.OwnPending, c.Why)
	}
	if !a.Candidates[0].Front || a.Candidates[0].Pending > 0 || a.Candidates[0].Name != advice.AsItIs {
		t.Errorf("best is %s", a.Candidates[0].Name)
	}
	if c := nameWithStrategy(t, a, "spread zone"); c.BeatenIn != "not back after the loss of a zone (0 against 1)" {
		t.Errorf("spread zone is beaten in %q", c.BeatenIn)
	}
}

// In a large cluster, failures are simulated only for the candidates that could be advised. Their figures are those of a run with all
// failures; every other candidate names the candidate that beats it, or the one that it cannot beat.
func TestLargeCluster(t *testing.T) {
	s := world(t, "10", "400", "")
	a := ask(t, s, advice.Options{})
	levels := []string{v1.LabelTopologyZone, v1.LabelHostname}
	opts := whatif.Options{Metric: metric.Options{Workloads: []cluster.Ref{web}, Levels: levels, Recover: levels, Holding: true}}
	base, err := whatif.RunBase(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	now := nameWithStrategy(t, a, advice.AsItIs)
	if diff := cmp.Diff(base.Found, now.Found); diff != "" {
		t.Errorf("as it is (-run again +told)\n%s", diff)
	}
	if host := now.Level(v1.LabelHostname); host.Holding != 30 || len(host.Failures) != 30 {
		t.Errorf("%d of %d nodes with a pod failed, want 30 of 30", len(host.Failures), host.Holding)
	}
	open := 0
	for _, c := range a.Candidates {
		if len(c.Levels[0].Failures) > 0 {
			continue
		}
		open++
		if pendsMore := c.Pending > now.Pending; c.Front || c.SameAs != "" || !pendsMore && (c.BeatenBy == "") == (c.AtBest == "") {
			t.Errorf("%s: front %v, same as %q, beaten by %q, at best as %q", c.Name, c.Front, c.SameAs, c.BeatenBy, c.AtBest)
		}
	}
	if open < 5 {
		t.Errorf("failures were left out for %d candidates", open)
	}
}

// A single pod is on one node, whatever the rule says. With two replicas in three zones of one node each, the loss of a zone, or of a node,
// takes one.
func TestOneReplica(t *testing.T) {
	a := ask(t, world(t, "1", "1", ""), advice.Options{})
	for _, c := range a.Candidates {
		if c.Replicas == 0 && c.Changed() && c.SameAs != advice.AsItIs {
			t.Errorf("%s is not the same as it is, but %q, beaten by %q in %q", c.Name, c.SameAs, c.BeatenBy, c.BeatenIn)
		}
	}
	best := a.Candidates[0]
	if best.Name != "2 replicas" || string(best.Patch) != `{"spec":{"replicas":2}}` || best.Level(v1.LabelTopologyZone).Radius != 0.5 || a.One != "" {
		t.Errorf("best is %s with the patch %s; no second since %q", best.Name, best.Patch, a.One)
	}
	if c := nameWithStrategy(t, a, "2 replicas, spread zone"); c.Replicas != 2 || !strings.Contains(string(c.Patch), `"replicas":2`) || len(c.Rules) != 1 {
		t.Errorf("with a rule: %d replicas, %q, patch %s", c.Replicas, c.Rules, c.Patch)
	}
}

// The reasons for no second replica: a claim that only one node can use, a host port that every node has once, a single node.
func TestNoSecondReplica(t *testing.T) {
	const claimed = `"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}], `
	const port = `"hostNetwork": true, "initContainers": [{"name": "p", "image": "i", "restartPolicy": "Always", "ports": [{"containerPort": 80, "hostPort": 80}]}], `
	for _, test := range []struct {
		name, zones, spec, modes, want string
	}{
		{"claim of one node", "[a, b]", claimed, "ReadWriteOnce", "its pods share persistentvolumeclaim/data, which is ReadWriteOnce"},
		{"claim of one pod", "[a, b]", claimed, "ReadWriteOncePod", "which is ReadWriteOncePod"},
		{"claim of many nodes", "[a, b]", claimed, "ReadWriteMany", ""},
		{"host port", "[a]", port, "", "a second pod would be Pending: 0/1 nodes are available: 1 node(s) didn't have free ports"},
		{"one node", "[a]", "", "", "a second pod would be on the node of the first"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects := []string{`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}},
				"template": {"metadata": {"labels": {"app": "web"}}, "spec": {` + test.spec + `"containers": [{"name": "c", "image": "i"}]}}}}`}
			if test.modes != "" {
				objects = append(objects, `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"accessModes": ["`+test.modes+`"],
					"storageClassName": "", "volumeName": "v", "resources": {"requests": {"storage": "1Gi"}}}}`,
					`{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {"accessModes": ["`+test.modes+`"], "capacity": {"storage": "1Gi"},
					"hostPath": {"path": "/v"}, "storageClassName": "", "claimRef": {"namespace": "default", "name": "data"}}}`)
			}
			var zones []string
			for _, zone := range strings.Split(strings.Trim(test.zones, "[]"), ", ") {
				zones = append(zones, `{"name": "`+zone+`"}`)
			}
			var source, workloads scenario.Source
			if err := json.Unmarshal([]byte(`{"synthetic": {"zones": [`+strings.Join(zones, ",")+`], "nodeGroups": [{"count": 1}]}}`), &source); err != nil {
				t.Fatal(err)
			}
			for _, object := range objects {
				workloads.Objects = append(workloads.Objects, runtime.RawExtension{Raw: []byte(object)})
			}
			s, err := loader.New("test", &scenario.File{Cluster: []scenario.Source{source}, Workloads: []scenario.Source{workloads}})
			if err != nil {
				t.Fatal(err)
			}
			a := ask(t, s, advice.Options{})
			if test.want == "" && a.One != "" || !strings.Contains(a.One, test.want) {
				t.Errorf("no second replica since %q, want %q", a.One, test.want)
			}
		})
	}
}

// The printed patch is the one that was run: it gives the object exactly that rule and keeps the others, and the scenario with the patch
// has the same figures.
func TestPatches(t *testing.T) {
	s := world(t, "2", "4", others)
	a := ask(t, s, advice.Options{})
	before := a.Result.Steps[0].State.Deployments[0]
	base, err := whatif.RunBase(t.Context(), s, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	levels := []string{v1.LabelTopologyZone, v1.LabelHostname}
	opts := whatif.Options{Metric: metric.Options{Workloads: []cluster.Ref{web}, Levels: levels, Recover: levels}}
	for _, test := range []struct {
		name string
		want []rule.Apart
	}{
		{"none", nil},
		{"soft zone=100 + hostname=50", []rule.Apart{{By: rule.SoftAnti, Over: []rule.DomainKey{{TopologyKey: levels[0], Weight: 100}, {TopologyKey: levels[1], Weight: 50}}}}},
		{"hard zone + soft hostname, per revision", []rule.Apart{
			{By: rule.HardAnti, Over: []rule.DomainKey{{TopologyKey: levels[0]}}, MatchLabelKeys: []string{"pod-template-hash"}},
			{By: rule.SoftAnti, Over: []rule.DomainKey{{TopologyKey: levels[1]}}, MatchLabelKeys: []string{"pod-template-hash"}}}},
		{"spread zone (maxSkew 2)", []rule.Apart{{By: rule.EvenlySpread, Over: []rule.DomainKey{{TopologyKey: levels[0]}}, MaxSkew: 2, Required: true}}},
		{"spread zone + softly hostname", []rule.Apart{
			{By: rule.EvenlySpread, Over: []rule.DomainKey{{TopologyKey: levels[0]}}, Required: true},
			{By: rule.EvenlySpread, Over: []rule.DomainKey{{TopologyKey: levels[1]}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := nameWithStrategy(t, a, test.name)
			patch := scenario.Patch{Target: scenario.Target{Target: "deployment/web"}, Type: "merge", Patch: runtime.RawExtension{Raw: c.Patch}}
			after, err := patch.Apply(before)
			if err != nil {
				t.Fatal(err)
			}
			want := before.Spec.Template.Spec.DeepCopy()
			rule.KeepApart(want, before.Spec.Template.Labels, "default", before.Spec.Selector, test.want...)
			if diff := cmp.Diff(want, &after.(*appsv1.Deployment).Spec.Template.Spec, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("pod spec (-want +got)\n%s", diff)
			}
			varied, err := variant.NewMaker(s).Vary(&scenario.Variant{Name: "patched", Patches: []scenario.Patch{patch}}, "patched")
			if err != nil {
				t.Fatal(err)
			}
			found, err := whatif.Run(t.Context(), base, []*scenario.Scenario{varied.Scenario}, opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(found[0], &c.Found, cmpopts.IgnoreFields(whatif.Found{}, "Cause")); diff != "" { // advice names no causes
				t.Errorf("figures (-run again +told)\n%s", diff)
			}
			again, err := simulation.Run(t.Context(), varied.Scenario.AppendStep(advice.Restart(web)), simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := again.Last().Rollouts[0].Complete; got != c.Rollout.Ends {
				t.Errorf("rollout ends: %v when run again, told %v", got, c.Rollout.Ends)
			}
		})
	}
}

// The advice is the same on one core and on four, including trials.
func TestWorkers(t *testing.T) {
	s := world(t, "2", "5", "")
	opts := advice.Options{Trials: 4, Seed: 7, Workers: 1}
	one := ask(t, s, opts)
	opts.Workers = 4
	four := ask(t, s, opts)
	if diff := cmp.Diff(one.Candidates, four.Candidates, cmpopts.IgnoreUnexported(advice.Candidate{})); diff != "" {
		t.Errorf("(-one +four)\n%s", diff)
	}
	trials := one.Candidates[0].Trials
	if trials == nil || trials.N != 4 || trials.Seed != 7 {
		t.Errorf("trials %+v", trials)
	}
}

func TestNoAdvice(t *testing.T) {
	s := world(t, "1", "1", "")
	if _, err := advice.ForWorkload(t.Context(), s, cluster.Ref{Kind: "DaemonSet", Namespace: "default", Name: "log"}, advice.Options{}); err == nil {
		t.Error("advice for a DaemonSet")
	}
	gone := s.AppendStep(scenario.Step{Name: "bye", Delete: &scenario.Delete{Targets: []string{"deployment/web"}}})
	if _, err := advice.ForWorkload(t.Context(), gone, web, advice.Options{}); err == nil || !strings.Contains(err.Error(), `no longer exists after the last step, "bye"`) {
		t.Errorf("of a workload that is gone: %v", err)
	}
}
