package whatif_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
)

const zone = "topology.kubernetes.io/zone"

// sweepFile has three zones with a node for two pods each. db takes one place in zone c, and then web runs in up to seven replicas under three
// rules: 21 points.
const sweepFile = `{"cluster": [{"synthetic": {"zones": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "nodeGroups": [{"count": 1, "pods": 2}]}}],
"steps": [
	{"name": "db", "apply": {"objects": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db"},
		"spec": {"nodeSelector": {"topology.kubernetes.io/zone": "c"}, "containers": [{"name": "c", "image": "i"}]}}]}},
	{"name": "web", "apply": {"objects": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
		"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
		"spec": {"containers": [{"name": "c", "image": "i"}]}}}}]}}],
"sweep": {"parameters": [{"name": "rule", "values": ["none", "hard", "spread"]}, {"name": "replicas", "range": {"from": 0, "to": 6}}],
	"variant": {"replicas": {"deployment/web": "$(replicas)"}, "rules": [{"rule": "$(rule)", "workload": "deployment/web"}]}}}`

func loadSweep(t *testing.T) *scenario.Scenario {
	t.Helper()
	var file scenario.File
	if err := json.Unmarshal([]byte(sweepFile), &file); err != nil {
		t.Fatal(err)
	}
	s, err := loader.New("test", &file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sweepVersions(s *scenario.Scenario) []*scenario.Scenario {
	var all []*scenario.Scenario
	for _, point := range s.Points {
		all = append(all, point.Scenario)
	}
	return all
}

func runVersions(t *testing.T, s *scenario.Scenario, opts whatif.Options) []*whatif.Found {
	t.Helper()
	base, err := whatif.RunBase(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	found, err := whatif.Run(t.Context(), base, sweepVersions(s), opts)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// With one place left in c and two each in a and b, five pods fit. Only three pods fit with a hard rule over nodes. With a spread
// constraint, no node may exceed c, which takes one pod, by more than one: two, two and one.
func TestRun(t *testing.T) {
	s := loadSweep(t)
	found := runVersions(t, s, whatif.Options{Metric: metric.Options{Levels: []string{zone}, Recover: []string{zone}}})
	pending := map[string][]int{}
	for i, f := range found {
		rule := s.Points[i].Values[0].String()
		pending[rule] = append(pending[rule], f.Pending)
	}
	want := map[string][]int{"none": {0, 0, 0, 0, 0, 0, 1}, "hard": {0, 0, 0, 0, 1, 2, 3}, "spread": {0, 0, 0, 0, 0, 0, 1}}
	if diff := cmp.Diff(want, pending); diff != "" {
		t.Errorf("Pending by replicas (-want +got)\n%s", diff)
	}
	// With a hard rule, three pods are one in each zone. The loss of a zone takes a third of them, and the other two zones are taken.
	three := found[7+3].Level(zone)
	if three.Radius != 1.0/3 || three.Skew != 0 {
		t.Errorf("three by a hard rule: radius %v, skew %d, want 1/3 and 0", three.Radius, three.Skew)
	}
	wantFailures := []metric.FailureMetrics{{Domain: "a", Lost: 1, Stranded: 1}, {Domain: "b", Lost: 1, Stranded: 1}, {Domain: "c", Lost: 2, Stranded: 1, Unreplaced: 1}}
	if diff := cmp.Diff(wantFailures, three.Failures); diff != "" {
		t.Errorf("failures (-want +got)\n%s", diff)
	}
}

// Neither the number of workers nor the reuse of other runs changes a result.
func TestRunIsTheSameHoweverItIsDone(t *testing.T) {
	s := loadSweep(t)
	for _, random := range []bool{false, true} {
		s.Ties.Random = random
		for i := range s.Points {
			s.Points[i].Scenario.Ties = s.Ties
		}
		opts := whatif.Options{Workers: 1, Metric: metric.Options{Recover: []string{zone}}}
		var alone []*whatif.Found
		for _, version := range sweepVersions(s) {
			base, err := whatif.RunBase(t.Context(), s, opts)
			if err != nil {
				t.Fatal(err)
			}
			one, err := whatif.Run(t.Context(), base, []*scenario.Scenario{version}, opts)
			if err != nil {
				t.Fatal(err)
			}
			alone = append(alone, one...)
		}
		for _, workers := range []int{1, 2, 5} {
			opts.Workers = workers
			if diff := cmp.Diff(alone, runVersions(t, s, opts)); diff != "" {
				t.Errorf("random ties %t, %d workers (-alone +together)\n%s", random, workers, diff)
			}
		}
	}
}

func TestRunNamesTheVersionThatFails(t *testing.T) {
	s := loadSweep(t)
	base, err := whatif.RunBase(t.Context(), s, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	broken := s.AppendStep(scenario.Step{Name: "more", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/api"}}})
	_, err = whatif.Run(t.Context(), base, []*scenario.Scenario{s, broken}, whatif.Options{Workers: 1})
	var failed *whatif.VersionError
	if !errors.As(err, &failed) || failed.Index != 1 {
		t.Errorf("error %v, want that of version 1", err)
	}
	_, err = whatif.Run(t.Context(), base, []*scenario.Scenario{s}, whatif.Options{Done: func(int, *whatif.Found) error { return os.ErrClosed }})
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("error %v, want that of Done", err)
	}
}

// db is the first step: after it there is one pod, regardless of the version's change to web.
func TestRunUpToAStep(t *testing.T) {
	s := loadSweep(t)
	for _, found := range runVersions(t, s, whatif.Options{Step: "db"}) {
		if found.Pods != 1 {
			t.Errorf("%d pods after step db, want 1", found.Pods)
		}
	}
	if _, err := whatif.RunBase(t.Context(), s, whatif.Options{Step: "none"}); err == nil || err.Error() != `there is no step "none"` {
		t.Errorf("error %v", err)
	}
}

// A sweep runs the points that its store lacks, finds the same results as without a store, and names the point that fails.
func TestSweep(t *testing.T) {
	s := loadSweep(t)
	base, err := whatif.RunBase(t.Context(), s, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := whatif.NewKeys(s, whatif.Options{}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	store, err := whatif.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := runVersions(t, s, whatif.Options{})
	for _, sweep := range []struct {
		points []scenario.Point
		store  *whatif.Store
		known  int
	}{{s.Points, nil, 0}, {s.Points[2:5], store, 0}, {s.Points, store, 3}, {s.Points, store, len(s.Points)}} {
		most := 0
		opts := whatif.Options{Progress: func(last, done, total int) {
			if most = done; total != len(sweep.points) || sweep.known == 3 && 2 <= last && last < 5 {
				t.Errorf("point %d is at work, %d of %d done, with %d known", last, done, total, sweep.known)
			}
		}}
		found, known, err := whatif.Sweep(t.Context(), base, sweep.points, keys, sweep.store, opts)
		if err != nil || known != sweep.known || most < len(sweep.points) && known < len(sweep.points) {
			t.Errorf("%d known, %d done, %v; want %d known", known, most, err, sweep.known)
		}
		if diff := cmp.Diff(want, found); diff != "" && len(found) == len(want) {
			t.Errorf("with %d known (-want +got)\n%s", known, diff)
		}
	}
	broken := s.Points[0]
	broken.Name, broken.Scenario = "broken", s.AppendStep(scenario.Step{Name: "more", Scale: &scenario.Scale{Target: scenario.Target{Target: "deployment/api"}}})
	_, _, err = whatif.Sweep(t.Context(), base, []scenario.Point{s.Points[2], broken}, keys, store, whatif.Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "point broken: ") {
		t.Errorf("error %v, want that of the point broken", err)
	}
}

// An interrupted sweep has the points that are finished, in this run or an earlier one; without any there is nothing to report.
func TestInterrupted(t *testing.T) {
	s := loadSweep(t)
	base, err := whatif.RunBase(t.Context(), s, whatif.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := whatif.NewKeys(s, whatif.Options{}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	store, err := whatif.OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := runVersions(t, s, whatif.Options{})
	for _, test := range []struct {
		after    int // the points that are begun
		store    *whatif.Store
		finished []int
	}{{0, nil, nil}, {3, nil, []int{0, 1}}, {3, store, []int{0, 1}}, {0, store, []int{0, 1}}, {2, store, []int{0, 1, 2}}} {
		ctx, cancel := context.WithCancel(t.Context())
		if test.after == 0 {
			cancel()
		}
		begun := map[int]bool{}
		opts := whatif.Options{Workers: 1, Progress: func(last, _, _ int) {
			if begun[last] = true; len(begun) == test.after {
				cancel()
			}
		}}
		found, _, err := whatif.Sweep(ctx, base, s.Points, keys, test.store, opts)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted in point %d: %v", test.after, err)
		}
		var expected []*whatif.Found
		if test.finished != nil {
			expected = make([]*whatif.Found, len(s.Points))
			for _, i := range test.finished {
				expected[i] = want[i]
			}
		}
		if diff := cmp.Diff(expected, found); diff != "" {
			t.Errorf("interrupted in point %d (-want +got)\n%s", test.after, diff)
		}
	}
}

func TestKeys(t *testing.T) {
	s := loadSweep(t)
	key := func(s *scenario.Scenario, i int, opts whatif.Options, version string) string {
		keys, err := whatif.NewKeys(s, opts, version)
		if err != nil {
			t.Fatal(err)
		}
		key, err := keys.OfPoint(&s.Points[i])
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	seeded := *s
	seeded.Ties.Seed = 7
	shuffled := *s
	shuffled.Ties.Arrivals = true
	all := []string{
		key(s, 0, whatif.Options{}, "v1"), key(s, 1, whatif.Options{}, "v1"), key(s, 0, whatif.Options{}, "v2"), key(&seeded, 0, whatif.Options{}, "v1"),
		key(&shuffled, 0, whatif.Options{}, "v1"),
		key(s, 0, whatif.Options{Step: "db"}, "v1"), key(s, 0, whatif.Options{Metric: metric.Options{Recover: []string{zone}}}, "v1"),
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 7 {
		t.Error("what differs has the same key")
	}
	if key(s, 3, whatif.Options{}, "v1") != key(loadSweep(t), 3, whatif.Options{Workers: 2}, "v1") {
		t.Error("the same point, read twice, has two keys")
	}
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	store, err := whatif.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := store.Get("abc"); found != nil || err != nil {
		t.Errorf("got %v, %v before anything is there", found, err)
	}
	want := &whatif.Found{Metrics: metric.Metrics{Pods: 3, Pending: 1, Cost: new(0.1), Levels: []metric.LevelMetrics{{TopologyKey: zone, Radius: 1.0 / 3}}}, Moved: 2}
	if err := store.Put("abc", want); err != nil {
		t.Fatal(err)
	}
	got, err := store.Get("abc")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%d files, %v; want one", len(files), err)
	}
	// Points that a failed machine left incomplete run again, and a file that no Store has written is an error.
	for name, content := range map[string]string{"none": "", "half": `{"Key": "half`, "zeros": "\x00\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if found, err := store.Get(name); found != nil || err != nil {
			t.Errorf("%s: got %v, %v, want neither", name, found, err)
		}
		if err := store.Put(name, want); err != nil {
			t.Fatal(err)
		}
		if found, err := store.Get(name); found == nil || err != nil {
			t.Errorf("%s: got %v, %v after it was written anew", name, found, err)
		}
	}
	for name, content := range map[string]string{"another": "{\"Key\": \"abc\", \"Found\": {}}\n", "empty": "{\"Key\": \"empty\"}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if found, err := store.Get(name); err == nil {
			t.Errorf("%s: got %v, want an error", name, found)
		}
	}
}

// Federations that differ only in Karmada's objects have different keys.
func TestKeysOfFederations(t *testing.T) {
	const federation = `{"clusters": [{"name": "m1", "region": "REGION", "cluster": [{"synthetic": {"nodeGroups": [{"count": NODES}]}}]}], "federation": {"estimate": "ESTIMATE"},
"workloads": [{"objects": [
	{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "web"}, "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
		"placement": {"clusterAffinity": {"clusterNames": ["AFFINITY"]}}}},
	{"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": {"name": "web"}, "spec": {"overrideRules": [{"overriders": {"plaintext": [
		{"path": "/spec/replicas", "operator": "replace", "value": OVERRIDE}]}}]}},
	{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}},
		"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}]}],
"steps": [{"name": "one more", "join": {"name": "m2", "cluster": [{"synthetic": {"nodeGroups": [{"count": JOINED}]}}]}}]}`
	key := func(changed ...string) string {
		text := strings.NewReplacer(append(changed, "REGION", "eu", "NODES", "1", "ESTIMATE", "karmada", "AFFINITY", "m1", "OVERRIDE", "2", "JOINED", "1")...).Replace(federation)
		var file scenario.File
		if err := json.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		s, err := loader.New("test", &file)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := whatif.NewKeys(s, whatif.Options{}, "v1")
		if err != nil {
			t.Fatal(err)
		}
		return keys.Base()
	}
	if once, again := key(), key(); once != again {
		t.Error("the same federation, read twice, has two keys")
	}
	for _, changed := range [][]string{{"REGION", "us"}, {"NODES", "2"}, {"ESTIMATE", "scheduler"}, {"AFFINITY", "m2"}, {"OVERRIDE", "3"}, {"JOINED", "2"}} {
		if key() == key(changed...) {
			t.Errorf("another %s has the same key", changed[0])
		}
	}
}
