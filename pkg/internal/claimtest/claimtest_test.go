package claimtest_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/claimtest"
)

var (
	worlds = flag.Uint64("claims.worlds", 30, "the `NUMBER` of worlds to ask")
	first  = flag.Uint64("claims.seed", 1, "the seed of the first world")
)

// Every claim of every answer holds, whatever the world. go test ./pkg/internal/claimtest -claims.worlds 10000 -timeout 0 looks for hours.
func TestClaimsHold(t *testing.T) {
	total := 0
	for seed := *first; seed < *first+*worlds; seed++ {
		text := claimtest.World(seed)
		s, err := claimtest.Load(text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		claims, failed, err := claimtest.Check(t.Context(), s)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
		if total += claims; len(failed) > 0 {
			t.Errorf("seed %d:\n%s\n\n%s", seed, strings.Join(failed, "\n"), text)
		}
	}
	if t.Logf("%d claims of %d worlds", total, *worlds); total < int(*worlds) {
		t.Errorf("only %d claims were made", total)
	}
}
