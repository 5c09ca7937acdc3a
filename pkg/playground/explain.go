package playground

import (
	"context"
	"errors"

	"github.com/faultline/faultline/pkg/ask/explain"
	"github.com/faultline/faultline/pkg/cluster"
	reportexplain "github.com/faultline/faultline/pkg/report/explain"
)

// ExplainRequest asks why a pod is where it is, or Pending.
type ExplainRequest struct {
	Input Input `json:"input"`
	// Step is the name of the step after which the pod is explained. Default: the last step that placed the pod.
	Step      string `json:"step,omitempty"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
}

// ExplainResponse is the report of simulate explain.
type ExplainResponse struct {
	Problems []Problem             `json:"problems,omitempty"`
	Explain  *reportexplain.Report `json:"explain,omitempty"`
}

func (e *Engine) explain(ctx context.Context, request ExplainRequest) (*ExplainResponse, error) {
	last, problems, err := e.runInput(ctx, request.Input)
	if err != nil || problems != nil {
		return &ExplainResponse{Problems: problems}, err
	}
	of := explain.Question{Ref: cluster.Ref{Kind: "Pod", Namespace: request.Namespace, Name: request.Pod}, Step: request.Step}
	result, pods, more, err := explain.Pods(ctx, last.scenario, of, explain.Options{})
	if missing := (*explain.NotFoundError)(nil); errors.As(err, &missing) {
		return nil, newError(KindInput, "%s", missing)
	} else if err != nil {
		return nil, err
	}
	return &ExplainResponse{Explain: reportexplain.New(result, pods, more, nil, e.Version)}, nil
}
