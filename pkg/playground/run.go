package playground

import (
	"context"
	"crypto/sha256"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	reportrun "github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// RunRequest asks where the pods go.
type RunRequest struct {
	Input Input `json:"input"`
	// Record asks for what every plugin said of the nodes. It has no effect on a cluster of more than 64 nodes.
	Record bool `json:"record,omitempty"`
}

// RunResponse is the report of simulate run, or what is wrong with the scenario.
type RunResponse struct {
	Problems []Problem `json:"problems,omitempty"`
	// Report is what simulate run -o json prints.
	Report *reportrun.Report `json:"report,omitempty"`
}

// maxRecorded is the number of nodes that are recorded for each pod, and the size of the largest cluster for which they are.
const maxRecorded = 64

// run is a scenario that was run.
type run struct {
	of       [sha256.Size]byte // the input
	scenario *scenario.Scenario
	result   *simulation.Result
	recorded bool
}

func (e *Engine) run(ctx context.Context, request RunRequest) (*RunResponse, error) {
	last, problems, err := e.runOf(ctx, request.Input, request.Record)
	if err != nil || problems != nil {
		return &RunResponse{Problems: problems}, err
	}
	judged, err := expect.Judge(ctx, last.result, nil)
	if err != nil {
		return nil, err
	}
	found := reportrun.New(last.result, judged, e.Version)
	found.AddCycles(last.result, func(*reportrun.Step) bool { return true })
	return &RunResponse{Report: found}, nil
}

// runOf returns the run of the input. It reuses the last run if the input is the same.
func (e *Engine) runOf(ctx context.Context, in Input, record bool) (*run, []Problem, error) {
	of := in.sum()
	if e.last.result != nil && e.last.of == of && (e.last.recorded || !record) {
		return &e.last, nil, nil
	}
	e.last = run{}
	s, problems, err := e.read(ctx, in)
	if err != nil || problems != nil {
		return nil, problems, err
	}
	opts := simulation.Options{}
	if record && len(s.Nodes()) <= maxRecorded {
		depth := &placement.Depth{Nodes: maxRecorded}
		opts.Record = func(string, cluster.Ref, *v1.Pod) *placement.Depth { return depth }
	}
	result, err := simulation.Run(ctx, s, opts)
	if err != nil {
		return nil, nil, err
	}
	e.last = run{of, s, result, record}
	return &e.last, nil, nil
}
