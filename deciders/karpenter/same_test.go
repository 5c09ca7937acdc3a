//go:build ordered

package main

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/deciders/kit/replay"
)

// TestTranscripts runs what the documentation shows, and each question in which Karpenter decides.
func TestTranscripts(t *testing.T) {
	simulate, decider := buildAll(t)
	replay.Transcripts(t, simulate, decider, "karpenter")
}

// TestSameBytes: the same requests have the same calls and answers. Go draws the order of its maps anew at each run.
func TestSameBytes(t *testing.T) {
	entries, err := os.ReadDir("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			first := play(t, entry.Name(), 7)
			for range 5 {
				again := play(t, entry.Name(), 7)
				if diff := cmp.Diff(slices.Concat(first.calls, first.events), slices.Concat(again.calls, again.events)); diff != "" {
					t.Fatalf("two runs differ:\n%s", diff)
				}
			}
		})
	}
}
