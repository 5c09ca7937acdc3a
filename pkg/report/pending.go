package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// silent stands for the message that kube-scheduler did not give.
const silent = "kube-scheduler gave no message"

// refused is a Pending pod's message as kubectl shows it: after the reason of its event, or of its condition where there is none.
func refused(message string) string {
	switch message {
	case "":
		return silent
	case placement.Gated:
		return "SchedulingGated  " + message
	}
	return "FailedScheduling  " + message
}

// grouped puts the items with the same key together, in order of their first ones.
func grouped[T any, K comparable](items []T, key func(T) K) [][]T {
	var groups [][]T
	position := map[K]int{}
	for _, item := range items {
		i, seen := position[key(item)]
		if !seen {
			i = len(groups)
			position[key(item)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], item)
	}
	return groups
}

// refusal is what pods of one workload that wait for the same reason have in common.
type refusal struct {
	namespace, workload, message, nominated string
}

// refusals are the step's Pending pods, those of one workload with the same message together.
func (s *Step) refusals() [][]Pod {
	return grouped(s.pendingPods(), func(pod Pod) refusal { return refusal{pod.Namespace, pod.Workload, pod.Message, pod.Nominated} })
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
func (p *page) reasons(reasons []Reason) {
	var table [][]cell
	for _, r := range reasons {
		table = append(table, plain.row(r.Plugin, fmt.Sprintf("%d %s", r.Nodes, r.Message)))
	}
	p.table("    ", table...)
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

// some lists names, and counts those that are too many.
func (p *page) some(names []string) string {
	if more := len(names) - maxDetails; more > 0 && !p.all {
		return fmt.Sprintf("%s and %d more; use --all to list them", strings.Join(names[:maxDetails], ", "), more)
	}
	return strings.Join(names, ", ")
}

// upTo tells of each of n things, and counts those that are too many.
func (p *page) upTo(n int, one, several string, tell func(i int)) {
	for i := range n {
		if i == maxDetails && !p.all {
			p.more(n-i, one, several)
			return
		}
		tell(i)
	}
}

func (p *page) more(n int, one, several string) {
	if n != 1 {
		one = several
	}
	p.linef(plain, "  and %d more %s; use --all to list them", n, one)
}
