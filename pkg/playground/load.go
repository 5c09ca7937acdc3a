package playground

import (
	"context"
	"encoding/json"

	"github.com/faultline/faultline/docs"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/scenarios"
)

// LoadRequest asks for what the page begins with.
type LoadRequest struct {
	// Example is the name of a scenario that is part of the program. Default: the one that the engine starts with.
	Example string `json:"example,omitempty"`
}

// LoadResponse is what the page begins with.
type LoadResponse struct {
	// Version is Faultline's own, and Scheduler the Kubernetes release of the scheduler's code.
	Version   string `json:"version"`
	Scheduler string `json:"scheduler"`
	// Input is the scenario to begin with.
	Input Input `json:"input"`
	// Kept are the ids of the input's large files, for later requests.
	Kept map[string]string `json:"kept,omitempty"`
	// Example is its name if it is part of the program.
	Example string `json:"example,omitempty"`
	// Examples are the scenarios that are part of the program, lessons first.
	Examples []scenarios.Example `json:"examples"`
	// Schema is the JSON Schema of the scenario file.
	Schema json.RawMessage `json:"schema"`
}

func (e *Engine) load(_ context.Context, request LoadRequest) (*LoadResponse, error) {
	response := &LoadResponse{Version: e.Version, Scheduler: sched.Version, Input: e.Start, Example: request.Example}
	if e.Start.Main == "" && request.Example == "" {
		response.Example = walkthrough
	}
	var err error
	if response.Examples, err = scenarios.All(); err != nil {
		return nil, err
	}
	if response.Example != "" {
		if response.Input, err = example(response.Example); err != nil {
			return nil, err
		}
	}
	response.Kept = e.kept.slim(response.Input).Kept
	response.Schema, err = docs.Schemas.ReadFile("scenario.schema.json")
	return response, err
}
