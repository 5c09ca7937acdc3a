// Package recording reads and writes recordings: what happened in a cluster, in order. A recording has a line of JSON for each object that
// was added, changed or deleted, as kube-scheduler-simulator's recorder writes it. See
// https://github.com/kubernetes-sigs/kube-scheduler-simulator/blob/master/simulator/recorder/recorder.go.
package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// These are the values of Event.Event: what happened to the object.
const (
	Add    = "Add"
	Update = "Update"
	Delete = "Delete"
)

// Event is a line of a recording: what happened to an object, and when. A deleted object may have only its apiVersion, kind, namespace and
// name.
type Event struct {
	Time     time.Time       `json:"time"`
	Event    string          `json:"event"`
	Resource json.RawMessage `json:"resource"`
	// Line is the line of the file, from 1.
	Line int `json:"-"`

	key objectKey
}

// objectKey identifies an object, whatever its version.
type objectKey struct{ group, kind, namespace, name string }

// MaxLine is the maximum number of bytes of a line. etcd stores objects of up to 1.5 MiB, and their JSON is larger.
const MaxLine = 16 << 20

// IsLine reports whether a JSON object is a line of a recording.
func IsLine(line []byte) bool {
	var fields map[string]json.RawMessage
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) || json.Unmarshal(line, &fields) != nil {
		return false
	}
	return fields["event"] != nil && fields["resource"] != nil && fields["kind"] == nil && fields["apiVersion"] == nil
}

// Read reads a recording, in order. The error is the first problem, with the file and the line. A recording without events is an error.
func Read(file string, in io.Reader) ([]Event, error) {
	var events []Event
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, MaxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		event, err := parseLine(bytes.Clone(line))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, n, err)
		}
		event.Line = n
		events = append(events, event)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: line %d: longer than %d MiB", file, n+1, MaxLine>>20)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	case len(events) == 0:
		return nil, fmt.Errorf("%s: nothing is recorded in it", file)
	}
	return events, nil
}

func parseLine(line []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		if !json.Valid(line) {
			return e, errors.New("not JSON, or cut off; leave the line out")
		}
		return e, fmt.Errorf("%s; a line has time (RFC 3339), event and resource", strings.TrimPrefix(err.Error(), "json: "))
	}
	if e.Event != Add && e.Event != Update && e.Event != Delete {
		return e, fmt.Errorf("event: %q is not an event; give %s, %s or %s", e.Event, Add, Update, Delete)
	}
	var resource struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(e.Resource, &resource); err != nil {
		return e, errors.New("resource: not an object of Kubernetes")
	}
	if resource.APIVersion == "" || resource.Kind == "" || resource.Metadata.Name == "" {
		return e, errors.New("resource: an object has apiVersion, kind and metadata.name")
	}
	group, _, found := strings.Cut(resource.APIVersion, "/")
	if !found {
		group = ""
	}
	e.key = objectKey{group, resource.Kind, resource.Metadata.Namespace, resource.Metadata.Name}
	return e, nil
}

// Object returns the kind, the namespace and the name of the object.
func (e Event) Object() (kind, namespace, name string) {
	return e.key.kind, e.key.namespace, e.key.name
}

// New returns the event, which is Add, Update or Delete, of an object.
func New(at time.Time, event string, resource json.RawMessage) (Event, error) {
	line, err := json.Marshal(Event{Time: at, Event: event, Resource: resource})
	if err != nil {
		return Event{}, err
	}
	return parseLine(line)
}

// LastEvents returns the last event of each object that still exists at the end, in the order in which the objects appeared.
func LastEvents(events []Event) []Event {
	at := map[objectKey]int{}
	var last []Event
	for _, e := range events {
		i, found := at[e.key]
		switch {
		case e.Event == Delete && found:
			last[i].Resource = nil
			delete(at, e.key)
		case e.Event == Delete:
		case found:
			last[i] = e
		default:
			at[e.key] = len(last)
			last = append(last, e)
		}
	}
	left := last[:0]
	for _, e := range last {
		if e.Resource != nil {
			left = append(left, e)
		}
	}
	return left
}

// Writer writes a recording.
type Writer struct{ out *json.Encoder }

// NewWriter returns a Writer that writes to out.
func NewWriter(out io.Writer) *Writer {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &Writer{encoder}
}

// Write writes an event as a line, with its time in UTC.
func (w *Writer) Write(e Event) error {
	e.Time = e.Time.UTC()
	return w.out.Encode(e)
}
