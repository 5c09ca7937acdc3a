package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	askblast "github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/blast"
)

// zoned returns a report on three zones, of which the worst failure takes lost of a workload's replicas. The even spread is over open
// zones; 0 means that the report is of a version without even spreads.
func zoned(replicas, lost, open int) *blast.Report {
	even := 0
	if open > 0 {
		even = askblast.EvenLoss(replicas, open, 1)
	}
	level := askblast.Level{TopologyKey: "topology.kubernetes.io/zone", Domains: 3}
	for zone, n := range map[string]int{"a": lost, "b": min(replicas-lost, 1)} {
		if n > 0 {
			level.Failures = append(level.Failures, askblast.Failure{Domains: []string{zone}, Workloads: []askblast.Loss{
				{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, Replicas: replicas, Lost: n, Even: even}}})
		}
	}
	return &blast.Report{Simultaneous: 1, Steps: []blast.Step{{Name: "s", Analysis: askblast.Analysis{Levels: []askblast.Level{level}}}}}
}

// The excess is the part of the loss that an even spread over the zones would not have.
func TestExcess(t *testing.T) {
	none := &blast.Report{Simultaneous: 1, Steps: []blast.Step{{Name: "s", Analysis: askblast.Analysis{Levels: []askblast.Level{{TopologyKey: "topology.kubernetes.io/zone", Domains: 3}}}}}}
	for name, test := range map[string]struct {
		old, new *blast.Report
		want     string // lost before and now, and with an even spread; "" for no finding
	}{
		"one replica more":                    {zoned(6, 2, 3), zoned(7, 3, 3), ""},
		"one replica fewer":                   {zoned(7, 3, 3), zoned(6, 2, 3), ""},
		"together":                            {zoned(6, 2, 3), zoned(6, 4, 3), "2/6 → 4/6, even 2"},
		"more and together":                   {zoned(6, 2, 3), zoned(7, 4, 3), "2/6 → 4/7, even 3"},
		"further together":                    {zoned(6, 3, 3), zoned(6, 4, 3), "3/6 → 4/6, even 2"},
		"less together":                       {zoned(6, 4, 3), zoned(6, 3, 3), ""},
		"twice as many, and as much together": {zoned(3, 2, 3), zoned(6, 4, 3), ""},
		// One pod is too many before and now. It is a larger share of six than of seven, but still one pod.
		"fewer, and the same pod too many": {zoned(7, 4, 3), zoned(6, 3, 3), ""},
		"fewer, and more together":         {zoned(100, 50, 3), zoned(10, 10, 3), "50/100 → 10/10, even 4"},
		// Two replicas are spread evenly over two zones or over three. The six replicas decide that it is three.
		"two replicas leave open how many zones": {zoned(2, 1, 3), zoned(6, 3, 3), "1/2 → 3/6, even 2"},
		"a rule shuts two zones":                 {zoned(6, 2, 3), zoned(6, 6, 1), "2/6 → 6/6, even 2"},
		"two zones were shut before":             {zoned(4, 4, 1), zoned(5, 5, 1), ""},
		"a zone was opened":                      {zoned(6, 3, 2), zoned(6, 3, 3), ""},
		"new, and spread evenly":                 {none, zoned(7, 3, 3), ""},
		"new, and together":                      {none, zoned(7, 4, 3), "→ 4/7, even 3"},
		"gone":                                   {zoned(7, 4, 3), none, ""},
		"new, with one replica":                  {none, zoned(1, 1, 3), ""},
		"one replica before":                     {zoned(1, 1, 3), zoned(3, 2, 3), ""},
		// Reports of versions without even spreads.
		"old: one replica more":           {zoned(6, 2, 0), zoned(7, 3, 3), ""},
		"old: together":                   {zoned(6, 2, 0), zoned(6, 4, 3), "2/6 → 4/6, even 2"},
		"old: a rule shuts two zones":     {zoned(6, 2, 0), zoned(6, 6, 1), "2/6 → 6/6, even 2"},
		"old: two zones were shut before": {zoned(4, 4, 0), zoned(5, 5, 1), ""},
		"both old: one replica more":      {zoned(6, 2, 0), zoned(7, 3, 0), ""},
		"both old: together":              {zoned(6, 2, 0), zoned(6, 3, 0), "2/6 → 3/6, even 2"},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewBlast(test.old, test.new, "")
			got := ""
			for _, step := range d.Failures {
				for _, l := range step.Levels {
					for _, e := range l.Excess {
						if e.Old != nil {
							got = fmt.Sprintf("%d/%d ", e.Old.Lost, e.Old.Replicas)
						}
						got += fmt.Sprintf("→ %d/%d, even %d", e.New.Lost, e.New.Replicas, e.New.Even)
					}
				}
			}
			if got != test.want || d.Worse != (test.want != "") {
				t.Errorf("got %q, worse %t, want %q: %s", got, d.Worse, test.want, d.Verdict)
			}
			noted := slices.ContainsFunc(d.Conditions, func(c Condition) bool { return c.What == "losses of an even spread" })
			if noted != strings.HasPrefix(name, "old: ") {
				t.Errorf("what the old report does not say is noted: %t", noted)
			}
		})
	}
}

