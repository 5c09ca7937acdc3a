package gains

import (
	"encoding/json"
	"testing"

	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// improved returns a workload with these shares of a zone's loss, now and then.
func improved(name, change string, now, then float64, further int) advice.WorkloadAdvice {
	i := advice.WorkloadAdvice{WorkloadRef: cluster.WorkloadRef{Namespace: "shop", Workload: "deployment/" + name}, Replicas: 2, Change: change, Further: further,
		Levels: []advice.Share{{TopologyKey: "topology.kubernetes.io/zone", Now: now, Then: then}}, Gain: now - then}
	if change != "" {
		i.Patch = json.RawMessage(`{"spec":{}}`)
	} else {
		i.Why = "its pods are as far apart as they can be"
	}
	if further > 0 {
		i.Asks, i.Storage, i.ScaledBy, i.Alone = map[string]string{"cpu": "1", "memory": "2Gi"}, []string{"data of 10Gi"}, name, true
	}
	return i
}

func everything(t *testing.T, together *advice.CombinedReplicas, all ...advice.WorkloadAdvice) *Report {
	t.Helper()
	return New(&advice.AllAdvice{Result: reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply", "last"), Levels: []string{"topology.kubernetes.io/zone"},
		Workloads: all, Together: together}, 3, "v0.1.0")
}

func TestFormats(t *testing.T) {
	required := improved("hard", "spread zone", 0.75, 0.5, 0)
	required.Required = true
	r := everything(t, nil, improved("web", "spread zone softly", 1, 0.5, 0), required, improved("one", "2 replicas", 1, 0.5, 1), improved("two", "2 replicas", 1, 0.5, 1),
		improved("apart", "", 0.5, 0.5, 0))
	for _, format := range []string{"text", "markdown"} {
		reporttest.Golden(t, "gains."+format, reporttest.Write(t, Formats, r, format, report.Options{}))
	}
	if err := reporttest.Validate(t, reporttest.Schema(t, "gains-report"), reporttest.Write(t, Formats, r, "json", report.Options{})); err != nil {
		t.Error(err)
	}
}

func TestVerdict(t *testing.T) {
	one, two := improved("one", "2 replicas", 1, 0.5, 1), improved("two", "2 replicas", 1, 0.5, 1)
	for want, r := range map[string]*Report{
		"1 of 1 workload would survive a zone's loss with a change that costs no capacity: shop/deployment/web.": everything(t, nil, improved("web", "spread zone", 1, 0.5, 0)),
		"1 of 2 workloads would lose fewer pods to one loss with a change that costs no capacity: shop/deployment/web.": everything(t, nil,
			improved("web", "spread zone", 0.75, 0.5, 0), improved("x", "", 0.5, 0.5, 0)),
		"2 of 2 workloads would survive a zone's loss with a second replica: shop/deployment/one and shop/deployment/two (all 2 second replicas run at once, and request cpu 2).": everything(t,
			&advice.CombinedReplicas{Workloads: 2, Asks: map[string]string{"cpu": "2"}}, one, two),
		"2 of 2 workloads would survive a zone's loss with a second replica: shop/deployment/one and shop/deployment/two (each alone: with all 2 at once 1 pod is newly Pending).": everything(t,
			&advice.CombinedReplicas{Workloads: 2, Pending: 1}, one, two),
		"No change of a rule, and no second replica, has one loss take less of any of 1 workload.": everything(t, nil, improved("x", "", 0.5, 0.5, 0)),
	} {
		if r.Advice != want {
			t.Errorf("got  %s\nwant %s", r.Advice, want)
		}
	}
	if none := New(&advice.AllAdvice{Result: reporttest.Result(t, reporttest.Nodes("a-1"), "apply", "last")}, 3, "v"); none.Advice != "No change helps: all nodes are one failure domain of every level." {
		t.Errorf("got %s", none.Advice)
	}
}
