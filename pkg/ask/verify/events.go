package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// event is an Event, or a list of them.
type event struct {
	manifest.Event `json:",inline"`
	Items          []json.RawMessage `json:"items"`
}

// decodeEvents reads Events, single or in lists, as kubectl get events -A -o json prints them. A file may contain other objects, which are
// skipped.
func decodeEvents(file string, data []byte) ([]fact, error) {
	var facts []fact
	found := 0
	var add func(data []byte) error
	add = func(data []byte) error {
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		if strings.HasSuffix(e.Kind, "List") {
			for _, item := range e.Items {
				if err := add(item); err != nil {
					return err
				}
			}
		}
		if e.Kind == "Event" {
			found++
			facts = append(facts, e.facts()...)
		}
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var document json.RawMessage
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = add(document)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s; give the output of kubectl get events -A -o json", file, jsonProblem(err))
		}
	}
	if found == 0 {
		return nil, fmt.Errorf("%s: no Events; give the output of kubectl get events -A -o json", file)
	}
	return facts, nil
}

// jsonProblem describes what is wrong with the JSON, in one line.
func jsonProblem(err error) string {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON ends in the middle"
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d: %s", syntax.Offset, syntax)
	}
	return "not the JSON of Events"
}

var (
	assignedPattern = regexp.MustCompile(`^Successfully assigned \S+ to (\S+)$`)
	createdPattern  = regexp.MustCompile(`(?i)(?:created pod:|create pod) (\S+)`)
	deletedPattern  = regexp.MustCompile(`(?i)(?:deleted pod:|delete pod) (\S+)`)
	scaledPattern   = regexp.MustCompile(`(?i)scaled (?:up|down) replica set (\S+) `)
	// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/preemption/executor.go
	preemptedPattern = regexp.MustCompile(`^Preempted by pod (\S+) on node \S+$`)

	markedPattern = regexp.MustCompile(`^Marking for deletion Pod (\S+)/(\S+)$`)
)

const (
	// monitorPeriod is how often the node lifecycle controller looks for nodes that came or went, by default.
	monitorPeriod = 5 * time.Second
	// kubeletPeriod is how often a kubelet looks whether its node is cordoned, by default.
	kubeletPeriod = 10 * time.Second
)

// nodeFacts returns what an Event says about a node. Kubernetes may combine several Events of a node into one: then the same happened at
// the first time and at the last.
func (e *event) nodeFacts(f fact) []fact {
	f.node, f.pod = f.pod.Name, types.NamespacedName{}
	switch e.Reason {
	case "NodeNotReady":
		f.kind = nodeNotReady
	case "NodeReady":
		f.kind = nodeReady
	case "NodeNotSchedulable", "NodeSchedulable":
		f.kind, f.cordoned, f.maxDelay = nodeCordonChanged, new(e.Reason == "NodeNotSchedulable"), kubeletPeriod
	case "RegisteredNode":
		f.kind, f.maxDelay = nodeAdded, monitorPeriod
	case "RemovingNode":
		f.kind, f.maxDelay = nodeRemoved, monitorPeriod
	default:
		return nil
	}
	if max(e.Count, e.DeprecatedCount) <= 1 {
		return []fact{f}
	}
	last := f
	last.at, last.exact = e.lastRecorded(), false
	return []fact{f, last}
}

// facts returns what the event says about pods and nodes. Most events say nothing.
func (e *event) facts() []fact {
	about := e.InvolvedObject
	if about == nil {
		about = e.Regarding
	}
	if about == nil {
		return nil
	}
	words := e.Message
	if words == "" {
		words = e.Note
	}
	at, exact := e.firstRecorded()
	f := fact{at: at, exact: exact, pod: types.NamespacedName{Namespace: about.Namespace, Name: about.Name}}
	ofPod := func(what factKind) []fact {
		f.kind, f.uid, f.version = what, about.UID, about.ResourceVersion
		return []fact{f}
	}
	ofOwner := func(what factKind, name string) []fact {
		f.kind, f.owner, f.pod.Name = what, about, name
		count := max(e.Count, e.DeprecatedCount)
		if count <= 1 {
			return []fact{f}
		}
		last := f
		last.at, last.exact = e.lastRecorded(), false
		if !strings.HasPrefix(words, "(combined from similar events)") {
			return []fact{f, last} // an equal message, so both pods have the same name
		}
		// Kubernetes combines similar events into one with the message of the last.
		last.podCount, last.firstAt = count, at
		return []fact{last}
	}
	switch match := []string(nil); {
	case about.Kind == "Pod" && e.Reason == "Scheduled":
		if match = assignedPattern.FindStringSubmatch(words); match != nil {
			f.node = match[1]
			return ofPod(podScheduled)
		}
	case about.Kind == "Pod" && e.Reason == "FailedScheduling":
		return ofPod(podRefused)
	case about.Kind == "Pod" && e.Reason == "Preempted",
		about.Kind == "Pod" && e.Reason == "Killing" && strings.HasPrefix(words, "Stopping container"),
		about.Kind == "Pod" && e.Reason == "TaintManagerEviction" && markedPattern.MatchString(words):
		f.byTaint, f.preempted = e.Reason == "TaintManagerEviction", e.Reason == "Preempted"
		if match = preemptedPattern.FindStringSubmatch(words); f.preempted && match != nil {
			f.preemptor = types.UID(match[1])
		}
		return ofPod(podDeletionRequested)
	case about.Kind == "Node":
		return e.nodeFacts(f)
	case e.Reason == "SuccessfulCreate":
		if match = createdPattern.FindStringSubmatch(words); match != nil {
			return ofOwner(podCreated, match[1])
		}
	case e.Reason == "SuccessfulDelete":
		if match = deletedPattern.FindStringSubmatch(words); match != nil {
			return ofOwner(podDeletionRequested, match[1])
		}
	case about.Kind == "Job" && e.Reason == "Completed":
		f.kind, f.owner = jobCompleted, about
		return []fact{f}
	case about.Kind == "Deployment" && e.Reason == "ScalingReplicaSet":
		if match = scaledPattern.FindStringSubmatch(words); match != nil {
			f.kind, f.owner, f.pod.Name = replicaSetScaled, about, match[1]
			return []fact{f}
		}
	}
	return nil
}

// firstRecorded returns when the event was first recorded, and whether that time is more precise than a second. The name of an event ends in its first
// time, as hexadecimal nanoseconds; see GenerateEventName in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/client-go/tools/record/util/util.go.
func (e *event) firstRecorded() (at time.Time, exact bool) {
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.DeprecatedFirst.Time, e.CreationTimestamp.Time} {
		if at.IsZero() {
			at = t
		}
	}
	if !e.EventTime.IsZero() {
		return e.EventTime.Time, true
	}
	if dot := strings.LastIndexByte(e.Name, '.'); dot >= 0 {
		if nanoseconds, err := strconv.ParseInt(e.Name[dot+1:], 16, 64); err == nil {
			if named := time.Unix(0, nanoseconds); named.Truncate(time.Second).Equal(at) {
				return named, true
			}
		}
	}
	return at, false
}

// lastRecorded returns the second in which the last of the combined events was recorded.
func (e *event) lastRecorded() time.Time {
	for _, t := range []time.Time{e.LastTimestamp.Time, e.DeprecatedLast.Time} {
		if !t.IsZero() {
			return t
		}
	}
	at, _ := e.firstRecorded()
	return at
}
