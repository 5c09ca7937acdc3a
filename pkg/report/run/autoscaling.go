package run

import (
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// newAutoscaling is what the autoscaler did and said; nil if it was nothing.
func newAutoscaling(did *world.Autoscaling) *world.Autoscaling {
	if did == nil {
		return nil
	}
	shown := *did
	shown.Groups = slices.DeleteFunc(slices.Clone(did.Groups), func(g world.GroupSize) bool { return g.From == g.To })
	if len(shown.Groups)+len(shown.Added)+len(shown.Removed)+len(shown.Events) == 0 {
		return nil
	}
	return &shown
}

// autoscaling says which groups of nodes have another size, what that costs, and what the autoscaler says of pods that it does not help.
func (t *writer) autoscaling(s *stepText) {
	a := s.Autoscaling
	if a == nil {
		return
	}
	line := fmt.Sprintf("Autoscaler: %s", a.Words())
	if more, known := a.Costs(); known && more > 0 {
		line += fmt.Sprintf("; %.2f an hour more", more)
	} else if known && more < 0 {
		line += fmt.Sprintf("; %.2f an hour less", -more)
	}
	t.Linef(doc.Bold, "%s.", line)
	for _, nodes := range []struct {
		did   string
		names []string
	}{{"adds", a.Added}, {"removes", a.Removed}} {
		if len(nodes.names) > 0 {
			t.Linef(doc.Plain, "  %s %s: %s", nodes.did, words.Count(len(nodes.names), "node"), t.Some(nodes.names))
		}
	}
	said := slices.DeleteFunc(slices.Clone(a.Events), func(e world.ScalingEvent) bool {
		return !t.wide && e.Reason == "TriggeredScaleUp" || e.Reason == "ScaleDownEmpty" || e.Reason == "ScaleDown"
	})
	t.UpTo(len(said), "event", "events", func(i int) {
		e := said[i]
		if len(e.Pods) == 0 {
			t.Linef(doc.Plain, "  %s: %s", e.Reason, e.Message)
			return
		}
		t.Linef(doc.Plain, "  %s", t.sharing(s, report.Each(e.Pods, func(p cluster.PodRef) Pod { return Pod{PodRef: p} })))
		t.Linef(doc.Plain, "    %s: %s", e.Reason, e.Message)
	})
}
