package controlplane

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// asTable is in the Accept header of requests for a table, which kubectl get prints.
const asTable = "as=Table"

// serveTable answers a request for a table with ages by the cluster's time. The API server computes them by the clock.
func (p *Plane) serveTable(w http.ResponseWriter, r *http.Request, next http.Handler) {
	r = r.Clone(r.Context())
	r.Header.Del("Accept-Encoding") // a table that is packed cannot be changed
	query := r.URL.Query()
	switch {
	case strings.HasSuffix(r.URL.Path, "/events"):
		query.Set("includeObject", string(metav1.IncludeObject)) // which has the times
	case query.Get("includeObject") == string(metav1.IncludeNone):
		query.Set("includeObject", string(metav1.IncludeMetadata))
	}
	r.URL.RawQuery = query.Encode()
	t := &tableWriter{ResponseWriter: w, plane: p}
	next.ServeHTTP(responsewriter.WrapForHTTP1Or2(t), r)
	_, _ = w.Write(t.unread.Bytes()) // what is no JSON; a client that has gone needs no answer
}

// tableWriter changes the tables of an answer, which is one table, or in a watch a table in each event.
type tableWriter struct {
	http.ResponseWriter
	plane   *Plane
	unread  bytes.Buffer
	columns []metav1.TableColumnDefinition // of a watch, whose first table alone has them
}

// WriteHeader writes the header without the length, which changes.
func (t *tableWriter) WriteHeader(code int) {
	t.Header().Del("Content-Length")
	t.ResponseWriter.WriteHeader(code)
}

// Write writes the documents that are complete, and keeps the rest.
func (t *tableWriter) Write(data []byte) (int, error) {
	t.Header().Del("Content-Length")
	t.unread.Write(data)
	for {
		var document json.RawMessage
		in := json.NewDecoder(bytes.NewReader(t.unread.Bytes()))
		if err := in.Decode(&document); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return len(data), nil
			}
			rest := t.unread.Next(t.unread.Len()) // no JSON, such as the text of an error
			_, err := t.ResponseWriter.Write(rest)
			return len(data), err
		}
		t.unread.Next(int(in.InputOffset()))
		if _, err := t.ResponseWriter.Write(append(t.change(document), '\n')); err != nil {
			return 0, err
		}
	}
}

// Unwrap returns the writer below, for deadlines.
func (t *tableWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// change returns a table or an event with a table with other ages, and any other document as it is.
func (t *tableWriter) change(document json.RawMessage) []byte {
	var head struct {
		Kind   string          `json:"kind"`
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(document, &head); err != nil {
		return document
	}
	if head.Kind == "" && head.Type != "" {
		changed, err := json.Marshal(metav1.WatchEvent{Type: head.Type, Object: runtime.RawExtension{Raw: t.change(head.Object)}})
		if err != nil {
			return document
		}
		return changed
	}
	var table metav1.Table
	if head.Kind != "Table" || json.Unmarshal(document, &table) != nil {
		return document
	}
	if len(table.ColumnDefinitions) > 0 {
		t.columns = table.ColumnDefinitions
	}
	for i := range table.Rows {
		t.plane.setAges(t.columns, &table.Rows[i])
	}
	changed, err := json.Marshal(table)
	if err != nil {
		return document
	}
	return changed
}

// setAges replaces the ages in a row.
func (p *Plane) setAges(columns []metav1.TableColumnDefinition, row *metav1.TableRow) {
	var obj struct {
		metav1.ObjectMeta `json:"metadata"`
		FirstTimestamp    metav1.Time `json:"firstTimestamp"`
		LastTimestamp     metav1.Time `json:"lastTimestamp"`
	}
	if json.Unmarshal(row.Object.Raw, &obj) != nil || len(row.Cells) > len(columns) {
		return
	}
	t, known := p.ages.find(obj.UID)
	since := func(exact time.Time, shown metav1.Time, text any) any {
		switch {
		case exact.IsZero() && shown.IsZero():
			return text
		case exact.IsZero():
			exact = p.time.toCluster(shown.Time)
		}
		return duration.HumanDuration(max(0, p.time.now().Sub(exact)))
	}
	for i := range row.Cells {
		cell := &row.Cells[i]
		switch columns[i].Name {
		case "Age":
			*cell = since(t.created, obj.CreationTimestamp, *cell)
		case "First Seen":
			*cell = since(t.first, obj.FirstTimestamp, *cell)
		case "Last Seen":
			*cell = since(t.last, obj.LastTimestamp, *cell)
		case "Duration":
			switch {
			case !known || t.first.IsZero():
			case t.last.IsZero():
				*cell = since(t.first, metav1.Time{}, *cell)
			default:
				*cell = duration.HumanDuration(t.last.Sub(t.first))
			}
		}
	}
}
