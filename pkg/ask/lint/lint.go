// Package lint finds rules that do not do what they say, before anybody relies on them: selectors that do not match their own pods, hard
// rules that cannot be met or that stop a rollout, budgets that forbid every eviction. It also finds what is missing: a second replica, a
// budget, requests, a rule.
//
//	simulation.Result ─ look ───▶ subjects          (look.go: each workload as each step leaves it)
//	                  ─ checks ─▶ []Finding         (check.go is the table; static ones read, simulated ones run the scenario again)
//	                  ─ sift ───▶ Result            (ignore.go: what an annotation says is meant)
//
// A check reports only what it can show on the nodes and pods of the scenario.
package lint

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Severity is how bad a finding is.
type Severity string

// The severities, most severe first.
const (
	Error   Severity = "error"   // the rule fails, or makes something else fail
	Warning Severity = "warning" // the rule does less than it says, or will fail when something happens
	Note    Severity = "note"    // the rule changes nothing, or something unexpected
)

// Severities lists all severities, most severe first.
var Severities = []Severity{Error, Warning, Note}

// AtLeast reports whether the severity is at least as severe as the other.
func (s Severity) AtLeast(other Severity) bool {
	return slices.Index(Severities, s) <= slices.Index(Severities, other)
}

// Finding is one rule that does not do what it says.
type Finding struct {
	// Check is the ID of the check.
	Check string `json:"check"`
	// Severity is the severity of the check, or a lower one.
	Severity Severity `json:"severity" jsonschema:"enum=error,enum=warning,enum=note"`
	Object
	// ExpandedFrom is the custom resource from which the object was expanded; missing if there is none.
	ExpandedFrom string `json:"expandedFrom,omitempty"`
	// Field is the rule's path in the object, such as spec.template.spec.topologySpreadConstraints[0].
	Field string `json:"field"`
	// Source is where the object is defined; missing if no file defines it.
	Source *manifest.Source `json:"source,omitempty"`
	// Step is the name of the first step after which the finding holds.
	Step string `json:"step"`
	// Message is one sentence about what was found. Fix says what to do.
	Message string `json:"message"`
	Fix     string `json:"fix"`
	// Brief is a shorter message for a line that names the object already; "" if Message is short.
	Brief string `json:"-"`
	// Page is the address of the check's page.
	Page string `json:"page"`
}

// Object names the object that contains a rule.
type Object struct {
	// Namespace, Kind and Name identify the object that contains the rule.
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
}

func objectOf(ref cluster.Ref) Object { return Object{ref.Namespace, ref.Kind, ref.Name} }

