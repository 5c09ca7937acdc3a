package ci

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/format/markdown"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// maxReason is how many characters of a reason the verdict has. The section about the subject has the whole reason.
const maxReason = 300

// judgeNew judges a subject that the base does not have. All its Pending pods count as an effect of the change.
func (g *gateRun) judgeNew(one *subject, head *subjectSide) {
	name := markdown.CodeSpan(one.name)
	fmt.Fprintf(&g.compared, "New: the base does not have it, so it is compared with nothing.\n")
	waiting, why := describePending(head.result)
	switch {
	case waiting == "":
	case slices.Contains(g.FailOn, expect.FailOnPending), slices.Contains(g.FailOn, expect.FailOnAny):
		g.fail(exit.Unmet, "%s is new, and %s", name, waiting)
	default:
		g.warnings = append(g.warnings, fmt.Sprintf("%s is new, and %s", name, waiting))
	}
	g.compared.WriteString(why)
	g.addLint(one.name, head.lint)
}

// judgeUncompared judges a subject whose base cannot be used. Lint treats it as new. Nobody knows whether the change makes its pods wait, so that
// Pending pods are a warning.
func (g *gateRun) judgeUncompared(one *subject, head *subjectSide, reason, details string) {
	g.uncompared = append(g.uncompared, "not compared: "+reason)
	fmt.Fprintf(&g.compared, "Not compared: %s. So it is judged as if it were new.\n%s", reason, details)
	waiting, why := describePending(head.result)
	if waiting != "" {
		g.warnings = append(g.warnings, fmt.Sprintf("%s in %s", waiting, markdown.CodeSpan(one.name)))
	}
	g.compared.WriteString(why)
	g.addLint(one.name, head.lint)
}

// explainUnusable returns in one line why a base cannot be used, and the whole error as Markdown.
func explainUnusable(one *subject, err error) (reason, details string) {
	what := "run"
	if errors.As(err, new(*programError)) {
		what = "rendered"
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	reason = fmt.Sprintf("the base of %s cannot be %s: %s", markdown.CodeSpan(one.name), what, markdown.CodeSpan(words.Shorten(lines[0], maxReason)))
	if len(lines) > 1 {
		reason += fmt.Sprintf(" and %d more", len(lines)-1)
		details = "\n" + markdown.CodeBlock(lines) + "\n"
	}
	return reason, details
}

// describePending returns how many pods of which workloads are Pending after the worst step, and the reasons as Markdown. It does not count pods that
// were Pending before the first step, and skips steps whose number of Pending pods the scenario itself expects.
func describePending(result *simulation.Result) (waiting, why string) {
	before := map[types.NamespacedName]bool{}
	for _, pod := range result.Initial.Pods {
		before[cluster.NameOf(pod)] = pod.Spec.NodeName == ""
	}
	var most *simulation.Step
	var pending []placement.Pending
	for i, spec := range simulation.StepsOf(result.Scenario)[:len(result.Steps)] {
		if boundsPending(spec.Expect) || boundsPending(result.Scenario.Expect) {
			continue
		}
		newly := list.Without(result.Steps[i].Pending, func(p placement.Pending) bool { return before[cluster.NameOf(p.Pod)] })
		if len(newly) > len(pending) {
			most, pending = &result.Steps[i], newly
		}
	}
	if most == nil {
		return "", ""
	}
	owner := most.State.Owners()
	pods := map[cluster.Ref]int{}
	for _, pod := range most.State.Pods {
		if pod.DeletionTimestamp == nil {
			pods[owner(pod)]++
		}
	}
	var parts, lines []string
	for _, group := range list.GroupBy(pending, func(p placement.Pending) cluster.Ref { return owner(p.Pod) }) {
		of := owner(group[0].Pod)
		part := fmt.Sprintf("%d of %s of ", len(group), words.Count(pods[of], "pod"))
		parts = append(parts, part+markdown.CodeSpan(of.Qualified()))
		lines = append(lines, fmt.Sprintf("%s%s Pending after step %s: %s", part, of.Qualified(), most.Name, group[0].Why()))
	}
	return fmt.Sprintf("%s %s Pending", words.Few(parts), words.Pick(len(pending), "is", "are")), "\n" + markdown.CodeBlock(lines) + "\n"
}

// boundsPending reports whether the expectations bound the number of Pending pods.
func boundsPending(expected *scenario.Expect) bool {
	return expected != nil && (expected.Pending != nil || expected.PendingAtMost != nil)
}
