package manifest

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
)

// A watch of an API server is a stream of events, each with an object: kubectl get --watch --output-watch-events -o json, curl, and programs that
// record what they see write them. The input is the objects at its end.

// watchEvent is an event of a watch; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/watch.go.
type watchEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// parseWatchEvent returns the event of a document, and whether it is one.
func parseWatchEvent(document []byte) (event watchEvent, is bool) {
	var fields map[string]json.RawMessage
	if len(document) == 0 || document[0] != '{' || json.Unmarshal(document, &fields) != nil || len(fields) != 2 || json.Unmarshal(document, &event) != nil {
		return event, false
	}
	return event, len(event.Object) > 0 && event.Object[0] == '{' && slices.Contains([]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}, event.Type)
}

// mayBeWatch reports whether a document can be an event or a list of events, by its beginning alone, since a dump can have a gigabyte.
func mayBeWatch(document []byte) bool {
	beginning := document[:min(len(document), 200)]
	return bytes.Contains(beginning, []byte(`"type"`)) || bytes.Contains(beginning, []byte(`"object"`))
}

// endOfWatch returns the objects at the end of a watch, each in the document of its last event, or the documents themselves if they are not all
// events. A list of events is a watch, too. An event of an error is left as it is: the server ended the watch, and its message says why.
func endOfWatch(documents []document) []document {
	if len(documents) == 0 || !mayBeWatch(documents[0].json) {
		return documents
	}
	var events []document
	for _, d := range documents {
		values, is := splitArray(d.json)
		if !is {
			events = append(events, d)
			continue
		}
		for i, value := range values {
			events = append(events, document{value, value, d.source.childSource("", i)})
		}
	}
	objects, at := []document{}, map[string]int{}
	for _, d := range events {
		event, is := parseWatchEvent(d.json)
		if !is {
			return documents
		}
		var of header
		if json.Unmarshal(event.Object, &of) != nil {
			return documents
		}
		id := of.APIVersion + " " + cluster.Ref{Kind: of.Kind, Namespace: of.Metadata.Namespace, Name: of.Metadata.Name}.Qualified()
		last := document{event.Object, event.Object, d.source}
		i, known := at[id]
		switch {
		case event.Type == "BOOKMARK":
		case event.Type == "DELETED" && known:
			objects[i].json = nil
			delete(at, id)
		case event.Type == "DELETED":
		case known:
			objects[i] = last
		default:
			at[id] = len(objects)
			objects = append(objects, last)
		}
	}
	return slices.DeleteFunc(objects, func(d document) bool { return d.json == nil })
}
