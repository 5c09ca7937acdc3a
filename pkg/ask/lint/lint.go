// Package lint finds rules that do not do what they say, before anybody relies on them: selectors that miss their own pods, hard rules
// that cannot be met or that stop a rollout, budgets that forbid every eviction.
//
//	simulation.Result ─ look ───▶ subjects          (look.go: each workload as each step leaves it)
//	                  ─ checks ─▶ []Finding         (check.go is the table; static ones read, simulated ones run the scenario again)
//	                  ─ sift ───▶ Result            (ignore.go: what an annotation says is meant)
//
// A check speaks only of what it can show on the nodes and the pods of the scenario. That a rule is absent is no finding.
package lint

import (
	"cmp"
	"context"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/simulation"
)

// Severity says how much a finding matters.
type Severity string

// The severities, the gravest first.
const (
	Error   Severity = "error"   // the rule fails, or makes something else fail
	Warning Severity = "warning" // the rule does less than it says, or will fail when something happens
	Note    Severity = "note"    // the rule changes nothing, or not what one expects
)

// Severities are all of them, the gravest first.
var Severities = []Severity{Error, Warning, Note}

// AtLeast tells whether the severity is as grave as the other.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, other)
}

// Finding is one rule that does not do what it says.
type Finding struct {
	// Check is the ID of the check.
	Check string
	// Severity is the check's, or a lesser one.
	Severity Severity
	// Object is what the rule is written in, and ExpandedFrom the custom resource that it was expanded from, if it was.
	Object       cluster.Ref
	ExpandedFrom string
	// Field is the rule's place in the object, such as spec.template.spec.topologySpreadConstraints[0].
	Field string
	// Source is where the object stands; nil where no file has it.
	Source *manifest.Source
	// Step is the first step in which it was found.
	Step string
	// Message says in one sentence what was found, and Fix what to do.
	Message, Fix string
}

// Ignored is a finding that an annotation says is meant.
type Ignored struct {
	Finding
	Reason string
}

// Result is what the checks found.
type Result struct {
	Simulation *simulation.Result
	// Checks are those that were made.
	Checks []Check
	// Findings are in order of their objects' first appearance, then of the checks.
	Findings []Finding
	// Ignored are the findings that annotations say are meant.
	Ignored []Ignored
	// Left is how many rules outvoted and term-decides-nothing did not look at, since each takes another run.
	Left int
}

// Options choose among the checks.
type Options struct {
	// Only are the IDs of the checks to make, and Disable of those to leave out. Empty Only is all of them.
	Only, Disable []string
	// Progress, if set, is told how many workloads have been looked at, and of how many.
	Progress func(done, total int)
}

// Run makes the checks on what a run found. Some run the scenario again, to see what a restart does or what comes without a rule. The
// error is that of a run, or the context's.
func Run(ctx context.Context, result *simulation.Result, opts Options) (*Result, error) {
	made := chosen(opts)
	l := newLook(ctx, result)
	c := &collection{scenario: result}
	for i, s := range l.subjects {
		if opts.Progress != nil {
			opts.Progress(i, len(l.subjects))
		}
		for j := range made {
			if made[j].find == nil {
				continue
			}
			found, err := made[j].find(l, s)
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				c.add(&made[j], s, f)
			}
		}
	}
	if opts.Progress != nil {
		opts.Progress(len(l.subjects), len(l.subjects))
	}
	r := &Result{Simulation: result, Checks: made, Left: l.left}
	r.Findings, r.Ignored = l.sift(c, made)
	return r, nil
}

func chosen(opts Options) []Check {
	return slices.DeleteFunc(slices.Clone(Checks()), func(c Check) bool {
		return len(opts.Only) > 0 && !slices.Contains(opts.Only, c.ID) || slices.Contains(opts.Disable, c.ID)
	})
}

// collection keeps each finding once, however many steps have it.
type collection struct {
	scenario *simulation.Result
	findings []Finding
	objects  []cluster.Ref // in order of their first appearance, a budget after what it covers
}

// add completes a finding of a check.
func (c *collection) add(check *Check, s *subject, f Finding) {
	f.Check, f.Step = check.ID, s.step.Name
	f.Severity = cmp.Or(f.Severity, check.Severity)
	if f.Object == (cluster.Ref{}) {
		f.Object = s.owner
	}
	if f.Object == s.owner {
		f.ExpandedFrom = s.object.GetAnnotations()[operator.OwnerAnnotation]
	}
	if source, found := c.scenario.Scenario.Source(s.step.Name, f.Object); found {
		f.Source = &source
	}
	for _, object := range []cluster.Ref{s.owner, f.Object} {
		if !slices.Contains(c.objects, object) {
			c.objects = append(c.objects, object)
		}
	}
	same := func(other Finding) bool {
		return other.Check == f.Check && other.Object == f.Object && other.Field == f.Field &&
			(other.Source == nil && f.Source == nil || other.Source != nil && f.Source != nil && *other.Source == *f.Source)
	}
	if !slices.ContainsFunc(c.findings, same) {
		c.findings = append(c.findings, f)
	}
}

// sorted returns the findings object by object.
func (c *collection) sorted() []Finding {
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(c.objects, a.Object), slices.Index(c.objects, b.Object))
	})
	return c.findings
}
