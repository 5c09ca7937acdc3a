package blast

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report/doc"
)

func TestShareNotBack(t *testing.T) {
	level := &zones().Steps[0].Levels[0]
	level.Replicated = level.Radius
	if got := shareNotBack(level); got != 0 {
		t.Errorf("%v of solo lost, which comes back", got)
	}
	level.Replicated = blast.Radius{Share: 0.5, Namespace: "shop", Workload: "deployment/web", Lost: 2, Replicas: 4, Domains: []string{"b"}}
	if got := shareNotBack(level); got != 0.5 {
		t.Errorf("%v of web lost, want 2 of 4", got)
	}
	level.Failures[1].Recovery.Stranded[0].Workload = "deployment/other"
	if got := shareNotBack(level); got != 0.25 {
		t.Errorf("%v of web lost, want 1 of 4, as the other pod is another's", got)
	}
}

// By hand: b breaks web's budget, a takes all of solo and db's quorum, and c takes db's quorum; with c as many pods come back as with b.
func TestBars(t *testing.T) {
	want := []doc.BarRow{
		{Name: "zone b", Values: []int{1, 2}, Note: "1 budget broken, 2 of 3 lost pods do not come back"},
		{Name: "zone a", Values: []int{2, 2}, Note: "1 of 3 workloads down for 5 min 50 s (it has one replica), 1 quorum lost, 2 of 4 lost pods do not come back"},
		{Name: "zone c", Values: []int{1, 2}, Note: "1 quorum lost, 2 of 3 lost pods do not come back"},
	}
	if diff := cmp.Diff(want, zones().bars().Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
