package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/run"
)

// edited returns the stored walkthrough after changes of some steps, under other conditions:
//   - hard-zone-3: the third pod finds no node
//   - soft-region-3: the second and the third pod change places, and have other names, since the template changed
//   - weighted-2: the first pod, which has three equal nodes, is on another one; weighted-3 keeps it there
//   - hard-region-2 is missing, and last is new
func edited(t *testing.T) *run.Report {
	r := oldReport(t)
	r.Version, r.Scheduler.Version, r.Ties, r.Seed = "v2", "v1.38.0", "random", 7
	r.Cluster.Nodes++
	r.Steps = r.Steps[1:]
	step := func(name string) *run.Step {
		i := slices.IndexFunc(r.Steps, func(s run.Step) bool { return s.Name == name })
		return &r.Steps[i]
	}
	zone := step("hard-zone-3")
	zone.Pods[2].Node, zone.Pods[2].Decision, zone.Pods[2].Status, zone.Pods[2].Message = "", nil, "Pending", "0/4 nodes are available: 4 Insufficient cpu."
	zone.Summary = run.Summary{Pods: 3, Running: 2, Pending: 1, Placed: 2}
	zone.Workloads[0].Running, zone.Workloads[0].Pending = 2, 1
	d := &zone.Workloads[0].Domains[0]
	d.Counts, d.Empty, d.Skew = d.Counts[1:], 1, 1
	zone.Expectations[0].Met, zone.Expectations[0].Got = false, "1"
	soft := step("soft-region-3")
	soft.Pods[1].Node, soft.Pods[2].Node = soft.Pods[2].Node, soft.Pods[1].Node
	for i := range soft.Pods {
		soft.Pods[i].Name = strings.Replace(soft.Pods[i].Name, "6df84fc8b8", "other", 1)
	}
	soft.Rollouts = []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "lorem-ipsum-deployment"}, Desired: 3, Waiting: "a pod waits for a node"}}
	step("weighted-2").Pods[0].Node, step("weighted-3").Pods[0].Node = "affinity-worker2", "affinity-worker2"
	r.Steps = append(r.Steps, run.Step{Name: "last"})
	return r
}

