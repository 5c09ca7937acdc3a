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

// run is a scenario that was run, with its result.
type run struct {
	of       [sha256.Size]byte // the hash of the input
	scenario *scenario.Scenario
	result   *simulation.Result
}

func (e *Engine) run(ctx context.Context, request RunRequest) (*RunResponse, error) {
	last, problems, err := e.runOf(ctx, request.Input)
	if err != nil || problems != nil {
		return &RunResponse{Problems: problems}, err
	}
	judged, err := expect.Judge(ctx, last.result, nil)
	if err != nil {
		return nil, err
	}
	found := reportrun.New(last.result, judged, e.Version)
	found.AddCycles(last.result, func(*reportrun.Step) bool { return true })
	causes, err := cause.InRun(ctx, last.result)
	if err != nil {
		return nil, err
	}
	found.AddCauses(causes)
	return &RunResponse{Report: found}, nil
}

// runOf returns the run of the input. It reuses the last run if that had the same input.
func (e *Engine) runOf(ctx context.Context, in Input) (*run, []Problem, error) {
	of := in.sum()
	if e.last.result != nil && e.last.of == of {
		return &e.last, nil, nil
	}
	e.last = run{}
	in, err := e.kept.whole(in)
	if err != nil {
		return nil, nil, err
	}
	s, problems, err := e.read(ctx, in)
	if err != nil || problems != nil {
		return nil, problems, err
	}
	result, err := simulation.Run(ctx, s, simulation.Options{})
	if impossible := (*simulation.StepError)(nil); errors.As(err, &impossible) && ctx.Err() == nil {
		return nil, []Problem{{File: in.Main, Line: lineOfStep(in, s, impossible.Step), Message: err.Error()}}, nil
	} else if err != nil {
		return nil, nil, err
	}
	e.last = run{of, s, result}
	return &e.last, nil, nil
}
