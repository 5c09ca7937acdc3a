package claimtest_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/claimtest"
)

var (
	worldCount = flag.Uint64("claims.worlds", 20, "the `NUMBER` of worlds to ask")
	firstSeed  = flag.Uint64("claims.seed", 1, "the seed of the first world")
)

// Every claim of every answer holds in every world. go test ./pkg/internal/claimtest -claims.worlds 10000 -timeout 0 searches for hours.
func TestClaimsHold(t *testing.T) {
	total := 0
	for seed := *firstSeed; seed < *firstSeed+*worldCount; seed++ {
		total += checkSeed(t, seed)
	}
	if t.Logf("%d claims of %d worlds", total, *worldCount); total < int(*worldCount) {
		t.Errorf("only %d claims were made", total)
	}
}

// Every claim holds in the worlds in which a claim once failed.
func TestClaimsHoldThatOnceDidNot(t *testing.T) {
	for name, seed := range map[string]uint64{
		"a failure goes on with the scheduler's search where the run ended":  1752,
		"a pod that waited gets a node after one drain and waits again":      1659,
		"a StatefulSet preempts pods that get nodes between two of its pods": 1861,
		"the first node of a group that grows is cordoned and tainted":       1538,
		"no number of nodes is enough, and nothing is claimed":               20194,
		"a drain goes on with the scheduler's search where the run ended":    7094,
	} {
		t.Run(name, func(t *testing.T) { checkSeed(t, seed) })
	}
}

// checkSeed makes the world of the seed, runs every claim about it, and returns the number of claims.
func checkSeed(t *testing.T, seed uint64) int {
	text := claimtest.World(seed)
	s, err := claimtest.Load(text)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	claims, failed, err := claimtest.Check(t.Context(), s)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, text)
	}
	if len(failed) > 0 {
		t.Errorf("seed %d:\n%s\n\n%s", seed, strings.Join(failed, "\n"), text)
	}
	return claims
}
