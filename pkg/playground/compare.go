package playground

import (
	"context"

	"github.com/faultline/faultline/pkg/ask/metric"
	"github.com/faultline/faultline/pkg/ask/whatif"
	"github.com/faultline/faultline/pkg/cluster"
	reportcompare "github.com/faultline/faultline/pkg/report/compare"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
)

// CompareRequest asks what other rules would change.
type CompareRequest struct {
	Input Input `json:"input"`
	// Workload is the workload whose rules change, as kind/name or namespace/kind/name. Default: all.
	Workload string `json:"workload,omitempty"`
	// Rules are none, soft, hard or spread.
	Rules []string `json:"rules"`
	// Keys are the topology keys, such as zone, over which each rule keeps pods apart. Default: the keys of the present rules, or node.
	Keys []string `json:"keys,omitempty"`
	// Step is the name of the step after which the versions are compared. Default: the last one.
	Step string `json:"step,omitempty"`
}

// CompareResponse is the report of simulate compare.
type CompareResponse struct {
	Problems []Problem             `json:"problems,omitempty"`
	Compare  *reportcompare.Report `json:"compare,omitempty"`
}

// maxRules and maxKeys bound the rules and keys of one request.
const maxRules, maxKeys = 16, 64

func (e *Engine) compare(ctx context.Context, request CompareRequest) (*CompareResponse, error) {
	if len(request.Rules) > maxRules || len(request.Keys) > maxKeys {
		return nil, newError(KindLimit, "%d rules over %d keys are asked for, and the page compares %d over %d; ask for fewer", len(request.Rules), len(request.Keys), maxRules, maxKeys)
	}
	last, problems, err := e.runInput(ctx, request.Input)
	if err != nil || problems != nil {
		return &CompareResponse{Problems: problems}, err
	}
	opts := whatif.Options{Step: request.Step, Metric: metric.Options{Worst: metric.DefaultWorst, Recover: topology.Levels(last.scenario.Nodes(), last.scenario.LevelKeys...)}}
	if request.Workload != "" {
		owner, err := last.scenario.Workload(request.Workload, scenario.SeparableKinds...)
		if err != nil {
			return nil, newError(KindInput, "%s", err)
		}
		opts.Metric.Workloads = []cluster.Ref{owner}
	}
	maker := variant.NewMaker(last.scenario)
	var variants []scenario.LoadedVariant
	var versions []*scenario.Scenario
	for _, rule := range request.Rules {
		change := scenario.RuleChange{Rule: rule, Workload: request.Workload}
		for _, key := range request.Keys {
			if rule != "none" {
				change.Over = append(change.Over, scenario.Term{TopologyKey: key})
			}
		}
		varied, err := maker.VaryContext(ctx, &scenario.Variant{Name: rule, Rules: []scenario.RuleChange{change}}, "rule "+rule)
		if err != nil {
			return nil, newError(KindInput, "%s", err)
		}
		variants, versions = append(variants, *varied), append(versions, varied.Scenario)
	}
	base, err := whatif.RunBase(ctx, last.scenario, opts)
	if err != nil {
		return nil, err
	}
	found, err := whatif.Run(ctx, base, versions, opts)
	if err != nil {
		return nil, err
	}
	return &CompareResponse{Compare: reportcompare.New(base, variants, found, opts, e.Version)}, nil
}
