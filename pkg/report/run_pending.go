package report

import (
	"fmt"
	"slices"
	"strings"
)

// refusals are the step's Pending pods, those of one workload with the same message together.
func (s *Step) refusals() [][]Pod {
	return grouped(s.pendingPods(), func(pod Pod) [4]string { return [4]string{pod.Namespace, pod.Workload, pod.Message, pod.Nominated} })
}

func (s *Step) pendingPods() []Pod {
	return slices.DeleteFunc(slices.Clone(s.Pods), func(pod Pod) bool { return pod.Node != "" })
}

// pending says of each Pending pod what kube-scheduler said. Pods of one workload with the same message are told of once; the
// message is never wrapped or shortened.
func (t *runText) pending(s *stepText) {
	groups := s.refusals()
	if len(groups) == 0 {
		return
	}
	t.linef(yellow, "Pending %d:", len(s.pendingPods()))
	t.upTo(len(groups), "group of pods", "groups of pods", func(i int) {
		first := groups[i][0]
		t.linef(plain, "  %s", s.waiting(groups[i]))
		t.linef(plain, "    %s", refused(first.Message))
		if len(first.Gates) > 0 {
			t.linef(plain, "    Gates: %s", strings.Join(first.Gates, ", "))
		}
		if first.Nominated != "" {
			t.linef(plain, "    Nominated to %s, where preemption makes room", first.Nominated)
		}
		if t.wide {
			t.reasons(first.Reasons)
		}
	})
}

// waiting names one pod, or counts several of one workload.
func (s *stepText) waiting(pods []Pod) string {
	first := pods[0]
	if len(pods) == 1 {
		return s.qualified(first.Namespace, first.Name)
	}
	line := count(len(pods), "pod") + " without owner"
	if first.Workload != "" {
		line = count(len(pods), "pod") + " of " + first.Workload
	}
	if s.namespaced {
		line += " in namespace " + first.Namespace
	}
	return line
}

// reasons are the message once more, by plugin: "InterPodAffinity   3 node(s) did not match pod anti-affinity rules".
func (t *runText) reasons(reasons []Reason) {
	var table [][]cell
	for _, r := range reasons {
		table = append(table, plain.row(r.Plugin, fmt.Sprintf("%d %s", r.Nodes, r.Message)))
	}
	t.table("    ", table...)
}

func (t *runText) preempted(s *stepText) {
	if len(s.Preempted) > 0 {
		t.linef(yellow, "Preempted %d:", len(s.Preempted))
	}
	t.upTo(len(s.Preempted), "pod", "pods", func(i int) {
		p := s.Preempted[i]
		t.linef(plain, "  %s made room on %s for %s", s.short(p.Victim), p.Node, s.short(p.For))
	})
}

// short leaves the namespace out of namespace/name where names need none.
func (s *stepText) short(name string) string {
	if s.namespaced {
		return name
	}
	return strings.TrimPrefix(name, "default/")
}

func (t *runText) rollouts(s *stepText) {
	for _, r := range s.Rollouts {
		name := s.qualified(r.Namespace, strings.ToLower(r.Kind)+"/"+r.Name)
		t.line(yellow.cell("Rollout stuck:"), plain.cellf(" %s: %d of %d updated, %d old, %d ready", name, r.Updated, r.Desired, r.Old, r.Ready))
		if r.Waiting != "" {
			t.linef(plain, "  %s", r.Waiting)
		}
		if len(r.NotCreated) > 0 {
			t.linef(plain, "  Not created: %s", t.some(r.NotCreated))
		}
	}
}

// notCreated names the pods that controllers hold back without a rollout that says so.
func (t *runText) notCreated(s *stepText) {
	for _, w := range s.Workloads {
		told := slices.ContainsFunc(s.Rollouts, func(r Rollout) bool {
			return r.Kind == w.Kind && r.Namespace == w.Namespace && r.Name == w.Name
		})
		if len(w.NotCreated) > 0 && !told {
			t.line(yellow.cell("Not created:"), plain.cellf(" %s: %s", s.qualified(w.Namespace, w.title()), t.some(w.NotCreated)))
		}
	}
}
