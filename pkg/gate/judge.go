package gate

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/faultline/faultline/pkg/ask/cause"
	asklint "github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/lint"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Side is one version of a subject after its run.
type Side struct {
	// Name is the path of a scenario; "" for the output of a command.
	Name   string
	Result *simulation.Result
	// Judged are the expectations of each step; nil if nobody judges them.
	Judged [][]expect.Judged
	// Blast has what failures take, with recoveries, and Lint the findings.
	Blast *blast.Report
	Lint  *lint.Report
}

// Options say what fails the gate.
type Options struct {
	// FailOn are kinds of differences; see [diff.FailOns]. LintFail is the least severity of findings, or none.
	FailOn   []string
	LintFail string
	// Version is Faultline's version.
	Version string
}

// failsOn reports whether a difference of the kind fails the gate.
func (o *Options) failsOn(kind string) bool {
	return slices.Contains(o.FailOn, kind) || slices.Contains(o.FailOn, expect.FailOnAny)
}

// Judgement is what the gate says about one subject.
type Judgement struct {
	Statements []Statement
	// Compared has the differences from the base; nil if there is no base to compare with.
	Compared *diff.Report
	// Lint has the findings that count: of a change, those that the base does not have and that the change brings about.
	Lint *lint.Report
	// Notes are what the run notes about the head, such as objects that are left out, and not about the base.
	Notes []string
	// Added are the names of the workloads if nothing is compared, since the base has none of them.
	Added []string
	// RolledOut are the names of the workloads whose pods a rollout replaces, since the change changes their template.
	RolledOut []string
	// Pending has kube-scheduler's message for each workload with newly Pending pods.
	Pending []string
}

// judge builds a judgement.
type judge struct {
	Judgement
	Options
	head, base *Side         // base is nil if there is nothing to compare with
	finder     *cause.Finder // finds why pods are Pending
}

// JudgeChange judges what a change makes of a subject. base is the subject before the change; nil for a new subject, of which all counts as
// an effect of the change.
func JudgeChange(ctx context.Context, base, head *Side, opts Options) (*Judgement, error) {
	finder, err := cause.NewFinder(head.Result.Scenario.Config)
	if err != nil {
		return nil, err
	}
	defer finder.Close()
	j := &judge{Options: opts, head: head, base: base, finder: finder}
	j.Lint, j.Notes = head.Lint, head.Result.Notes
	if base != nil {
		j.Notes = list.Without(j.Notes, func(note string) bool { return slices.Contains(base.Result.Notes, note) })
		if err := j.stateApply(ctx); err != nil {
			return nil, err
		}
	}
	pending, err := j.newlyPending(ctx)
	if err != nil {
		return nil, err
	}
	j.Statements = append(j.Statements, pending...)
	j.stateExpectations()
	if base == nil {
		j.Added = nameWorkloads(head.Result.Scenario)
		j.stateFindings()
		return &j.Judgement, nil
	}
	j.Compared = diff.NewBlast(base.Blast, head.Blast, opts.Version)
	j.Lint.SetKnown(base.Lint)
	j.dropChance()
	j.stateFindings()
	j.stateDaemonSets()
	j.stateFailures()
	j.stateDeclared()
	return &j.Judgement, j.stateMaximum(ctx)
}

// JudgeEmptied judges a subject that has no workload any more.
func JudgeEmptied(name string, base *scenario.Scenario) *Judgement {
	text := fmt.Sprintf("no workload is left; the change removes %s", words.Few(nameWorkloads(base)))
	return &Judgement{Statements: []Statement{{About: name, Text: text}}}
}

// nameWorkloads returns the names of the workloads that the first step of a scenario applies.
func nameWorkloads(s *scenario.Scenario) []string {
	return list.Map(onlyWorkloads(firstObjects(s), nil), func(ref cluster.Ref) string { return nameWorkload(ref.Workload()) })
}

// JudgeAlone judges a subject without a change: only its expectations count.
func JudgeAlone(head *Side, opts Options) *Judgement {
	j := &judge{Options: opts, head: head}
	j.Lint = head.Lint
	j.stateExpectations()
	return &j.Judgement
}

