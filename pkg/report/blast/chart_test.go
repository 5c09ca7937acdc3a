package blast

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/blast"
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
