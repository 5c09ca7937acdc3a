package playground

import (
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/engine/node"
	reportblast "github.com/faultline/faultline/pkg/report/blast"
)

// FailRequest asks what failures take after a step, and what comes back.
type FailRequest struct {
	Input Input `json:"input"`
	// Step is the step's name.
	Step string `json:"step"`
	// TopologyKey is the level whose domains fail. Default: each domain of every level, one at a time.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Domains are those of the level that fail together. Default: each, one at a time.
	Domains []string `json:"domains,omitempty"`
}

// FailResponse is the report of simulate blast on the step.
type FailResponse struct {
	Problems []Problem           `json:"problems,omitempty"`
	Blast    *reportblast.Report `json:"blast,omitempty"`
}

func (e *Engine) fail(ctx context.Context, asked FailRequest) (*FailResponse, error) {
	last, problems, err := e.ran(ctx, asked.Input, false)
	if err != nil || problems != nil {
		return &FailResponse{Problems: problems}, err
	}
	after, err := stepNamed(last.result, asked.Step)
	if err != nil {
		return nil, err
	}
	opts := blast.Options{LevelKeys: last.scenario.LevelKeys, Simultaneous: max(1, len(asked.Domains)), Mode: node.Deleted}
	if asked.TopologyKey != "" {
		opts.Levels = []string{asked.TopologyKey}
	}
	analysis, err := blast.Lost(after.State, opts)
	if err != nil {
		return nil, failed(KindInput, "%s", err)
	}
	if len(asked.Domains) > 0 {
		if err := only(analysis, asked); err != nil {
			return nil, err
		}
	}
	if err := blast.Recover(ctx, after.State, last.scenario, analysis, opts, nil); err != nil {
		return nil, err
	}
	blasted := []reportblast.Blasted{{Step: after, Analysis: analysis}}
	return &FailResponse{Blast: reportblast.New(last.result, blasted, opts, blast.Filter{}, true, e.Version)}, nil
}

// only leaves the failure of the domains that are asked about.
func only(analysis *blast.Analysis, asked FailRequest) error {
	domains := slices.Sorted(slices.Values(asked.Domains))
	level := &analysis.Levels[0]
	level.Failures = slices.DeleteFunc(level.Failures, func(f blast.Failure) bool {
		return !slices.Equal(slices.Sorted(slices.Values(f.Domains)), domains)
	})
	if len(level.Failures) == 0 {
		return failed(KindInput, "%s has no domains %q after step %q", asked.TopologyKey, asked.Domains, asked.Step)
	}
	return nil
}
