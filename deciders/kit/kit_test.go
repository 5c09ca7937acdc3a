package kit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// evictor evicts the pods that its memory does not name.
type evictor struct{}

func (evictor) Hello() Hello { return Hello{Name: "evictor", Version: "v1", Reads: []string{"Pod"}} }

func (evictor) Admit(objects []*unstructured.Unstructured) ([]Problem, error) {
	for _, object := range objects {
		object.SetNamespace("default")
	}
	return []Problem{{Index: 0, Field: "spec", Message: "is missing"}}, nil
}

func (evictor) Decide(_ context.Context, c *Cluster, request Request) (answer Answer, err error) {
	for _, pod := range c.Objects() {
		var refused *Refusal
		switch err := c.Evict(RefTo(pod), "it is there"); {
		case errors.As(err, &refused):
			answer.Events = append(answer.Events, Event{Object: RefTo(pod), Reason: "Refused", Message: refused.Message})
		case err != nil:
			return answer, err
		}
	}
	answer.Memory = len(c.Objects())
	answer.AskAgain(request.Now.Add(60e9))
	return answer, nil
}

// A conversation: what simulate writes, and what the decider writes.
func TestServe(t *testing.T) {
	asked := []string{
		`{"hello": {"protocol": 1, "kubernetes": "1.37.1"}}`,
		`{"admit": {"objects": [{"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "a"}}]}}`,
		`{"state": {"set": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "default"}}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}}]}}`,
		`{"decide": {"now": "2025-01-01T00:00:00Z", "seed": 1}}`,
		`{"stored": {}}`,
		`{"refused": {"code": 429, "reason": "TooManyRequests", "message": "a budget"}}`,
		`{"state": {"delete": [{"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "b"}]}}`,
		`{"decide": {"now": "2025-01-01T00:01:00Z", "seed": 1, "memory": 1}}`,
		`{"undo": {}}`,
		`{"bye": {}}`,
	}
	want := []string{
		`{"hello":{"protocol":1,"name":"evictor","version":"v1","reads":["Pod"]}}`,
		`{"admit":{"objects":[{"apiVersion":"x/v1","kind":"X","metadata":{"name":"a","namespace":"default"}}],"problems":[{"index":0,"field":"spec","message":"is missing"}]}}`,
		`{"state":{}}`,
		`{"evict":{"apiVersion":"v1","kind":"Pod","namespace":"default","name":"a"},"explain":"it is there"}`,
		`{"evict":{"apiVersion":"v1","kind":"Pod","namespace":"default","name":"b"},"explain":"it is there"}`,
		`{"decide":{"again":"2025-01-01T00:01:00Z","memory":1,"events":[{"object":{"apiVersion":"v1","kind":"Pod","namespace":"default","name":"b"},"reason":"Refused","message":"a budget"}]}}`,
		`{"state":{}}`,
		`{"decide":{"again":"2025-01-01T00:02:00Z","memory":0}}`,
		`{"error":"the request is none that protocol 1 has: hello, admit, state, decide, bye"}`,
		`{"bye":{}}`,
	}
	var out strings.Builder
	if err := Serve(context.Background(), strings.NewReader(strings.Join(asked, "\n")+"\n"), &out, evictor{}); err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("line %d is missing: %s", i, want[i])
		case i >= len(want) || got[i] != want[i]:
			t.Errorf("line %d is\n%s\nwant\n%s", i, got[i], strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
}

// Another protocol is refused, and so is a line that is none.
func TestServeRefuses(t *testing.T) {
	var out strings.Builder
	if err := Serve(context.Background(), strings.NewReader(`{"hello": {"protocol": 2}}`+"\n"), &out, evictor{}); err != nil {
		t.Fatal(err)
	}
	if want := `{"error":"simulate speaks protocol 2, and this decider protocol 1; take both from the same release"}` + "\n"; out.String() != want {
		t.Errorf("got %s", out.String())
	}
	if err := Serve(context.Background(), strings.NewReader("hello\n"), &out, evictor{}); err == nil {
		t.Error("a line that is no JSON is taken")
	}
}
