// Package playground answers the page's requests about a scenario while somebody writes it. It is the common contract of the server and the
// engine in the browser. docs/playground.schema.json has its requests and responses.
//
//	request ─ Engine.Answer ─▶ Load · Run · Fail · Explain · Compare · Quiz · Keep ─▶ response
//
// The request contains the texts of the scenario and of the files that it names. The engine reads nothing from the machine, and sends
// nothing over the network except to the live cluster that it was given, if any.
package playground

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Limits bounds the cost of one request. Zero means no limit.
type Limits struct {
	// Bytes is the maximum size of a request. YAML is the maximum total size of the scenario file and of its other files that are not JSON.
	Bytes, YAML int
	// Nodes, Devices, Pods and Versions limit the scenario; see [scenario.Limits].
	Nodes, Devices, Pods, Versions int
	// Time is the maximum time for an answer, from the start of its turn.
	Time time.Duration
}

// Engine answers requests one at a time, because the feature gates of a scenario are global to the process.
type Engine struct {
	// Version is Faultline's own version.
	Version string
	// Start is the input that Load returns if the request names no example. Default: the smallest scenario.
	Start Input
	// Live is the live cluster of the start: its name, and a function that reads it again. Default: the start is not of a live cluster.
	Live struct {
		Name string
		Read func(context.Context) (Input, error)
	}
	// Class is true if the server counts the answers to the questions of lessons, so that the page sends them.
	Class bool
	// Strict makes invalid parts of a dump problems. Otherwise they are left out.
	Strict bool
	// Limits apply to each request.
	Limits Limits

	start      sync.Mutex    // guards Start
	reads      chan struct{} // has an element while a request reads the live cluster again
	turn       chan struct{} // has an element while a request is answered
	last       scenarioRun   // the last run, for requests about failures and explanations
	largeFiles fileKeeper
}

