package dumptest

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestDumpFollowsFromItsSeed(t *testing.T) {
	if !bytes.Equal(Dump(Options{Seed: 1, Nodes: 24}), Dump(Options{Seed: 1, Nodes: 24})) {
		t.Error("two dumps of one seed differ")
	}
	if bytes.Equal(Dump(Options{Seed: 1, Nodes: 24}), Dump(Options{Seed: 2, Nodes: 24})) {
		t.Error("two seeds give one dump")
	}
}

func TestDumpHoldsTheKindsAskedFor(t *testing.T) {
	var list struct{ Items []struct{ Kind string } }
	if err := json.Unmarshal(Dump(Options{Nodes: 24, Kinds: []string{"Node"}}), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 24 || list.Items[0].Kind != "Node" {
		t.Errorf("%d items of kind %s, want 24 of kind Node", len(list.Items), list.Items[0].Kind)
	}
}