func (j *judge) state(about string, fails bool, format string, args ...any) {
	j.Statements = append(j.Statements, Statement{About: about, Text: fmt.Sprintf(format, args...), Fails: fails})
}

// nameWorkload returns the name of a workload in a headline: web, or shop/web in a namespace other than default.
func nameWorkload(w cluster.WorkloadRef) string {
	_, name, _ := strings.Cut(w.Workload, "/")
	return cluster.Qualify(w.Namespace, cmp.Or(name, w.Workload))
}

// waiting are the Pending pods of a workload after a step.
type waiting struct {
	step *simulation.Step
	// newly is how many more pods are Pending than in the base, all how many pods the workload wants, and absent how many of these nobody has created.
	newly, all, absent int
	first              placement.Pending
}

// newlyPending returns a statement for each workload of which more pods are Pending than in the base, after the step with the most such pods.
// It does not count pods that were Pending before the first step, and skips steps whose number of Pending pods the scenario itself expects.
func (j *judge) newlyPending(ctx context.Context) ([]Statement, error) {
	before := map[string]map[cluster.Ref]int{}
	if j.base != nil {
		for i := range j.base.Result.Steps {
			step := &j.base.Result.Steps[i]
			before[step.Name] = countPending(j.base.Result, step)
		}
	}
	worst := map[cluster.Ref]*waiting{}
	var order []cluster.Ref
	s := j.head.Result.Scenario
	for i, spec := range simulation.StepsOf(s)[:len(j.head.Result.Steps)] {
		if boundsPending(spec.Expect) || boundsPending(s.Expect) {
			continue
		}
		step := &j.head.Result.Steps[i]
		owner := step.State.Owners()
		for _, group := range list.GroupBy(pendingSince(j.head.Result, step), func(p placement.Pending) cluster.Ref { return owner(p.Pod) }) {
			of := owner(group[0].Pod)
			newly := len(group) - before[step.Name][of]
			if newly <= 0 || worst[of] != nil && worst[of].newly >= newly {
				continue
			}
			if worst[of] == nil {
				order = append(order, of)
			}
			all, absent := countPods(step.State, of)
			worst[of] = &waiting{step, newly, all, absent, group[0]}
		}
	}
	var all []Statement
	for _, of := range order {
		w := worst[of]
		text, err := j.describe(ctx, w)
		if err != nil {
			return nil, err
		}
		all = append(all, Statement{About: nameWorkload(of.Workload()), Text: text, Fails: j.failsOn(expect.FailOnPending)})
		j.Pending = append(j.Pending, fmt.Sprintf("%s after step %s: %s", of.Qualified(), w.step.Name, w.first.Why()))
	}
	return all, nil
}

// describe returns "3 of 3 pods Pending, no node has pool=db".
func (j *judge) describe(ctx context.Context, w *waiting) (string, error) {
	text := fmt.Sprintf("%d of %s Pending", w.newly, words.Count(w.all, "pod"))
	if w.absent > 0 {
		text += fmt.Sprintf(" and %d not created", w.absent)
	}
	if len(j.head.Result.Steps) > 1 {
		text += " after " + w.step.Name
	}
	why, err := j.explainBriefly(ctx, w.step.State, &w.first)
	return text + ", " + why, err
}

// pendingSince returns the pods that are Pending after the step and were not Pending before the first step.
func pendingSince(result *simulation.Result, step *simulation.Step) []placement.Pending {
	before := map[types.NamespacedName]bool{}
	for _, pod := range result.Initial.Pods {
		before[cluster.NameOf(pod)] = pod.Spec.NodeName == ""
	}
	return list.Without(step.Pending, func(p placement.Pending) bool { return before[cluster.NameOf(p.Pod)] })
}

// countPending counts the pods of [pendingSince] by workload.
func countPending(result *simulation.Result, step *simulation.Step) map[cluster.Ref]int {
	n, owner := map[cluster.Ref]int{}, step.State.Owners()
	for _, p := range pendingSince(result, step) {
		n[owner(p.Pod)]++
	}
	return n
}

