package report

import (
	"fmt"
	"slices"
)

// runText renders text and wide: what the run was about, each step, and one line on the whole.
type runText struct {
	page
	report *Report
	wide   bool
}

func (t *runText) everything() {
	t.header(t.report.Head)
	for i := range t.report.Steps {
		t.step(i)
	}
	t.space()
	t.conclusion()
}

// step writes one step: the pods, or a table of their workloads if they are many, then what is worth knowing about them.
func (t *runText) step(i int) {
	s := t.stepText(i)
	heading := fmt.Sprintf("Step %d/%d  %s", i+1, len(t.report.Steps), s.Name)
	if s.Action != "" {
		heading += ": " + s.Action
	}
	t.space()
	t.linef(bold, "%s", heading)
	t.space()

	workloads := rows(s.Workloads)
	listed := t.all || len(s.Pods) <= maxPods
	switch {
	case len(s.Pods) == 0:
		t.linef(plain, "No pods.")
	case listed:
		t.pods(s)
		if t.wide {
			t.decisions(s)
		}
		var pods []explained
		for _, pod := range s.Pods {
			pods = append(pods, explained{name: "Pod " + s.qualified(pod.Namespace, pod.Name), node: pod.Node, decision: pod.Decision, cycle: pod.Cycle})
		}
		t.cycles(pods)
	default:
		t.linef(plain, "%s. Use --all to list every pod.", s.Summary.text())
	}
	t.space()
	if len(workloads) > 1 || !listed {
		t.workloads(s, workloads)
		t.space()
	} else if len(workloads) == 1 && len(s.Pods) > 0 {
		t.distributions(s, workloads[0])
	}
	t.pending(s)
	t.preempted(s)
	t.rollouts(s)
	t.notCreated(s)
	t.sentences("Why:", s.Why)
	t.sentences("Notes:", s.Notes)
	t.expectations(s)
}

// text is "50 pods: 48 running, 2 pending; 50 placed in this step".
func (s Summary) text() string {
	line := fmt.Sprintf("%s: %d running, %d pending", count(s.Pods, "pod"), s.Running, s.Pending)
	if s.NotReady > 0 {
		line += fmt.Sprintf(", %d not ready", s.NotReady)
	}
	if s.Terminating > 0 {
		line += fmt.Sprintf(", and %d more Terminating", s.Terminating)
	}
	line += fmt.Sprintf("; %d placed", s.Placed)
	if s.Preempted > 0 {
		line += fmt.Sprintf(" and %d preempted", s.Preempted)
	}
	return line + " in this step"
}

// expectations counts those that were met, and tells of the others.
func (t *runText) expectations(s *stepText) {
	if len(s.Expectations) == 0 {
		return
	}
	failed := failures(s.Expectations)
	result := green.cellf(" %d of %d met", len(s.Expectations)-len(failed), len(s.Expectations))
	if len(failed) > 0 {
		result.style = red
	}
	t.line(bold.cell("Expectations:"), result)
	for _, e := range failed {
		t.linef(red, "  FAILED  %s", e.failure())
		if e.Why != "" {
			t.linef(plain, "          why  %s", e.Why)
		}
	}
}

// quiet writes a line a step.
func (t *runText) quiet() {
	if len(t.report.Steps) == 0 {
		t.linef(plain, "No steps.")
		return
	}
	t.table("", t.steps()...)
}

// steps is a row for each step below the titles.
func (t *runText) steps() [][]cell {
	notReady := slices.ContainsFunc(t.report.Steps, func(s Step) bool { return s.Summary.NotReady > 0 })
	heads := []string{"NAME", "RUNNING", "PENDING"}
	if notReady {
		heads = append(heads, "NOT READY")
	}
	table := [][]cell{bold.row(append(heads, "EXPECTATIONS")...)}
	for _, s := range t.report.Steps {
		cells := []cell{plain.cell(orNone(s.Name)), number(s.Summary.Running, plain), number(s.Summary.Pending, yellow)}
		if notReady {
			cells = append(cells, number(s.Summary.NotReady, red))
		}
		failed := len(failures(s.Expectations))
		switch {
		case len(s.Expectations) == 0:
			cells = append(cells, plain.cell(none))
		case failed == 0:
			cells = append(cells, green.cell("ok"))
		default:
			cells = append(cells, red.cellf("%d of %d failed", failed, len(s.Expectations)))
		}
		table = append(table, cells)
	}
	return table
}
