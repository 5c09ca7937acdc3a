package capacity_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/ask/capacity"
)

// fit finds how many more pods of the only workload fit, and how many bytes that takes.
func fit(t *testing.T, world string, obj k8sruntime.RawExtension) (capacity.Mix, uint64) {
	t.Helper()
	result := run(t, world, obj)
	asked, err := capacity.Mixes(result.State(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answers, err := capacity.Find(t.Context(), result, asked, capacity.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return answers[0], after.TotalAlloc - before.TotalAlloc
}

// A StatefulSet that makes its pods one by one has the same answer as one that makes them at once, in the same words, and takes not much
// more work. One by one, the controller would look at all of 240 pods 240 times.
func TestPodsOneByOne(t *testing.T) {
	world := strings.Replace(three, `"pods": 10`, `"pods": 80`, 1)
	for _, rules := range []string{"", apart} {
		ordered, byOne := fit(t, world, workloadOf("StatefulSet", "db", 2, "10m", "1Mi", rules))
		text := strings.Replace(string(workloadOf("StatefulSet", "db", 2, "10m", "1Mi", rules).Raw), `"spec": {`, `"spec": {"podManagementPolicy": "Parallel", `, 1)
		atOnce, together := fit(t, world, k8sruntime.RawExtension{Raw: []byte(text)})
		if diff := cmp.Diff(atOnce, ordered); diff != "" {
			t.Errorf("(-at once +one by one)\n%s", diff)
		}
		if byOne > 2*together {
			t.Errorf("one by one takes %d bytes, at once %d", byOne, together)
		}
	}
}

// For plain pods no further count is tried. If a hard rule could make a smaller count fail, some are.
func TestChecks(t *testing.T) {
	world := strings.Replace(three, `"pods": 10`, `"pods": 80`, 1)
	for name, test := range map[string]struct {
		rules  string
		steady bool
	}{
		"plain":                {"", true},
		"a hard rule":          {spread, false},
		"a volume on the node": {`"volumes": [{"name": "tmp", "emptyDir": {}}], `, true},
	} {
		answer, _ := fit(t, world, deployment("web", 2, "10m", "1Mi", test.rules))
		// The present count, the one that the resources allow, and the next.
		if steady := answer.Fit.Probes <= 3; steady != test.steady {
			t.Errorf("%s: %d counts are tried", name, answer.Fit.Probes)
		}
	}
}