func writeDiff(t testing.TB, d *Report, format string, opts report.Options) string {
	t.Helper()
	var out strings.Builder
	if err := Formats.Write(&out, d, format, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDiffGolden(t *testing.T) {
	d := New(oldReport(t), edited(t), "v2")
	d.Old.File, d.FailOn = "old.json", []string{expect.FailOnMoved, expect.FailOnRadius}
	diffGolden(t, "report", d)
	diffGolden(t, "blast", NewBlast(oldBlast(t), editedBlast(t), "dev"))
}

func diffGolden(t *testing.T, name string, d *Report) {
	reporttest.Golden(t, ""+name+".text", writeDiff(t, d, "text", report.Options{}))
	reporttest.Golden(t, ""+name+".quiet", writeDiff(t, d, "text", report.Options{Quiet: true}))
	reporttest.Golden(t, ""+name+".json", writeDiff(t, d, "json", report.Options{}))
	reporttest.Golden(t, ""+name+".markdown", writeDiff(t, d, "markdown", report.Options{}))
}

// editedBlast returns the stored report with another worst failure in its second step: the failure of zone east-1b takes two of three pods,
// strands two, and takes a quorum.
func editedBlast(t *testing.T) *blast.Report {
	r := oldBlast(t)
	i := slices.IndexFunc(r.Steps, func(s blast.Step) bool { return s.Name == "hard-zone-3" })
	l := &r.Steps[i].Levels[1]
	f := &l.Failures[0]
	l.Radius.Share, l.Radius.Lost, l.Radius.Domains = 2.0/3, 2, f.Domains
	f.Workloads[0].Lost, f.Workloads[0].Quorum, f.Workloads[0].QuorumLost = 2, 2, true
	f.BrokenBudgets = []string{"default/lorem"}
	f.Recovery.Stranded = append(f.Recovery.Stranded, f.Recovery.Stranded[0])
	r.Mode = "deleted"
	return r
}

// A report has no difference from itself.
func TestDiffOfItself(t *testing.T) {
	diffs := map[string]*Report{
		"stored": New(oldReport(t), oldReport(t), "dev"), "large": New(crowd("n"), crowd("n"), "dev"), "hostile": New(hostileRun(), hostileRun(), "dev"),
		"blast": NewBlast(oldBlast(t), oldBlast(t), "dev"), "hostile blast": NewBlast(hostileFailure(1), hostileFailure(1), "dev"),
	}
	for name, d := range diffs {
		d.FailOn = FailOns(d.Of)
		if d.Verdict != "no difference" || d.Worse || len(d.Steps)+len(d.Failures)+len(d.Differences)+len(d.Conditions)+len(d.Failed()) > 0 {
			t.Errorf("%s: %s", name, writeDiff(t, d, "json", report.Options{}))
		}
		if len(d.Unchanged) != d.Old.Steps {
			t.Errorf("%s: %d of %d steps are unchanged", name, len(d.Unchanged), d.Old.Steps)
		}
	}
}

// In the other direction, a moved pod moves back, an added one is removed, and a change for the worse is one for the better.
func TestDiffBothWays(t *testing.T) {
	worlds := []*run.Report{oldReport(t), edited(t)}
	for i := range 20 { // each time rotates the nodes, the names and the number of pods of some steps
		r := oldReport(t)
		for j := range r.Steps {
			s := &r.Steps[j]
			if n := len(s.Pods); (i+j)%3 == 0 {
				s.Pods = append(s.Pods[i%n:], s.Pods[:i%n]...)
				s.Pods[n-1].Node = s.Pods[0].Node
			}
			if (i+j)%4 == 0 {
				s.Pods = s.Pods[:len(s.Pods)-1]
			}
			for k := range s.Pods {
				if (i+k)%5 == 0 {
					s.Pods[k].Name += fmt.Sprint(i)
				}
				if (i*j+k)%7 == 0 {
					s.Pods[k].Node = ""
				}
			}
		}
		worlds = append(worlds, r)
	}
	type counts struct{ moved, added, removed, pending, noLonger, unmet, noLongerUnmet, stuck, noLongerStuck int }
	moved := 0
	for _, a := range worlds {
		for _, b := range worlds {
			there, back := New(a, b, ""), New(b, a, "")
			if diff := cmp.Diff(slices.Sorted(slices.Values(there.Unchanged)), slices.Sorted(slices.Values(back.Unchanged))); diff != "" {
				t.Fatalf("unchanged:\n%s", diff)
			}
			of := map[string]counts{}
			for _, s := range there.Steps {
				of[s.Name] = counts{len(s.Moved), len(s.Added), len(s.Removed), len(s.NewlyPending), len(s.NoLongerPending), len(s.NewlyUnmet), len(s.NoLongerUnmet), len(s.NewlyStuck), len(s.NoLongerStuck)}
				moved += len(s.Moved)
			}
			reversed := map[string]counts{}
			for _, s := range back.Steps {
				reversed[s.Name] = counts{len(s.Moved), len(s.Removed), len(s.Added), len(s.NoLongerPending), len(s.NewlyPending), len(s.NoLongerUnmet), len(s.NewlyUnmet), len(s.NoLongerStuck), len(s.NewlyStuck)}
			}
			if !maps.Equal(of, reversed) {
				t.Fatalf("there %v\nback  %v", of, reversed)
			}
			first, _, _ := strings.Cut(there.Verdict, " moved")
			second, _, _ := strings.Cut(back.Verdict, " moved")
			if slices.Contains(there.Differences, expect.FailOnMoved) && first != second {
				t.Fatalf("there %s\nback  %s", there.Verdict, back.Verdict)
			}
		}
	}
	if moved == 0 {
		t.Error("no world moves a pod")
	}
}

func TestPairPods(t *testing.T) {
	// "a@1 b@2" means pod a on node 1 and pod b on node 2.
	pods := func(kind, words string) []run.Pod {
		var all []run.Pod
		for word := range strings.FieldsSeq(words) {
			name, node, _ := strings.Cut(word, "@")
			all = append(all, run.Pod{PodRef: cluster.PodRef{Name: name, Workload: kind}, Node: node})
		}
		return all
	}
	for name, test := range map[string]struct{ kind, old, new, want string }{
		"by name":                           {"deployment/d", "a@1 b@2", "b@2 a@3", "b→b a→a"},
		"another template":                  {"deployment/d", "a@1 b@2", "x@1 y@3", "a→x b→y"},
		"another template and more":         {"deployment/d", "a@1 b@2", "x@1 y@2 z@3", "a→x b→y +z"},
		"fewer":                             {"deployment/d", "a@1 b@2 c@3", "a@1 c@3", "a→a c→c -b"},
		"one pod more was created before":   {"deployment/d", "a@1 b@2 c@3", "b@1 c@2 d@3", "a→b b→c c→d"},
		"one gone and one new":              {"deployment/d", "a@1 b@2 c@3", "a@1 c@3 d@2", "a→a c→c b→d"},
		"half of a rollout":                 {"deployment/d", "a@1 b@2", "a@1 x@3", "a→a b→x"},
		"a StatefulSet's have an identity":  {"statefulset/s", "s-0@1 s-1@2", "s-1@1 s-2@2", "s-1→s-1 +s-2 -s-0"},
		"a DaemonSet's have a node":         {"daemonset/d", "a@1 b@2", "x@2 y@3", "b→x +y -a"},
		"pods without an owner have a name": {"", "a@1", "b@1", "+b -a"},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := pods(test.kind, test.old), pods(test.kind, test.new)
			pairs, added, removed := pairPods(old, new)
			var got []string
			for _, at := range pairs {
				got = append(got, old[at.old].Name+"→"+new[at.new].Name)
			}
			for _, i := range added {
				got = append(got, "+"+new[i].Name)
			}
			for _, i := range removed {
				got = append(got, "-"+old[i].Name)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A move may be due to chance if both nodes were among equals, and no recorded score contradicts that.
func TestAmongEquals(t *testing.T) {
	pod := func(node string, ties int, candidates ...placement.Candidate) run.Pod {
		p := run.Pod{PodRef: cluster.PodRef{Name: "p"}, Node: node, Decision: &placement.Decision{Feasible: 3, Scored: 3, Ties: ties}}
		if candidates != nil {
			p.Cycle = &placement.Cycle{Candidates: candidates}
		}
		return p
	}
	equal := []placement.Candidate{{Node: "n1", Rank: 1}, {Node: "n2", Rank: 1}, {Node: "n3", Rank: 3}}
	for name, test := range map[string]struct {
		old, new run.Pod
		want     bool
	}{
		"ties":            {pod("n1", 2), pod("n2", 2), true},
		"kept ties":       {pod("n1", 2, equal...), pod("n2", 2, equal...), true},
		"no tie before":   {pod("n1", 1), pod("n2", 2), false},
		"no tie now":      {pod("n1", 2), pod("n2", 1), false},
		"below the best":  {pod("n1", 2, equal...), pod("n3", 2), false},
		"the other below": {pod("n3", 2), pod("n1", 2, equal...), false},
		"refused":         {pod("n1", 2), run.Pod{PodRef: cluster.PodRef{Name: "p"}, Node: "n2", Decision: &placement.Decision{Ties: 2}, Cycle: &placement.Cycle{Refusals: []placement.Refusal{{Nodes: []string{"n1"}}}}}, false},
	} {
		d := New(&run.Report{Steps: []run.Step{{Pods: []run.Pod{test.old}}}}, &run.Report{Steps: []run.Step{{Pods: []run.Pod{test.new}}}}, "")
		if got := d.Steps[0].Moved[0].AmongEquals; got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A pod that keeps its node over several steps has the choice of the step that placed it.
func TestDiffSince(t *testing.T) {
	steps := func(node, plugin string) []run.Step {
		return []run.Step{
			{Name: "one", Pods: []run.Pod{{PodRef: cluster.PodRef{Name: "p"}, Node: node, Decision: &placement.Decision{Scored: 2, Ties: 1, Margin: 5, Deciders: []string{plugin}}}}},
			{Name: "two", Pods: []run.Pod{{PodRef: cluster.PodRef{Name: "p"}, Node: node}}},
			{Name: "three", Pods: []run.Pod{{PodRef: cluster.PodRef{Name: "p"}, Node: node}}},
		}
	}
	d := New(&run.Report{Steps: steps("n1", "A")}, &run.Report{Steps: steps("n2", "B")}, "")
	want := MovedPod{Name: "p", From: "n1", To: "n2", Since: "one",
		OldChoice: &Choice{Scored: 2, Ties: 1, Margin: 5, Deciders: []string{"A"}}, NewChoice: &Choice{Scored: 2, Ties: 1, Margin: 5, Deciders: []string{"B"}}}
	for _, step := range d.Steps[1:] {
		if diff := cmp.Diff([]MovedPod{want}, step.Moved); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.Name, diff)
		}
	}
	if d.Steps[0].Moved[0].Since != "" || d.Verdict != "1 pod moved" {
		t.Errorf("since %q: %s", d.Steps[0].Moved[0].Since, d.Verdict)
	}
}

func TestDiffVerdict(t *testing.T) {
	step := func(name string, pods ...run.Pod) run.Step {
		s := run.Step{Name: name, Pods: pods}
		for _, p := range pods {
			if s.Summary.Pods++; p.Node == "" {
				s.Summary.Pending++
			}
		}
		return s
	}
	on := func(name, node string) run.Pod {
		return run.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: name}, Node: node}
	}
	unmet := run.Step{Name: "a", Expectations: []expect.Judged{{Want: "w"}}}
	met := run.Step{Name: "a", Expectations: []expect.Judged{{Want: "w", Met: true}}}
	lost := run.Step{Name: "a", Summary: run.Summary{NotReady: 2}}
	stuck := run.Step{Name: "a", Rollouts: []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Name: "d"}}}}
	for want, test := range map[string]struct {
		old, new []run.Step
		kinds    string
		worse    bool
	}{
		"1 pod moved":                       {[]run.Step{step("a", on("p", "n1"))}, []run.Step{step("a", on("p", "n2"))}, "moved any", false},
		"1 newly Pending":                   {[]run.Step{step("a", on("p", "n1"))}, []run.Step{step("a", on("p", ""))}, "pending any", true},
		"1 fewer Pending":                   {[]run.Step{step("a", on("p", ""))}, []run.Step{step("a", on("p", "n1"))}, "", false},
		"1 newly Pending in b, 1 pod added": {[]run.Step{step("a"), step("b")}, []run.Step{step("a"), step("b", on("p", ""))}, "pending any", true},
		"up to 2 newly Pending in b and 1 other step, 3 pods added": {[]run.Step{step("a"), step("b")},
			[]run.Step{step("a", on("o", "")), step("b", on("p", ""), on("q", ""))}, "pending any", true},
		// One step got worse, though another got better by more.
		"1 newly Pending in b": {[]run.Step{step("a", on("p", ""), on("q", "")), step("b", on("r", "n"))},
			[]run.Step{step("a", on("p", "n"), on("q", "n")), step("b", on("r", ""))}, "pending any", true},
		"2 newly not ready":             {[]run.Step{step("a")}, []run.Step{lost}, "any", true},
		"2 fewer not ready":             {[]run.Step{lost}, []run.Step{step("a")}, "", false},
		"1 rollout newly stuck":         {[]run.Step{step("a")}, []run.Step{stuck}, "any", true},
		"1 rollout no longer stuck":     {[]run.Step{stuck}, []run.Step{step("a")}, "", false},
		"1 expectation newly unmet":     {[]run.Step{met}, []run.Step{unmet}, "expectations any", true},
		"1 expectation no longer unmet": {[]run.Step{unmet}, []run.Step{met}, "", false},
		"1 step added":                  {nil, []run.Step{step("a", on("p", ""))}, "", false},
		"1 step removed":                {[]run.Step{step("a", on("p", ""))}, nil, "", false},
		"1 step not alike":              {[]run.Step{{Name: "a", Pods: []run.Pod{{Wait: placement.Wait{Message: "x"}}}}}, []run.Step{{Name: "a", Pods: []run.Pod{{Wait: placement.Wait{Message: "y"}}}}}, "", false},
		"1 pod added, 1 pod removed":    {[]run.Step{step("a", on("p", "n"))}, []run.Step{step("a", on("q", "n"))}, "", false},
		"2 pods moved (only changed places)": {[]run.Step{step("a", deployed("p", "n1"), deployed("q", "n2"))},
			[]run.Step{step("a", deployed("p", "n2"), deployed("q", "n1"))}, "moved any", false},
	} {
		d := New(&run.Report{Steps: test.old}, &run.Report{Steps: test.new}, "")
		if d.Verdict != want || strings.Join(d.Differences, " ") != test.kinds || d.Worse != test.worse {
			t.Errorf("got  %s: %v, worse %t\nwant %s: %s, worse %t", d.Verdict, d.Differences, d.Worse, want, test.kinds, test.worse)
		}
	}
}

