package playground

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/expect"
	reportrun "github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// RunRequest asks for a run of the scenario.
type RunRequest struct {
	Input Input `json:"input"`
}

// RunResponse has the report of simulate run, or the problems of the scenario.
type RunResponse struct {
	Problems []Problem `json:"problems,omitempty"`
	// Report is what simulate run -o json prints.
	Report *reportrun.Report `json:"report,omitempty"`
}

// scenarioRun is a scenario that was run, with its result.
type scenarioRun struct {
	inputHash [sha256.Size]byte // the hash of the input
	scenario  *scenario.Scenario
	result    *simulation.Result
}

func (e *Engine) run(ctx context.Context, request RunRequest) (*RunResponse, error) {
	last, problems, err := e.runInput(ctx, request.Input)
	if err != nil || problems != nil {
		return &RunResponse{Problems: problems}, err
	}
	judged, err := expect.Judge(ctx, last.result, nil)
	if err != nil {
		return nil, err
	}
	found := reportrun.New(last.result, judged, e.Version)
	found.AddCycles(last.result, func(*reportrun.Step) bool { return true })
	causes, err := cause.ExplainRun(ctx, last.result)
	if err != nil {
		return nil, err
	}
	found.AddCauses(causes)
	return &RunResponse{Report: found}, nil
}

// runInput returns the run of the input. It reuses the last run if that had the same input.
func (e *Engine) runInput(ctx context.Context, in Input) (*scenarioRun, []Problem, error) {
	of := in.hash()
	if e.last.result != nil && e.last.inputHash == of {
		return &e.last, nil, nil
	}
	e.last = scenarioRun{}
	in, err := e.largeFiles.restoreTexts(in)
	if err != nil {
		return nil, nil, err
	}
	s, problems, err := e.loadScenario(ctx, in)
	if err != nil || problems != nil {
		return nil, problems, err
	}
	result, err := simulation.Run(ctx, s, simulation.Options{})
	if impossible := (*simulation.StepError)(nil); errors.As(err, &impossible) && ctx.Err() == nil {
		return nil, []Problem{{File: in.Main, Line: lineOfStep(in, s, impossible.Step), Message: err.Error()}}, nil
	} else if err != nil {
		return nil, nil, err
	}
	e.last = scenarioRun{of, s, result}
	return &e.last, nil, nil
}