// countPods counts the pods that a workload has or wants, without Terminating ones. absent is how many of these nobody has created: a StatefulSet
// creates none while the one before it is Pending.
func countPods(state *cluster.State, of cluster.Ref) (all, absent int) {
	owner := state.Owners()
	for _, pod := range state.Pods {
		if pod.DeletionTimestamp == nil && owner(pod) == of {
			all++
		}
	}
	if wanted, _ := cluster.Replicas(state.Find(of)); int(wanted) > all {
		return int(wanted), int(wanted) - all
	}
	return all, 0
}

// boundsPending reports whether the expectations bound the number of Pending pods.
func boundsPending(expected *scenario.Expect) bool {
	return expected != nil && (expected.Pending != nil || expected.PendingAtMost != nil)
}

// stateExpectations states each expectation that is not met.
func (j *judge) stateExpectations() {
	for i, step := range j.head.Judged {
		for _, e := range expect.Unmet(step) {
			j.state(j.head.Name, true, "after %s %s", j.head.Result.Steps[i].Name, e)
		}
	}
}

// dropChance drops findings about objects that the change does not touch, unless they are errors or follow from what objects say. Other findings
// come from where pods happen to land: a fourth replica of one workload can move a pod of another one.
func (j *judge) dropChance() {
	if !reflect.DeepEqual(j.base.Result.Scenario.Cluster, j.head.Result.Scenario.Cluster) {
		return // other nodes concern every workload
	}
	untouched := map[cluster.Ref]bool{}
	before := map[cluster.Ref]cluster.Object{}
	for _, obj := range firstObjects(j.base.Result.Scenario) {
		before[cluster.RefTo(obj)] = obj
	}
	for _, obj := range firstObjects(j.head.Result.Scenario) {
		if old := before[cluster.RefTo(obj)]; old != nil && reflect.DeepEqual(old, obj) {
			untouched[cluster.RefTo(obj)] = true
		}
	}
	j.Lint.Keep(func(f *asklint.Finding, check *asklint.Check) bool {
		return !untouched[f.Object.Ref()] || f.Severity == asklint.Error || !check.Simulated
	})
}

// stateFindings states the findings of lint, the most severe first. It leaves out notes, unless they fail the gate.
func (j *judge) stateFindings() {
	least := asklint.Severity(j.LintFail)
	for _, severity := range asklint.Severities {
		fails := slices.Contains(asklint.Severities, least) && severity.AtLeast(least)
		if severity == asklint.Note && !fails {
			continue
		}
		for i := range j.Lint.Findings {
			if f := &j.Lint.Findings[i]; f.Severity == severity {
				about, text := j.describeFinding(f)
				j.state(about, fails, "%s", text)
			}
		}
	}
}

// describeFinding names the workload whose pods the finding is about, and says what is wrong in a few words.
func (j *judge) describeFinding(f *asklint.Finding) (about, text string) {
	about = nameObject(f.Kind, f.Namespace+"/"+f.Name)
	if f.Kind == "PodDisruptionBudget" {
		about = j.nameCovered(f.Object.Ref())
	}
	return about, cmp.Or(f.Brief, f.Message)
}

// nameCovered returns the name of the first workload whose pods the budget covers, or the budget's own name if it covers none.
func (j *judge) nameCovered(budget cluster.Ref) string {
	state := j.head.Result.State()
	budgets, owner := state.Budgets(), state.Owners()
	for _, pod := range state.Pods {
		if slices.ContainsFunc(budgets(pod), func(b *policyv1.PodDisruptionBudget) bool { return cluster.RefTo(b) == budget }) {
			return nameWorkload(owner(pod).Workload())
		}
	}
	return budget.Qualified()
}