func deployed(name, node string) run.Pod {
	return run.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: name, Workload: "deployment/d"}, Node: node}
}

func TestBlastDiffVerdict(t *testing.T) {
	// world is four zones. The failure of one takes lost of 4 pods, and leaves the given number of pods of another workload stranded; -1
	// means that no recovery was simulated.
	world := func(lost, stranded int) *blast.Report {
		f := askblast.Failure{Domains: []string{"a"}, Workloads: []askblast.Loss{{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "d"}, Replicas: 4, Lost: lost, Even: 1, Gone: lost == 4}}}
		if stranded >= 0 {
			f.Recovery = &askblast.Recovery{Stranded: make([]placement.StrandedPod, stranded)}
		}
		return &blast.Report{Simultaneous: 1, Steps: []blast.Step{{Name: "s", Analysis: askblast.Analysis{Levels: []askblast.Level{{
			TopologyKey: doc.Zone, Domains: 4, Failures: []askblast.Failure{f},
			Radius: askblast.Radius{Share: float64(lost) / 4, Namespace: "default", Workload: "deployment/d", Lost: lost, Replicas: 4, Domains: []string{"a"}},
		}}}}}}
	}
	for want, test := range map[string]struct {
		old, new *blast.Report
		kinds    string
		worse    bool
	}{
		"1 zone takes 2 of 4 of deployment/d (1 if spread evenly)":                        {world(1, -1), world(2, -1), "radius any", true},
		"radius of zone 50% → 25%":                                                        {world(2, -1), world(1, -1), "", false},
		"1 zone takes 4 of 4 of deployment/d (1 if spread evenly), 1 workload newly gone": {world(3, -1), world(4, -1), "radius any", true},
		"up to 2 more lost pods do not come back":                                         {world(1, 0), world(1, 2), "stranded any", true},
		"up to 2 more lost pods come back":                                                {world(1, 2), world(1, 0), "", false},
		"up to 1 more lost pod does not come back, radius of zone 50% → 25%":              {world(2, 0), world(1, 1), "stranded any", true},
		"no difference": {world(1, -1), world(1, 2), "", false}, // only one report has recoveries
	} {
		d := NewBlast(test.old, test.new, "")
		if d.Verdict != want || strings.Join(d.Differences, " ") != test.kinds || d.Worse != test.worse {
			t.Errorf("got  %s: %v, worse %t\nwant %s: %s, worse %t", d.Verdict, d.Differences, d.Worse, want, test.kinds, test.worse)
		}
	}
}

