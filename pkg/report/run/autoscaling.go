package run

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
	"github.com/faultline/faultline/pkg/world"
)

// Stage has the moments of a step at which nothing moved. Other reports use it for another named part of a run.
type Stage struct {
	Name    string
	Moments []world.Moment
}

// Course returns a picture of the numbers of nodes and Pending pods, and of the price, over time; nil if there are no moments.
func Course(stages ...Stage) *doc.Course {
	c := &doc.Course{Title: "nodes, Pending pods and price"}
	nodes, pending, price := doc.Curve{Name: "nodes"}, doc.Curve{Name: "Pending", Style: doc.Yellow}, doc.Curve{Name: "price an hour"}
	for _, stage := range stages {
		for i, m := range stage.Moments {
			name := stage.Name
			if i > 0 {
				name += " +" + words.FormatDuration(m.At.Sub(stage.Moments[0].At.Time))
			}
			c.Moments = append(c.Moments, name)
			nodes.Values, pending.Values = append(nodes.Values, float64(m.Nodes)), append(pending.Values, float64(m.Pending))
			price.Values = append(price.Values, ptr.Deref(m.Price, 0))
		}
	}
	if c.Moments == nil {
		return nil
	}
	if c.Curves = []doc.Curve{nodes, pending}; price.Most() > 0 {
		c.Curves = append(c.Curves, price)
	}
	return c
}

// course returns the picture of all steps; nil without an autoscaler.
func (r *Report) course() *doc.Course {
	var stages []Stage
	for _, s := range r.Steps {
		if s.Autoscaling != nil {
			stages = append(stages, Stage{s.Name, s.Autoscaling.Moments})
		}
	}
	return Course(stages...)
}

// describeResizing describes how the sizes of the groups change over all steps: "; general from 2 to 4, then to 1 node, 0.20 an hour less". It is
// "" if none changes.
func (r *Report) describeResizing() string {
	var whole world.Autoscaling
	sizes := map[string][]int{}
	for _, s := range r.Steps {
		if s.Autoscaling == nil {
			continue
		}
		for _, g := range s.Autoscaling.Groups {
			if sizes[g.Name] == nil {
				sizes[g.Name] = []int{g.From}
				whole.Groups = append(whole.Groups, g)
			}
			sizes[g.Name] = append(sizes[g.Name], g.To)
			whole.Groups[slices.IndexFunc(whole.Groups, func(of world.GroupSize) bool { return of.Name == g.Name })].To = g.To
		}
	}
	var all []string
	for _, g := range whole.Groups {
		way := sizes[g.Name]
		if len(way) > 4 {
			way = []int{way[0], slices.Max(way), way[len(way)-1]}
		}
		last := len(way) - 1
		course := strings.Join(list.Map(way[1:last], strconv.Itoa), ", then to ")
		if course != "" {
			course += ", then to "
		}
		all = append(all, fmt.Sprintf("%s from %d to %s%s", g.Name, way[0], course, words.Count(way[last], "node")))
	}
	if all == nil {
		return ""
	}
	return "; " + strings.Join(all, "; ") + doc.PriceChange(&whole)
}

// autoscaling writes which node groups change their size, what that costs, and the autoscaler's events, such as why it does not help a pod.
func (t *writer) autoscaling(s *stepText) {
	a := s.Autoscaling
	if a == nil || len(a.Groups)+len(a.Added)+len(a.Removed)+len(a.Events) == 0 {
		return
	}
	t.Linef(doc.Bold, "Autoscaler: %s%s.", a.DescribeSizes(), doc.PriceChange(a))
	for _, nodes := range []struct {
		did   string
		names []string
	}{{"adds", a.Added}, {"removes", a.Removed}} {
		if len(nodes.names) > 0 {
			t.Linef(doc.Plain, "  %s %s: %s", nodes.did, words.Count(len(nodes.names), "node"), t.ListNames(nodes.names))
		}
	}
	for _, pace := range doc.SlowScaling(a.Slow) {
		t.Linef(doc.Plain, "  %s", pace)
	}
	said := list.Without(a.Events, func(e world.ScalingEvent) bool {
		return !t.wide && e.Reason == "TriggeredScaleUp" || e.Reason == "ScaleDownEmpty" || e.Reason == "ScaleDown"
	})
	t.UpTo(len(said), "event", "events", func(i int) {
		e := said[i]
		if len(e.Pods) == 0 {
			t.Linef(doc.Plain, "  %s: %s", e.Reason, e.Message)
			return
		}
		t.Linef(doc.Plain, "  %s", t.nameGroup(s, list.Map(e.Pods, func(p cluster.PodRef) Pod { return Pod{PodRef: p} })))
		t.Linef(doc.Plain, "    %s: %s", e.Reason, e.Message)
	})
}
