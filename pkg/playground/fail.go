package playground

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/list"
	reportblast "github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/topology"
)

// FailRequest asks what failures take after a step, and what comes back.
type FailRequest struct {
	Input Input `json:"input"`
	// Step is the step's name.
	Step string `json:"step"`
	// TopologyKey is the level whose domains fail. Default: each domain of every level, one at a time.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Domains are the domains of the level that fail together. Default: each domain, one at a time.
	Domains []string `json:"domains,omitempty"`
}

// FailResponse is the report of simulate blast on the step.
type FailResponse struct {
	Problems []Problem           `json:"problems,omitempty"`
	Blast    *reportblast.Report `json:"blast,omitempty"`
}

func (e *Engine) fail(ctx context.Context, request FailRequest) (*FailResponse, error) {
	last, problems, err := e.runInput(ctx, request.Input)
	if err != nil || problems != nil {
		return &FailResponse{Problems: problems}, err
	}
	after, err := stepNamed(last.result, request.Step)
	if err != nil {
		return nil, err
	}
	if err := checkDomains(after.State.Nodes, request); err != nil {
		return nil, err
	}
	mode := cmp.Or(node.FailureMode(last.scenario.Failures.Mode), node.Unreachable)
	opts := blast.Options{LevelKeys: last.scenario.LevelKeys, Simultaneous: 1, Together: request.Domains, Mode: mode, StartTime: blast.DefaultStartTime, From: after.Mark()}
	if request.TopologyKey != "" {
		opts.Levels = []string{request.TopologyKey}
	}
	analysis, err := blast.Lost(after.State, opts)
	if err != nil {
		return nil, newError(KindInput, "%s", err)
	}
	if len(request.Domains) > 0 {
		opts.Simultaneous = len(analysis.Levels[0].Failures[0].Domains)
	}
	if err := blast.Recover(ctx, after.State, last.scenario, analysis, opts, nil); err != nil {
		return nil, err
	}
	blasted := []reportblast.Blasted{{Step: after, Analysis: analysis}}
	return &FailResponse{Blast: reportblast.New(last.result, blasted, opts, blast.Filter{}, true, e.Version)}, nil
}

// maxMissing is the number of missing domains that an error names.
const maxMissing = 8

// checkDomains returns an error for domains that the nodes do not have.
func checkDomains(nodes []*v1.Node, request FailRequest) error {
	if len(request.Domains) > 0 && request.TopologyKey == "" {
		return newError(KindInput, "domains are given without their topologyKey; give it, or leave out domains")
	}
	known := map[string]bool{}
	domains, _ := topology.Domains(nodes, topology.ResolveKey(nodes, request.TopologyKey))
	for _, domain := range domains {
		known[domain.Value] = true
	}
	missing := list.Without(request.Domains, func(name string) bool { return known[name] })
	if len(known) == 0 || len(missing) == 0 { // a later error explains a level that no node has
		return nil
	}
	return newError(KindInput, "%s has no domains %q after step %q", request.TopologyKey, missing[:min(len(missing), maxMissing)], request.Step)
}
