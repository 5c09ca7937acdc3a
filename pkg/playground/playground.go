// Package playground answers what the page asks of a scenario that somebody is writing: the one contract that both the server and the
// engine in the browser keep. docs/playground.schema.json has its requests and responses.
//
//	request ─ Engine.Answer ─▶ Load · Run · Fail · Explain · Compare ─▶ response
//
// A scenario and the files that it names are text in the request. Nothing is read from the machine, and nothing is asked over the network.
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
	"time"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/simulation"
)

// Limits bound what one request may take. Zero is no limit.
type Limits struct {
	// Bytes is the size of a request, and YAML that of the scenario's file and of all that is not JSON in it.
	Bytes, YAML int
	// Nodes, Devices, Pods and Versions are those of the scenario; see scenario.Limits.
	Nodes, Devices, Pods, Versions int
	// Time is how long an answer may take, once it is its turn.
	Time time.Duration
}

// Engine answers requests, one at a time: the feature gates of a scenario are those of the whole process.
type Engine struct {
	// Version is Faultline's own.
	Version string
	// Start is what Load returns if no example is asked for. Default: the kind walkthrough.
	Start Input
	// Strict makes a problem of what is set aside of a dump otherwise.
	Strict bool
	// Limits are those of each request.
	Limits Limits

	turn chan struct{}
	last run // the last one, about which failures and explanations are asked
}

// New returns an engine of the version, without limits.
func New(version string) *Engine {
	return &Engine{Version: version, turn: make(chan struct{}, 1)}
}

// Kinds of errors.
const (
	KindInput    = "input"    // the request is wrong
	KindLimit    = "limit"    // it asks for more than the engine gives
	KindCanceled = "canceled" // whoever asked does not wait any more
	KindInternal = "internal" // it could not be answered
)

// Error is a request that is not answered.
type Error struct {
	// Kind is input, limit, canceled or internal.
	Kind string `json:"kind" jsonschema:"enum=input,enum=limit,enum=canceled,enum=internal"`
	// Message says in a line what is wrong, and what to do.
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func failed(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Failure is the response to a request that is not answered.
type Failure struct {
	Error *Error `json:"error"`
}

// methods are what can be asked.
var methods = map[string]func(*Engine, context.Context, []byte) (any, error){
	"load":    answer((*Engine).load),
	"run":     answer((*Engine).run),
	"fail":    answer((*Engine).fail),
	"explain": answer((*Engine).explain),
	"compare": answer((*Engine).compare),
}

// Method reports whether there is such a method.
func Method(name string) bool { return methods[name] != nil }

// answer is a method of JSON.
func answer[Request, Response any](method func(*Engine, context.Context, Request) (Response, error)) func(*Engine, context.Context, []byte) (any, error) {
	return func(e *Engine, ctx context.Context, request []byte) (any, error) {
		var asked Request
		decoder := json.NewDecoder(bytes.NewReader(request))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&asked); err != nil {
			return nil, failed(KindInput, "the request is not what the method takes: %s", inWords(err))
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return nil, failed(KindInput, "the request goes on after its first object; send one object")
		}
		return method(e, ctx, asked)
	}
}

// jsonKinds are the values of JSON by the words of the decoder, and wanted those that Go's types stand for.
var (
	jsonKinds = map[string]string{"array": "a list", "object": "an object", "string": "a string", "bool": "true or false", "number": "a number"}
	wanted    = map[reflect.Kind]string{
		reflect.Slice: "a list", reflect.Struct: "an object", reflect.Map: "an object", reflect.String: "a string", reflect.Bool: "true or false",
	}
)

// inWords is an error of the decoder without the words of Go.
func inWords(err error) string {
	var misfit *json.UnmarshalTypeError
	switch {
	case errors.As(err, &misfit):
		value, _, _ := strings.Cut(misfit.Value, " ") // "number 1.5"
		text := fmt.Sprintf("%s where %s is wanted", cmp.Or(jsonKinds[value], value), wanted[misfit.Type.Kind()])
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

// Free reports whether the method computes nothing, and needs no turn.
func Free(name string) bool { return name == "load" }

// Answer returns the response to a request of a method, both JSON. It waits for its turn, if it takes one.
func (e *Engine) Answer(ctx context.Context, method string, request []byte) []byte {
	response, err := e.respond(ctx, method, request)
	if err != nil {
		var known *Error
		if !errors.As(err, &known) {
			known = failed(KindInternal, "%s", err)
		}
		response = Failure{known}
	}
	data, err := report.CompactJSON(response)
	if err != nil { // not of our own types
		data, _ = report.CompactJSON(Failure{failed(KindInternal, "%s", err)})
	}
	return data
}

func (e *Engine) respond(ctx context.Context, method string, request []byte) (any, error) {
	if !Method(method) {
		return nil, failed(KindInput, "there is no method %q", method)
	}
	if limit := e.Limits.Bytes; limit > 0 && len(request) > limit {
		return nil, failed(KindLimit, "the files have %d bytes, and the page takes %d; use the command line", len(request), limit)
	}
	if !Free(method) {
		select {
		case e.turn <- struct{}{}:
			defer func() { <-e.turn }()
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return nil, failed(KindCanceled, "canceled before it began")
	}
	late := failed(KindLimit, "no answer within %s; take a smaller scenario, or use the command line", e.Limits.Time)
	if e.Limits.Time > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, e.Limits.Time, late)
		defer stop()
	}
	response, err := methods[method](e, ctx, request)
	switch {
	case ctx.Err() == nil:
		return response, err
	case context.Cause(ctx) == late:
		return nil, late
	}
	return nil, failed(KindCanceled, "canceled")
}

// stepNamed returns the result's step of the name.
func stepNamed(result *simulation.Result, name string) (*simulation.Step, error) {
	for i := range result.Steps {
		if result.Steps[i].Name == name {
			return &result.Steps[i], nil
		}
	}
	return nil, failed(KindInput, "the scenario has no step %q", name)
}
