package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// pendingByReason returns the step's Pending pods, grouped by workload and message.
func (s *Step) pendingByReason() [][]Pod {
	return list.GroupBy(s.pendingPods(), func(pod Pod) [4]string { return [4]string{pod.Namespace, pod.Workload, pod.Why(), pod.Nominated} })
}

func (s *Step) pendingPods() []Pod {
	return list.Without(s.Pods, func(pod Pod) bool { return pod.Node != "" })
}

// pending writes why pods are Pending. Pods with the same message share it, and the message is never shortened.
func (t *writer) pending(s *stepText) {
	pods := s.pendingPods()
	if len(pods) == 0 {
		return
	}
	t.Linef(doc.Yellow, "Pending %d:", len(pods))
	groups := groupByReason(pods)
	t.UpTo(len(groups), "group of pods", "groups of pods", func(i int) {
		first := groups[i][0]
		if !t.wide && s.isShortMessage(first.Why()) {
			names := list.Map(list.GroupBy(groups[i], Pod.Owner), func(of []Pod) string { return s.qualify(of[0].Namespace, of[0].Owner().String()) })
			t.Linef(doc.Plain, "  %s of %s, for the reason above", words.Count(len(groups[i]), "pod"), t.NameFew(names, len(names)))
			return
		}
		t.Linef(doc.Plain, "  %s", t.nameGroup(s, groups[i]))
		for _, line := range doc.WaitLines(first.Message, first.Reason, first.Untried) {
			t.Linef(doc.Plain, "    %s", line)
		}
		for _, line := range doc.CauseLines(first.Causes) {
			t.Linef(doc.Plain, "    %s", line)
		}
		if len(first.Gates) > 0 && len(first.Causes) == 0 {
			t.Linef(doc.Plain, "    Gates: %s", strings.Join(first.Gates, ", "))
		}
		if first.Nominated != "" {
			t.Linef(doc.Plain, "    Nominated to %s, where preemption makes room", first.Nominated)
		}
		if t.wide {
			t.reasons(first.Reasons)
		}
	})
}

// notStarted writes which pods have a node and wait for their volume, grouped by the node that still has the volume.
func (t *writer) notStarted(s *stepText) {
	groups := s.unattachedPods()
	if len(groups) > 0 {
		t.Linef(doc.Yellow, "Not started:")
	}
	t.UpTo(len(groups), "group of pods", "groups of pods", func(i int) {
		t.Linef(doc.Plain, "  %s", t.nameGroup(s, groups[i]))
		t.Linef(doc.Plain, "    %s", doc.RefusalText(groups[i][0].Waits))
		if len(groups[i]) == 1 || t.wide {
			for _, pod := range groups[i] {
				t.Linef(doc.Plain, "    FailedAttachVolume  %s", pod.Message)
			}
		}
	})
}

// unattachedPods returns the pods that have a node and wait for their volume, grouped by the reason.
func (s *Step) unattachedPods() [][]Pod {
	waiting := list.Without(s.Pods, func(pod Pod) bool { return pod.Waits == "" })
	return list.GroupBy(waiting, func(pod Pod) string { return pod.Waits })
}

// groupByReason groups Pending pods by the reason, with what they ask: equal messages can have different causes.
func groupByReason(pods []Pod) [][]Pod {
	return list.GroupBy(pods, func(pod Pod) [5]string {
		return [5]string{pod.Message, pod.Untried, pod.Nominated, strings.Join(pod.Gates, ", "), strings.Join(doc.CauseLines(pod.Causes), "\n")}
	})
}

// nameGroup names a group of pods that share a message: one pod, or counts by workload.
func (t *writer) nameGroup(s *stepText, pods []Pod) string {
	workloads := list.GroupBy(pods, func(pod Pod) [2]string { return [2]string{pod.Namespace, pod.Workload} })
	if len(workloads) == 1 {
		return s.nameWorkloadPods(pods)
	}
	return fmt.Sprintf("%s: %s", words.Count(len(pods), "pod"), t.ListNames(list.Map(workloads, s.nameWorkloadPods)))
}

// nameWorkloadPods names one pod, or counts several pods of one workload.
func (s *stepText) nameWorkloadPods(pods []Pod) string {
	first := pods[0]
	if len(pods) == 1 {
		return s.qualify(first.Namespace, first.Name)
	}
	line := words.Count(len(pods), "pod") + " without owner"
	if first.Workload != "" {
		line = words.Count(len(pods), "pod") + " of " + first.Workload
	}
	if s.namespaced {
		line += " in namespace " + first.Namespace
	}
	return line
}

// reasons writes the message again by plugin: "InterPodAffinity   3 node(s) did not match pod anti-affinity rules".
func (t *writer) reasons(reasons []placement.Reason) {
	table := list.Map(reasons, func(r placement.Reason) []doc.Cell {
		return doc.Plain.Row(r.Plugin, fmt.Sprintf("%d %s", r.Nodes, r.Message))
	})
	t.Table("    ", table...)
}

// withoutDefaultNamespace removes the namespace default from namespace/name unless names need their namespace.
func (s *stepText) withoutDefaultNamespace(name string) string {
	if s.namespaced {
		return name
	}
	return strings.TrimPrefix(name, "default/")
}

func (t *writer) rollouts(s *stepText) {
	for _, r := range s.Rollouts {
		name := s.qualify(r.Namespace, r.String())
		t.Line(doc.Yellow.Cell("Rollout stuck:"), doc.Plain.Cellf(" %s: %d of %d updated, %d old, %d ready", name, r.Updated, r.Desired, r.Old, r.Ready))
		if r.Waiting != "" {
			t.Linef(doc.Plain, "  %s", r.Waiting)
		}
		if len(r.NotCreated) > 0 {
			t.Linef(doc.Plain, "  Not created: %s", t.ListNames(r.NotCreated))
		}
	}
}

// notCreated names the pods that controllers hold back, except where a stuck rollout has named them.
func (t *writer) notCreated(s *stepText) {
	for _, w := range s.Workloads {
		told := slices.ContainsFunc(s.Rollouts, func(r controller.Rollout) bool { return r.Ref == w.Ref })
		if len(w.NotCreated) > 0 && !told {
			t.Line(doc.Yellow.Cell("Not created:"), doc.Plain.Cellf(" %s: %s", s.qualify(w.Namespace, w.Title()), t.ListNames(w.NotCreated)))
		}
	}
}