// Ref returns the name by which the cluster knows the object.
func (o Object) Ref() cluster.Ref {
	return cluster.Ref{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

// Ignored is a finding that an annotation declares as intended.
type Ignored struct {
	Finding
	// Reason is the reason that the annotation gives.
	Reason string `json:"reason"`
}

// Result is what the checks found in one run.
type Result struct {
	// Findings are in the order in which their objects first appear, then in the order of the checks.
	Findings []Finding `json:"findings"`
	// IgnoredFindings are the findings that annotations declare as intended.
	IgnoredFindings []Ignored `json:"ignoredFindings,omitempty"`
	// Pending are the workloads with Pending pods before any step takes nodes away; missing for a federation. They are no findings: what keeps the
	// pods from nodes may be meant.
	Pending []Pending `json:"pending,omitempty"`
	// Checks are the checks that ran.
	Checks []Check `json:"checks"`
	// LeftOut are the checks that did not run, because the simulator may not read kinds that they need.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// Simulation is the run that was examined.
	Simulation *simulation.Result `json:"-"`
	// Unexamined is the number of rules that outvoted and term-decides-nothing skipped, since each rule takes another run.
	Unexamined int `json:"-"`
}

// LeftOut is a check that did not run.
type LeftOut struct {
	// Check is the ID of the check.
	Check string `json:"check"`
	// Unread are the kinds that the check needs and that the simulator may not read.
	Unread []string `json:"unread"`
}

// Options select the checks.
type Options struct {
	// Only are the IDs of the checks to run; if it is empty, all checks run. Disable are the IDs of the checks to skip.
	Only, Disable []string
	// Progress, if set, is called with the current workload, the number of workloads checked and their total.
	Progress func(workload string, done, total int)
}

// Run runs the checks on the result of a run. Some checks run the scenario again, to see what a restart does, or what happens without a
// rule. An error comes from such a run or from the context. If the context ends, Run returns its error with the result for the workloads
// checked by then; the result is nil if there are none.
func Run(ctx context.Context, result *simulation.Result, opts Options) (*Result, error) {
	made, left := splitReadable(selectChecks(opts), result.Scenario.Unread)
	karmada := newKarmadaControl(result)
	looks := newInspections(ctx, result, karmada)
	c := &collection{scenario: result}
	r := &Result{Simulation: result, Checks: made, LeftOut: left}
	done, total := 0, 0
	for _, l := range looks {
		total += len(l.subjects)
		defer l.close()
	}
	finish := func() {
		for _, l := range looks {
			r.Unexamined += l.skippedEdits
		}
		r.Findings, r.IgnoredFindings = splitIgnored(looks, c, made)
	}
	if karmada == nil {
		var err error
		if r.Pending, err = looks[0].findPending(); err != nil {
			return nil, err
		}
	}
	for i := range made {
		if karmada == nil || made[i].findInKarmada == nil {
			continue
		}
		for _, f := range made[i].findInKarmada(karmada) {
			c.appendFinding(&made[i], &subject{step: karmada.step}, f)
		}
	}
	for i := range made {
		if made[i].findInNodeGroups == nil || result.Scenario.Autoscaler == nil || len(result.Steps) == 0 {
			continue
		}
		for _, f := range made[i].findInNodeGroups(result) {
			c.appendFinding(&made[i], &subject{step: &result.Steps[0]}, f)
		}
	}
	for _, l := range looks {
		if l.member == "" && slices.ContainsFunc(made, func(c Check) bool { return c.needsRestarts }) {
			err := l.runAllRestarts(func(s *subject, restarted, all int) {
				if opts.Progress != nil {
					opts.Progress("restart of "+s.owner.Qualified(), restarted, all)
				}
			})
			if err != nil {
				return nil, err
			}
		}
		for _, s := range l.subjects {
			if opts.Progress != nil {
				opts.Progress(s.owner.Qualified(), done, total)
			}
			for j := range made {
				if made[j].find == nil || l.member != "" && made[j].Simulated {
					continue
				}
				found, err := made[j].find(l, s)
				if err != nil && (ctx.Err() == nil || done == 0) {
					return nil, err
				} else if err != nil {
					result.Partial = fmt.Sprintf("interrupted after %d of %s", done, words.Count(total, "workload"))
					finish()
					return r, err
				}
				for _, f := range found {
					c.appendFinding(&made[j], s, l.prefixCluster(f))
				}
			}
			done++
		}
	}
	finish()
	return r, nil
}

func selectChecks(opts Options) []Check {
	return list.Without(Checks(), func(c Check) bool {
		return len(opts.Only) > 0 && !slices.Contains(opts.Only, c.ID) || slices.Contains(opts.Disable, c.ID)
	})
}

// splitReadable separates the checks for which all needed kinds can be read from the others.
func splitReadable(all []Check, unread []string) (made []Check, left []LeftOut) {
	for _, c := range all {
		lacks := list.Where(c.neededKinds, func(kind string) bool { return slices.Contains(unread, kind) })
		if len(lacks) > 0 {
			left = append(left, LeftOut{c.ID, lacks})
			continue
		}
		made = append(made, c)
	}
	return made, left
}

// collection keeps each finding once, even if several steps have it.
type collection struct {
	scenario *simulation.Result
	findings []Finding
	objects  []cluster.Ref // in the order of their first appearance, a budget after the workload that it covers
}

// appendFinding completes a finding of a check and appends it.
func (c *collection) appendFinding(check *Check, s *subject, f Finding) {
	f.Check, f.Page, f.Step = check.ID, check.Page, s.step.Name
	f.Severity = cmp.Or(f.Severity, check.Severity)
	if f.Object == (Object{}) {
		f.Object = objectOf(s.owner)
	}
	if f.Ref() == s.owner {
		f.ExpandedFrom = s.object.GetAnnotations()[operator.OwnerAnnotation]
	}
	if source, found := c.scenario.Scenario.Source(s.step.Name, f.Ref()); found {
		source.Line = max(1, source.Line)
		f.Source = &source
	}
	for _, object := range []cluster.Ref{s.owner, f.Ref()} {
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

// sortByObject returns the findings sorted by object.
func (c *collection) sortByObject() []Finding {
	place := make(map[cluster.Ref]int, len(c.objects))
	for i, object := range c.objects {
		place[object] = i
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int { return cmp.Compare(place[a.Ref()], place[b.Ref()]) })
	return c.findings
}