// stateDaemonSets states the DaemonSets that no longer have a pod on nodes of both sides. It fails the gate on those that have none at all.
func (j *judge) stateDaemonSets() {
	before, after := j.base.Result.State(), j.head.Result.State()
	served, serves := servedNodes(before), servedNodes(after)
	for _, ds := range after.DaemonSets {
		ref := cluster.RefTo(ds)
		lost := list.Where(served[ref], func(node string) bool { return after.Node(node) != nil && !slices.Contains(serves[ref], node) })
		switch {
		case len(lost) == 0:
		case len(serves[ref]) == 0:
			text := "the DaemonSet runs nowhere"
			if i := slices.IndexFunc(j.Lint.Findings, func(f asklint.Finding) bool { return f.Object.Ref() == ref && f.Check == "no-node-takes-pods" }); i >= 0 {
				text = j.Lint.Findings[i].Brief
			}
			j.state(nameWorkload(ref.Workload()), j.failsOn(expect.FailOnRadius), "%s; %s had a pod of it before", text, words.Count(len(served[ref]), "node"))
		default:
			j.state(nameWorkload(ref.Workload()), false, "%s of %d no longer %s a pod of it: %s", words.Count(len(lost), "node"), len(served[ref]), words.Pick(len(lost), "has", "have"), words.Few(lost))
		}
	}
}

// servedNodes returns the nodes that each DaemonSet has a pod for, also a Pending one.
func servedNodes(state *cluster.State) map[cluster.Ref][]string {
	nodes, owner := map[cluster.Ref][]string{}, state.Owners()
	for _, pod := range state.Pods {
		if of := owner(pod); of.Kind == "DaemonSet" {
			if node, err := daemonutil.GetTargetNodeName(pod); err == nil { // the controller gives each of its pods a node
				nodes[of] = append(nodes[of], node)
			}
		}
	}
	return nodes
}

// stateFailures states what failures take more than in the base.
func (j *judge) stateFailures() {
	for _, step := range j.Compared.Failures {
		for _, l := range step.Levels {
			for _, e := range l.Excess {
				j.state(nameWorkload(e.WorkloadRef), e.Old != nil && j.failsOn(expect.FailOnRadius), "%s", e.Brief(l.TopologyKey))
			}
		}
		for _, w := range step.OneReplica {
			j.state(nameWorkload(w.WorkloadRef), j.failsOn(expect.FailOnRadius), "%s", w.Brief())
		}
		for _, l := range step.Levels {
			for _, s := range l.NewlyStranded {
				j.state(nameWorkload(s.WorkloadRef), j.failsOn(expect.FailOnStranded), "%s", s.Brief(l.TopologyKey))
			}
			for _, names := range []struct {
				*diff.NameDiff
				what string
			}{{l.QuorumLost, "loses its quorum"}, {l.Gone, "is gone"}} {
				if names.NameDiff == nil {
					continue
				}
				for _, name := range names.Newly {
					namespace, workload, _ := strings.Cut(name, "/")
					j.state(nameWorkload(cluster.WorkloadRef{Namespace: namespace, Workload: workload}), j.failsOn(expect.FailOnAny), "%s when a %s fails", names.what, diff.LevelNoun(l.TopologyKey))
				}
			}
			j.stateBrokenBudgets(&l)
		}
	}
}

// stateBrokenBudgets states the budgets that a failure newly breaks, without those that the base does not have.
func (j *judge) stateBrokenBudgets(l *diff.BlastLevelDiff) {
	if l.BrokenBudgets == nil {
		return
	}
	before := j.base.Result.State()
	for _, name := range l.BrokenBudgets.Newly {
		namespace, budget, _ := strings.Cut(name, "/")
		ref := cluster.Ref{Kind: "PodDisruptionBudget", Namespace: namespace, Name: budget}
		if before.Find(ref) != nil {
			j.state(j.nameCovered(ref), j.failsOn(expect.FailOnAny), "its budget is broken when a %s fails", diff.LevelNoun(l.TopologyKey))
		}
	}
}

// stateDeclared states the rules, budgets, priorities and requests that a workload drops or weakens.
func (j *judge) stateDeclared() {
	for i := range j.Compared.Declared {
		if d := &j.Compared.Declared[i]; d.IsRemoval() {
			j.state(nameWorkload(d.WorkloadRef), j.failsOn(expect.FailOnRules), "%s", d.Brief())
		}
	}
}
