package run

import (
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// describeUnended returns "1 drain does not end" or "2 drains do not end".
func describeUnended(drains int) string {
	return words.Count(drains, "drain") + words.Pick(drains, " does not end", " do not end")
}

// stayingPod is a pod that blocks the drain of a node.
type stayingPod struct {
	pod          Pod
	node, reason string
}

// stayingPods returns the pods that block drains, grouped by reason.
func (s *Step) stayingPods() [][]stayingPod {
	var all []stayingPod
	for _, d := range s.Drains {
		for _, p := range d.Stays {
			all = append(all, stayingPod{Pod{PodRef: p.PodRef}, d.Node, p.Reason})
		}
	}
	return list.GroupBy(all, func(p stayingPod) string { return p.reason })
}

// describeStaying returns "2 pods of deployment/web on a, b".
func (t *writer) describeStaying(s *stepText, pods []stayingPod) string {
	nodes := list.GroupBy(pods, func(p stayingPod) string { return p.node })
	return t.nameGroup(s, list.Map(pods, func(p stayingPod) Pod { return p.pod })) + " on " + t.ListNames(list.Map(nodes, func(p []stayingPod) string { return p[0].node }))
}

// drains writes which pods block drains. It writes each reason once, in the words of kubectl or the API server.
func (t *writer) drains(s *stepText) {
	groups := s.stayingPods()
	if len(groups) > 0 {
		t.Linef(doc.Yellow, "%s:", words.UpperFirst(describeUnended(len(s.Drains))))
	}
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		t.Linef(doc.Plain, "  %s", t.describeStaying(s, groups[i]))
		t.Linef(doc.Plain, "    %s", groups[i][0].reason)
	})
}