// New returns an engine without limits. The version is Faultline's.
func New(version string) *Engine {
	return &Engine{Version: version, reads: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
}

// Kinds of errors.
const (
	KindInput    = "input"    // the request is wrong
	KindLimit    = "limit"    // the request exceeds a limit
	KindCanceled = "canceled" // the client no longer waits
	KindMissing  = "missing"  // the engine has forgotten a file that the request names
	KindBusy     = "busy"     // too many requests wait; the same request may be answered later
	KindInternal = "internal" // the engine could not answer
)

// Error says why a request is not answered.
type Error struct {
	// Kind is input, limit, canceled, missing, busy or internal. A request that is refused as busy may be answered later.
	Kind string `json:"kind" jsonschema:"enum=input,enum=limit,enum=canceled,enum=missing,enum=busy,enum=internal"`
	// Message says in one line what is wrong, and what to do.
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func newError(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// NewLimitError returns an error about a request that exceeds a limit.
func NewLimitError(format string, args ...any) *Error { return newError(KindLimit, format, args...) }

// TimeOver returns the error of a request that takes more time than the limit.
func (l Limits) TimeOver() *Error {
	return newError(KindLimit, "no answer within %s; take a smaller scenario, or use the command line", l.Time)
}

// Failure is the response to a request that is not answered.
type Failure struct {
	Error *Error `json:"error"`
}

// methods maps the names of requests to the engine's methods.
var methods = map[string]func(*Engine, context.Context, []byte) (any, error){
	"load":    methodOfJSON((*Engine).load),
	"run":     methodOfJSON((*Engine).run),
	"fail":    methodOfJSON((*Engine).fail),
	"explain": methodOfJSON((*Engine).explain),
	"compare": methodOfJSON((*Engine).compare),
	"quiz":    methodOfJSON((*Engine).quiz),
	"keep":    methodOfJSON((*Engine).keep),
}

// IsMethod reports whether the engine has a method of that name.
func IsMethod(name string) bool { return methods[name] != nil }

// methodOfJSON converts a method to one that takes a request in JSON.
func methodOfJSON[Request, Response any](method func(*Engine, context.Context, Request) (Response, error)) func(*Engine, context.Context, []byte) (any, error) {
	return func(e *Engine, ctx context.Context, request []byte) (any, error) {
		var asked Request
		decoder := json.NewDecoder(bytes.NewReader(request))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&asked); err != nil {
			return nil, newError(KindInput, "the request is not what the method takes: %s", describeDecodeError(err))
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, newError(KindInput, "the request goes on after its first object; send one object")
		}
		return method(e, ctx, asked)
	}
}

// jsonKinds maps the decoder's words for JSON values to plain words. jsonKindsOfTypes maps Go's types to the JSON values that they accept.
var (
	jsonKinds        = map[string]string{"array": "a list", "object": "an object", "string": "a string", "bool": "true or false", "number": "a number"}
	jsonKindsOfTypes = map[reflect.Kind]string{
		reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object", reflect.String: "a string", reflect.Bool: "true or false",
	}
)

// describeDecodeError describes an error of the decoder without Go's types.
func describeDecodeError(err error) string {
	var misfit *json.UnmarshalTypeError
	switch {
	case errors.As(err, &misfit):
		value, _, _ := strings.Cut(misfit.Value, " ") // "number 1.5"
		text := fmt.Sprintf("%s where %s is wanted", cmp.Or(jsonKinds[value], value), jsonKindsOfTypes[misfit.Type.Kind()])
		if misfit.Field != "" {
			text = misfit.Field + ": " + text
		}
		return text
	case errors.Is(err, io.EOF):
		return "nothing is in it"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends in the middle"
	}
	return err.Error()
}

// NeedsNoTurn reports whether the method computes nothing, so that it does not wait for a turn.
func NeedsNoTurn(name string) bool { return name == "load" || name == "keep" }

// Answer returns the response to a request of a method, both in JSON. It waits for a turn if the method needs one. Errors are responses,
// too.
func (e *Engine) Answer(ctx context.Context, method string, request []byte) []byte {
	response, err := e.respond(ctx, method, request)
	if err != nil {
		return Refuse(err)
	}
	data, err := report.CompactJSON(response)
	if err != nil { // does not happen for the types of responses
		return Refuse(err)
	}
	return data
}

// Refuse returns the response to a request that is not answered.
func Refuse(err error) []byte {
	var known *Error
	if !errors.As(err, &known) {
		known = newError(KindInternal, "%s", err)
		if errors.Is(err, context.Canceled) {
			known = newError(KindCanceled, "canceled")
		}
	}
	data, _ := report.CompactJSON(Failure{known}) // strings always have a JSON encoding
	return data
}

// IsRefusal reports whether the response is to a request that is not answered. IsMissing reports whether that is for a file that the engine
// has forgotten.
func IsRefusal(response []byte) bool { return bytes.HasPrefix(response, []byte(`{"error":`)) }

// IsMissing is described at [IsRefusal].
func IsMissing(response []byte) bool {
	return bytes.HasPrefix(response, []byte(`{"error":{"kind":"`+KindMissing+`"`))
}

func (e *Engine) respond(ctx context.Context, method string, request []byte) (any, error) {
	if !IsMethod(method) {
		return nil, newError(KindInput, "there is no method %q", method)
	}
	if limit := e.Limits.Bytes; limit > 0 && len(request) > limit {
		return nil, newError(KindLimit, "the files have %d bytes, and the page takes %d; use the command line", len(request), limit)
	}
	if !NeedsNoTurn(method) {
		select {
		case e.turn <- struct{}{}:
			defer func() { <-e.turn }()
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil, newError(KindCanceled, "canceled before it began")
	}
	late := e.Limits.TimeOver()
	if e.Limits.Time > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, e.Limits.Time, late)
		defer stop()
	}
	response, err := methods[method](e, ctx, request)
	switch {
	case ctx.Err() == nil:
		return response, err
	case errors.Is(context.Cause(ctx), late):
		return nil, late
	}
	return nil, newError(KindCanceled, "canceled")
}

// stepNamed returns the result's step of that name.
func stepNamed(result *simulation.Result, name string) (*simulation.Step, error) {
	for i := range result.Steps {
		if result.Steps[i].Name == name {
			return &result.Steps[i], nil
		}
	}
	return nil, newError(KindInput, "the scenario has no step %q", name)
}
