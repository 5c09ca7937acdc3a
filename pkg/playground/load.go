package playground

import (
	"context"
	"encoding/json"

	"github.com/faultline/faultline/docs"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/scenarios"
)

// LoadRequest asks for the page's first scenario.
type LoadRequest struct {
	// Example is the name of a scenario that is part of the program. Default: the scenario that the engine starts with.
	Example string `json:"example,omitempty"`
	// Solution asks for a challenge as it is when its goal is reached. Only with example.
	Solution bool `json:"solution,omitempty"`
	// Again makes the engine read again the live cluster that it starts with.
	Again bool `json:"again,omitempty"`
}

// LoadResponse has what the page needs at its start.
type LoadResponse struct {
	// Version is Faultline's own, and Scheduler the Kubernetes release of the scheduler's code.
	Version   string `json:"version"`
	Scheduler string `json:"scheduler"`
	// Input is the scenario to begin with. Given is true if it is the one that the engine starts with, such as that of simulate serve.
	Input Input `json:"input"`
	Given bool  `json:"given,omitempty"`
	// Kept has the ids of the input's large files by their paths, for later requests.
	Kept map[string]string `json:"kept,omitempty"`
	// Example is the name of the scenario if it is part of the program.
	Example string `json:"example,omitempty"`
	// Live is the name of the live cluster that the engine starts with, which can be read again.
	Live string `json:"live,omitempty"`
	// Class is true if the page should send the answers to the questions of lessons, without names, to be counted.
	Class bool `json:"class,omitempty"`
	// Examples are the scenarios that are part of the program, lessons first.
	Examples []scenarios.Example `json:"examples"`
	// Schema is the JSON Schema of the scenario file.
	Schema json.RawMessage `json:"schema"`
}

func (e *Engine) load(ctx context.Context, request LoadRequest) (*LoadResponse, error) {
	start, err := e.readStart(ctx, request.Again)
	if err != nil {
		return nil, err
	}
	response := &LoadResponse{Version: e.Version, Scheduler: sched.Version, Input: start, Example: request.Example, Live: e.Live.Name, Class: e.Class}
	switch {
	case request.Example != "":
	case start.Main == "":
		response.Example = scenarios.Empty
	default:
		response.Given = true
	}
	if response.Examples, err = scenarios.All(); err != nil {
		return nil, err
	}
	if response.Example != "" {
		if response.Input, err = loadExample(response.Example, request.Solution); err != nil {
			return nil, err
		}
	}
	response.Kept = e.largeFiles.replaceTexts(response.Input).Kept
	response.Schema, err = docs.Schemas.ReadFile("scenario.schema.json")
	return response, err
}

// readStart returns the input that the engine starts with. If again is set, it first reads the live cluster again. Requests that do not ask
// for this do not wait for those that do.
func (e *Engine) readStart(ctx context.Context, again bool) (Input, error) {
	switch {
	case !again:
		return e.currentStart(), nil
	case e.Live.Read == nil:
		return Input{}, newError(KindInput, "no live cluster is here to be read again")
	}
	select {
	case e.reads <- struct{}{}:
		defer func() { <-e.reads }()
	case <-ctx.Done():
		return Input{}, context.Cause(ctx)
	}
	read, err := e.Live.Read(ctx)
	if err != nil {
		return Input{}, err
	}
	e.start.Lock()
	defer e.start.Unlock()
	e.Start = read
	return read, nil
}

func (e *Engine) currentStart() Input {
	e.start.Lock()
	defer e.start.Unlock()
	return e.Start
}
