package scale

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/world"
)

func aScale() *Report {
	at := func(after time.Duration, nodes, pending int, price float64) world.Moment {
		return world.Moment{At: metav1.NewTime(cluster.Epoch.Add(after)), Nodes: nodes, Pending: pending, Price: &price}
	}
	return &Report{
		Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Version: "v0.1.0", Files: "dump.json, new.yaml", Ties: "upstream"}, Answer: "No: 7 of 9 new pods fit, even with 2 more nodes (general from 2 to 4 nodes, its maximum), 0.40 an hour more",
		Groups: []Group{{Name: "general", Before: 2, After: 4, Min: 1, Max: 4, Price: 0.2, New: []string{"n-new-1", "n-new-2"}}, {Name: "gpu", Max: 1000}},
		More:   ptr.To(0.4), Seconds: 121,
		Waiting: []Waiting{{Message: "0/4 nodes are available: 4 Insufficient cpu.", Autoscaler: "NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size reached",
			Pods: []cluster.PodRef{{Namespace: "shop", Name: "web-1", Workload: "deployment/web"}, {Namespace: "shop", Name: "web-2", Workload: "deployment/web"}}}},
		Moments: []world.Moment{at(0, 2, 9, 0.4), at(2*time.Minute, 4, 9, 0.8), at(121*time.Second, 4, 2, 0.8)},
	}
}

func TestFormats(t *testing.T) {
	reporttest.Formats(t, Formats, aScale(), "scale", "scale-report", Kind)
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	r := &Report{Head: report.Head{Scenario: h}, Answer: h, Groups: []Group{{Name: h, New: []string{h}}}, Waiting: []Waiting{{Pods: []cluster.PodRef{{Namespace: h, Name: h}}, Message: h, Autoscaler: h}}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}

func TestAnswer(t *testing.T) {
	const with = " with 2 more nodes (general from 2 to 4 nodes)"
	for _, tt := range []struct {
		asked, with, want string
		change            run.Change
		fits              bool
	}{
		{want: "No pod is Pending, so no node is needed", fits: true},
		{with: with, change: run.Change{WasPending: 3}, want: "Yes: 3 pods that were Pending get a node with 2 more nodes (general from 2 to 4 nodes)", fits: true},
		{with: with, change: run.Change{WasPending: 1}, want: "Yes: the pod that was Pending gets a node with 2 more nodes (general from 2 to 4 nodes)", fits: true},
		{with: with, change: run.Change{WasPending: 3, StillPending: 1}, want: "No: 1 of 3 pods stays Pending, even with 2 more nodes (general from 2 to 4 nodes)"},
		{change: run.Change{WasPending: 3, StillPending: 3}, want: "No: 3 pods stay Pending, and no node group helps"},
		{change: run.Change{New: 2, WasPending: 3, StillPending: 3}, want: "Yes: 2 of 2 new pods fit (3 others were Pending before); no node group helps those", fits: true},
		{with: with, change: run.Change{New: 2, WasPending: 1, StillPending: 1}, want: "Yes: 2 of 2 new pods fit with 2 more nodes (general from 2 to 4 nodes) (1 other was Pending before)", fits: true},
		{change: run.Change{New: 2, NewPending: 2}, want: "No: 0 of 2 new pods fit, and no node group helps"},
		{asked: "Yes: so it is", want: "Yes: so it is", fits: true},
	} {
		got, fits := answer(tt.asked, &tt.change, tt.with)
		if diff := cmp.Diff(tt.want, got); diff != "" || fits != tt.fits {
			t.Errorf("fits %v (-want +got):\n%s", fits, diff)
		}
	}
}
