package roll_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/roll"
	"github.com/faultline/faultline/pkg/simulation"
)

// rollPlanned does the steps of the plan and rolls the pool.
func rollPlanned(t *testing.T, result *simulation.Result, opts roll.Options) *roll.Answer {
	t.Helper()
	opts.Pool, opts.Drain.Timeout, opts.New.After = "pool=general", "15m", "2m"
	w, err := simulation.NewCluster(result.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a, err := roll.RunPlanned(t.Context(), w, result, opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Each budget of three pods is patched so that it allows one eviction: if the database has replicas, one pod may be missing.
func TestRunPlanned(t *testing.T) {
	for spec, want := range map[string][]string{
		"minAvailable: 3":    {`{"spec":{"maxUnavailable":1,"minAvailable":null}}`},
		"minAvailable: 100%": {`{"spec":{"maxUnavailable":1,"minAvailable":null}}`},
		"maxUnavailable: 0":  {`{"spec":{"maxUnavailable":1,"minAvailable":null}}`},
		"minAvailable: 2":    nil,
	} {
		a := rollPlanned(t, runScenario(t, "", claimTemplates, budgetYAML(spec)), roll.Options{Surge: 1})
		var got []string
		for _, p := range a.Plan.Patches {
			got = append(got, string(p.Patch))
			if p.Name != "default/db" || p.Needs != 3 || p.Healthy != 3 {
				t.Errorf("%s: the patch is of %v", spec, p.Budget)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: patches (-want +got):\n%s", spec, diff)
		}
		if !a.Done() || a.Replaced != 3 || len(a.Plan.Remove) > 0 {
			t.Errorf("%s: %s, and %v goes first", spec, summary(a), a.Plan.Remove)
		}
	}
}
