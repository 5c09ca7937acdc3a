package run

import (
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// unended returns "1 drain does not end" or "2 drains do not end".
func unended(drains int) string {
	return words.Count(drains, "drain") + words.Pick(drains, " does not end", " do not end")
}

// staying is a pod that blocks the drain of a node.
type staying struct {
	pod          Pod
	node, reason string
}

// staying returns the pods that block drains, grouped by reason.
func (s *Step) staying() [][]staying {
	var all []staying
	for _, d := range s.Drains {
		for _, p := range d.Stays {
			all = append(all, staying{Pod{PodRef: p.PodRef}, d.Node, p.Reason})
		}
	}
	return list.Group(all, func(p staying) string { return p.reason })
}

// where returns "2 pods of deployment/web on a, b".
func (t *writer) where(s *stepText, pods []staying) string {
	nodes := list.Group(pods, func(p staying) string { return p.node })
	return t.sharing(s, list.Each(pods, func(p staying) Pod { return p.pod })) + " on " + t.Some(list.Each(nodes, func(p []staying) string { return p[0].node }))
}

// drains writes which pods block drains. It writes each reason once, in the words of kubectl or the API server.
func (t *writer) drains(s *stepText) {
	groups := s.staying()
	if len(groups) > 0 {
		t.Linef(doc.Yellow, "%s:", words.UpperFirst(unended(len(s.Drains))))
	}
	t.UpTo(len(groups), "reason", "reasons", func(i int) {
		t.Linef(doc.Plain, "  %s", t.where(s, groups[i]))
		t.Linef(doc.Plain, "    %s", groups[i][0].reason)
	})
}
