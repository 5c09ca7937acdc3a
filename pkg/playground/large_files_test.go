package playground_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/playground"
)

// A large file is sent once, and named in later requests.
func TestKeep(t *testing.T) {
	engine := playground.New("test")
	large := web + "# " + strings.Repeat("x", 100_000) + "\n"
	whole := playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": scenario, "web.yaml": large}}
	want := ask[json.RawMessage](t, engine, "run", playground.RunRequest{Input: whole})

	engine.Start = whole
	loaded := ask[playground.LoadResponse](t, engine, "load", playground.LoadRequest{})
	id := ask[playground.KeepResponse](t, engine, "keep", playground.KeepRequest{Text: large}).ID
	if diff := cmp.Diff(map[string]string{"web.yaml": id}, loaded.Kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	slim := playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": scenario}, Kept: map[string]string{"web.yaml": id}}
	var started playground.RunRequest
	if err := json.Unmarshal(engine.StartRequest(), &started); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slim, started.Input); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := ask[json.RawMessage](t, engine, "run", playground.RunRequest{Input: slim})
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-whole +kept):\n%s", diff)
	}
	failure := ask[playground.Failure](t, playground.New("test"), "run", playground.RunRequest{Input: slim})
	wrong := &playground.Error{Kind: playground.KindMissing, Message: "the engine does not have the file web.yaml any more; send it again"}
	if diff := cmp.Diff(wrong, failure.Error); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