// A written report follows the schema, and reading it gives the same report.
func TestDiffSchema(t *testing.T) {
	schema := reporttest.Schema(t, "diff-report")
	empty := &run.Report{Steps: []run.Step{{Name: "a"}}}
	added := &run.Report{Steps: []run.Step{{Name: "a", Workloads: []run.Workload{{Ref: cluster.Ref{Kind: "Deployment", Name: "d"}, Desired: 1, Domains: []run.Distribution{{TopologyKey: doc.Zone}}}}}}}
	for name, d := range map[string]*Report{
		"report": New(oldReport(t), edited(t), "v2"), "blast": NewBlast(oldBlast(t), editedBlast(t), "v2"),
		"same": New(empty, empty, ""), "added": New(empty, added, ""),
	} {
		for _, format := range []string{"json", "yaml"} {
			data := writeDiff(t, d, format, report.Options{})
			got, err := report.Decode[Report](name, []byte(data), Kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, format, diff)
			}
		}
		if err := reporttest.Validate(t, schema, writeDiff(t, d, "json", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiffFormats(t *testing.T) {
	d := New(&run.Report{}, &run.Report{}, "")
	if err := Formats.Write(&strings.Builder{}, d, "wide", report.Options{}); err == nil || err.Error() != `unknown output format "wide"; use one of text, json, yaml, markdown, html` {
		t.Error(err)
	}
}

// crowd returns a report of 3,000 pods on nodes with that name.
func crowd(node string) *run.Report {
	s := run.Step{Name: "all", Summary: run.Summary{Pods: 3000, Running: 3000}}
	for i := range 3000 {
		s.Pods = append(s.Pods, run.Pod{PodRef: cluster.PodRef{Namespace: "default", Name: fmt.Sprintf("web-%04d", i), Workload: "deployment/web"}, Node: fmt.Sprint(node, "-", i%300), Status: "Running"})
	}
	return &run.Report{Steps: []run.Step{s}}
}

// For a large difference, text has a few pages, a page of Markdown keeps its limit, and --all lists everything.
func TestDiffLarge(t *testing.T) {
	d := New(crowd("n"), crowd("elsewhere"), "")
	if want := "3000 pods moved"; d.Verdict != want {
		t.Errorf("%s, want %s", d.Verdict, want)
	}
	short, all := writeDiff(t, d, "text", report.Options{}), writeDiff(t, d, "text", report.Options{All: true})
	if n := strings.Count(short, "\n"); n > 40 || !strings.Contains(short, "and 2990 more pods; use --all to list them") {
		t.Errorf("%d lines:\n%s", n, short)
	}
	if n := strings.Count(all, "elsewhere"); n != 3000 {
		t.Errorf("--all lists %d of 3000", n)
	}
	reporttest.CheckBounded(t, writeDiff(t, d, "markdown", report.Options{}))
	if diff := cmp.Diff(writeDiff(t, d, "json", report.Options{}), writeDiff(t, New(crowd("n"), crowd("elsewhere"), ""), "json", report.Options{})); diff != "" {
		t.Errorf("not the same twice:\n%s", diff)
	}
}

// oldReport and oldBlast return those of the walkthrough, without some of its steps.
func oldReport(t testing.TB) *run.Report {
	t.Helper()
	r, err := run.Decode("walkthrough.json", reporttest.ReadFile(t, "../run/testdata/walkthrough.json"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func oldBlast(t testing.TB) *blast.Report {
	t.Helper()
	r, err := blast.Decode("walkthrough.json", reporttest.ReadFile(t, "../blast/testdata/walkthrough.json"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hostileRun and hostileFailure return reports with hostile texts in everything that a comparison shows.
func hostileRun() *run.Report {
	const h = reporttest.Hostile
	return &run.Report{
		Head: report.Head{Scenario: h, Version: h, Ties: "random", Cluster: report.Cluster{Levels: []report.Level{{TopologyKey: h, Domains: 2}}}},
		Steps: []run.Step{{
			Name: h, Action: h, TopologyKeys: []string{h}, Why: []string{h}, Notes: []string{h},
			Pods:         []run.Pod{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Wait: placement.Wait{Message: h}}, {PodRef: cluster.PodRef{Namespace: h, Name: h + "2", Workload: h}, Node: "n", Status: "Running"}},
			Workloads:    []run.Workload{{Ref: cluster.Ref{Kind: "Deployment", Namespace: h, Name: h}, Domains: []run.Distribution{{TopologyKey: h, Counts: []run.Count{{Domain: h, Pods: 1}}}}}},
			Preempted:    []run.Preemption{{Victim: h, For: h, Node: h}},
			Rollouts:     []controller.Rollout{{Ref: cluster.Ref{Kind: "Deployment", Namespace: h, Name: h}, Waiting: h}},
			Expectations: []expect.Judged{{Want: h, Got: h, Source: &manifest.Place{File: h, Line: 1}}},
		}},
	}
}

func hostileFailure(lost int) *blast.Report {
	const h = reporttest.Hostile
	radius := askblast.Radius{Share: float64(lost) / 4, Namespace: h, Workload: h, Lost: lost, Replicas: 4, Domains: []string{h}}
	return &blast.Report{Head: report.Head{Scenario: h}, Mode: "unreachable", Simultaneous: 1, Recover: true, Steps: []blast.Step{{Name: h, Action: h, Analysis: askblast.Analysis{Levels: []askblast.Level{{
		TopologyKey: h, Domains: 1, Radius: radius, Failures: []askblast.Failure{{
			Domains: []string{h}, Nodes: []string{h}, Pods: 1, BrokenBudgets: []string{h},
			Workloads: []askblast.Loss{{Ref: cluster.Ref{Kind: h, Namespace: h, Name: h}, Replicas: 4, Lost: lost, QuorumLost: lost > 1, Gone: lost > 3, BrokenBudgets: []string{h}}},
			Recovery:  &askblast.Recovery{After: radius, Stranded: make([]placement.StrandedPod, lost)},
		}},
	}}}}}}
}

// altered returns the report with other pods, other numbers, and a name for everything that Markdown shows.
func altered(r *run.Report) *run.Report {
	r.Version, r.Scenario = r.Version+"2", r.Scenario+"2"
	s := &r.Steps[0]
	s.Pods[0].Message, s.Pods[1].Node = s.Pods[0].Message+"2", s.Pods[1].Node+reporttest.Hostile
	s.Pods = append(s.Pods, run.Pod{PodRef: cluster.PodRef{Namespace: reporttest.Hostile, Name: reporttest.Hostile + "3", Workload: reporttest.Hostile}, Wait: placement.Wait{Message: reporttest.Hostile}})
	s.Summary.Pending, s.Summary.NotReady = 7, 8
	s.Workloads[0].Domains[0].Counts[0].Pods = 9
	s.Rollouts[0].Name += "2"
	s.Expectations[0].Want += "2"
	r.Steps = append(r.Steps, run.Step{Name: reporttest.Hostile + "2"})
	return r
}

func TestDiffMarkdownHostile(t *testing.T) {
	reporttest.CheckHarmless(t, writeDiff(t, New(hostileRun(), altered(hostileRun()), reporttest.Hostile), "markdown", report.Options{}))
	reporttest.CheckHarmless(t, writeDiff(t, NewBlast(hostileFailure(1), hostileFailure(4), reporttest.Hostile), "markdown", report.Options{}))
}