func TestOneReplica(t *testing.T) {
	d := NewBlast(zoned(3, 1, 3), zoned(1, 1, 3), "")
	want := []OneReplica{{WorkloadRef: cluster.WorkloadRef{Namespace: "default", Workload: "deployment/web"}, Left: 1, Replicas: 3}}
	if diff := cmp.Diff(want, d.Failures[0].OneReplica); diff != "" || !d.Worse {
		t.Errorf("worse %t (-want +got):\n%s", d.Worse, diff)
	}
	for name, old := range map[string]*blast.Report{"one before": zoned(1, 1, 3), "none before": zoned(0, 0, 3)} {
		if d := NewBlast(old, zoned(1, 1, 3), ""); d.Worse {
			t.Errorf("%s: %s", name, d.Verdict)
		}
	}
}

// No failure takes a workload that wants no replica, so its declaration says that none is left. One that had none or one before is not worse.
func TestNoReplica(t *testing.T) {
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	declares := func(r *blast.Report, replicas int) *blast.Report {
		r.Steps[0].Declared = []report.Declared{{Ref: web, Replicas: &replicas}}
		return r
	}
	d := NewBlast(declares(zoned(3, 1, 3), 3), declares(zoned(0, 0, 3), 0), "")
	if diff := cmp.Diff([]OneReplica{{WorkloadRef: web.Workload(), Replicas: 3}}, d.Failures[0].OneReplica); diff != "" || !d.Worse {
		t.Errorf("worse %t (-want +got):\n%s", d.Worse, diff)
	}
	if d := NewBlast(declares(zoned(1, 1, 3), 1), declares(zoned(0, 0, 3), 0), ""); d.Worse {
		t.Errorf("from one replica to none: %s", d.Verdict)
	}
}

// A pod of a grown workload that only the rules of before hold back is not newly stranded. One that lacks room is, and so is one whose rule is new.
func TestHeldByRules(t *testing.T) {
	web := cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}
	spread := rule.Rule{Kind: rule.Spread, Hard: true, TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1}
	side := func(replicas int, rules []rule.Rule, reasons ...string) *blast.Report {
		r := zoned(replicas, 1, 3)
		failures := r.Steps[0].Levels[0].Failures
		for i := range failures {
			failures[i].Recovery = &askblast.Recovery{}
		}
		if len(reasons) > 0 {
			stranded := placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "default", Workload: "deployment/web"}}
			for _, plugin := range reasons {
				stranded.Reasons = append(stranded.Reasons, placement.Reason{Plugin: plugin, Nodes: 1})
			}
			failures[0].Recovery.Stranded = []placement.StrandedPod{stranded}
		}
		r.Recover = true
		r.Steps[0].Declared = []report.Declared{{Ref: web, Replicas: &replicas, Rules: rules}}
		return r
	}
	before, rules := side(2, []rule.Rule{spread}), []rule.Rule{spread}
	for name, c := range map[string]struct {
		old, new *blast.Report
		want     int
	}{
		"held":      {before, side(3, rules, "PodTopologySpread"), 0},
		"no room":   {before, side(3, rules, "PodTopologySpread", "NodeResourcesFit"), 1},
		"new rule":  {side(2, nil), side(3, rules, "PodTopologySpread"), 1},
		"not grown": {side(3, rules), side(3, rules, "PodTopologySpread"), 1},
	} {
		n := 0
		for _, step := range NewBlast(c.old, c.new, "").Failures {
			for _, l := range step.Levels {
				n += len(l.NewlyStranded)
			}
		}
		if n != c.want {
			t.Errorf("%s: %d newly stranded, want %d", name, n, c.want)
		}
	}
}

