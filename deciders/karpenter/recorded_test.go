package main

import (
	"os"
	"strings"
	"testing"
)

func TestPlay(t *testing.T) {
	entries, err := os.ReadDir("testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			w := play(t, entry.Name(), 1)
			t.Logf("%s\nnodes:\n%s\npending %d\nmade %d removed %d\n%s\n%s", w.now, strings.Join(w.nodes(), "\n"), w.pending(), w.count("create NodeClaim"), w.count("delete NodeClaim"), strings.Join(w.calls, "\n"), strings.Join(w.events, "\n"))
		})
	}
}
