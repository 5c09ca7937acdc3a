package blast

import (
	"testing"
)

func TestStrandedShare(t *testing.T) {
	level := &zones().Steps[0].Levels[0]
	if got := level.strandedShare(); got != 0 { // solo comes back
		t.Errorf("%v of solo stranded", got)
	}
	level.Radius = Radius{Share: 0.5, Namespace: "shop", Workload: "deployment/web", Lost: 2, Replicas: 4, Domains: []string{"b"}}
	if got := level.strandedShare(); got != 0.5 {
		t.Errorf("%v of web stranded, want 2 of 4", got)
	}
	level.Failures[1].Recovery.Stranded[0].Workload = "deployment/other"
	if got := level.strandedShare(); got != 0.25 {
		t.Errorf("%v of web stranded, want 1 of 4, as the other pod is another's", got)
	}
}