// A workload is newly stranded if a failure leaves more of its pods behind than any failure of the level did before.
func TestNewlyStranded(t *testing.T) {
	// "a: web 2/1, api 1/1; b: -" means that a failure of a takes 2 pods of web, of which 1 is stranded, and so on, and that the recovery
	// from a failure of b was not simulated.
	type left struct {
		workload       string
		lost, stranded int
	}
	type world map[string][]left
	of := func(w world) *blast.Report {
		level := askblast.Level{TopologyKey: "topology.kubernetes.io/zone", Domains: 3}
		for _, zone := range slices.Sorted(maps.Keys(w)) {
			f := askblast.Failure{Domains: []string{zone}}
			if w[zone] != nil {
				f.Recovery = &askblast.Recovery{}
			}
			for _, l := range w[zone] {
				if l.lost > 0 {
					f.Workloads = append(f.Workloads, askblast.Loss{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: l.workload}, Replicas: 9, Lost: l.lost, Even: 3})
				}
				for range l.stranded {
					f.Recovery.Stranded = append(f.Recovery.Stranded, placement.StrandedPod{PodRef: cluster.PodRef{Namespace: "default", Workload: "deployment/" + l.workload}})
				}
			}
			level.Failures = append(level.Failures, f)
		}
		return &blast.Report{Simultaneous: 1, Steps: []blast.Step{{Name: "s", Analysis: askblast.Analysis{Levels: []askblast.Level{level}}}}}
	}
	for name, test := range map[string]struct {
		old, new world
		want     string
	}{
		"more":                          {world{"a": {{"web", 3, 1}}}, world{"a": {{"web", 3, 2}}}, "a web 1 → 2"},
		"as many in another zone":       {world{"a": {{"web", 3, 1}}, "b": {{"web", 3, 0}}}, world{"a": {{"web", 3, 0}}, "b": {{"web", 3, 1}}}, ""},
		"another workload, fewer pods":  {world{"a": {{"web", 3, 2}, {"api", 1, 0}}}, world{"a": {{"web", 3, 0}, {"api", 1, 1}}}, "a api 0 → 1"},
		"nothing comes back, as before": {world{"a": {{"web", 2, 2}}}, world{"a": {{"web", 3, 3}}}, ""},
		"and further from even":         {world{"a": {{"web", 2, 2}}}, world{"a": {{"web", 5, 5}}}, "a web 2 → 5"},
		"a victim of preemption":        {world{"a": {{"web", 3, 0}}}, world{"a": {{"web", 3, 0}, {"low", 0, 1}}}, "a low 0 → 1"},
		"not looked at before":          {world{"a": {{"web", 3, 0}}, "b": nil}, world{"a": {{"web", 3, 0}}, "b": {{"web", 3, 2}}}, ""},
		"a new domain":                  {world{"a": {{"web", 3, 0}}}, world{"a": {{"web", 3, 0}}, "b": {{"web", 3, 2}}}, "b web 0 → 2"},
		"no recoveries before":          {world{"a": nil}, world{"a": {{"web", 3, 2}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, step := range NewBlast(of(test.old), of(test.new), "").Failures {
				for _, l := range step.Levels {
					for _, d := range l.NewlyStranded {
						got += fmt.Sprintf("%s %s %d → %d", d.Domains[0], d.Workload[len("deployment/"):], d.Old, d.New)
					}
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
