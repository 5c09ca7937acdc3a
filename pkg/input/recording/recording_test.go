package recording

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const recorded = `{"time":"2026-03-02T08:00:00Z","event":"Add","resource":{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}}
{"time":"2026-03-02T08:00:00.25Z","event":"Add","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"x"}}}
{"time":"2026-03-02T08:00:01Z","event":"Update","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"x"},"spec":{"nodeName":"a"}}}
{"time":"2026-03-02T08:00:02Z","event":"Add","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"x"}}}
{"time":"2026-03-02T08:00:03Z","event":"Delete","resource":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"q","namespace":"x"}}}
`

func TestRoundTrip(t *testing.T) {
	events, err := Read("r.jsonl", strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range events {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(recorded, out.String()); diff != "" {
		t.Errorf("read and written again (-want +got):\n%s", diff)
	}
}

// At the end, node a and the bound pod p exist; q is gone.
func TestLast(t *testing.T) {
	events, err := Read("r.jsonl", strings.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, e := range LastEvents(events) {
		got = append(got, e.Line)
	}
	if diff := cmp.Diff([]int{1, 3}, got); diff != "" {
		t.Errorf("lines of what is there in the end (-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	for line, want := range map[string]string{
		`{"event":`:                    "r.jsonl: line 2: not JSON, or cut off; leave the line out",
		`{"time":"now"}`:               "r.jsonl: line 2: ",
		`{"event":"Bind"}`:             `r.jsonl: line 2: event: "Bind" is not an event; give Add, Update or Delete`,
		`{"event":"Add"}`:              "r.jsonl: line 2: resource: not an object of Kubernetes",
		`{"event":"Add","resource":1}`: "r.jsonl: line 2: resource: not an object of Kubernetes",
		`{"event":"Add","resource":{"apiVersion":"v1","kind":"Pod"}}`: "r.jsonl: line 2: resource: an object has apiVersion, kind and metadata.name",
	} {
		_, err := Read("r.jsonl", strings.NewReader("\n"+line+"\n"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	if _, err := Read("r.jsonl", strings.NewReader("\n")); err == nil || err.Error() != "r.jsonl: nothing is recorded in it" {
		t.Errorf("nothing: %v", err)
	}
}

func TestIs(t *testing.T) {
	for line, want := range map[string]bool{
		`{"time":"2026-03-02T08:00:00Z","event":"Add","resource":{}}`: true,
		`{"apiVersion":"v1","kind":"Event","event":1,"resource":{}}`:  false,
		`{"event":"Add"}`: false, `[]`: false, ``: false, `event`: false,
	} {
		if got := IsLine([]byte(line)); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}

// FuzzRead checks that a recording that can be read can be written and read again, with the same events.
func FuzzRead(f *testing.F) {
	f.Add([]byte(recorded))
	f.Add([]byte(`{"event":"Delete","resource":{"apiVersion":"a/b","kind":"K","metadata":{"name":"n"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Read("f", bytes.NewReader(data))
		if err != nil {
			return
		}
		write := func(events []Event) string {
			var out bytes.Buffer
			for _, e := range events {
				if err := NewWriter(&out).Write(e); err != nil {
					t.Skip(err) // a year that RFC 3339 does not have
				}
			}
			return out.String()
		}
		once := write(events)
		again, err := Read("f", strings.NewReader(once))
		if err != nil {
			t.Fatal(err)
		}
		if twice := write(again); once != twice || len(LastEvents(events)) != len(LastEvents(again)) {
			t.Errorf("written %q, then %q", once, twice)
		}
	})
}
