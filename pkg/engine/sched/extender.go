package sched

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/placement"
)

// extender is an extender as the engine's scheduler calls it. It records what the extender decides about the current pod, and what it did
// not answer. It changes no answer, but leaves the scores to prioritize.
type extender struct {
	httpExtender
	engine *Engine
}

// extend gives the engine the configuration's extenders.
func (e *Engine) extend(config *Config) []fwk.Extender {
	var all []fwk.Extender
	for _, x := range config.extenders {
		e.extenders = append(e.extenders, &extender{x, e})
		all = append(all, e.extenders[len(e.extenders)-1])
	}
	return all
}

// Filter notes which nodes the extender rejects.
func (x *extender) Filter(pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, extenderv1.FailedNodesMap, extenderv1.FailedNodesMap, error) {
	passed, failed, unresolvable, err := x.httpExtender.Filter(pod, nodes)
	if err != nil {
		return nil, nil, nil, x.failed(x.config.FilterVerb, err)
	}
	if x.config.FilterVerb == "" {
		return passed, failed, unresolvable, nil
	}
	kept := make(map[string]bool, len(passed))
	for _, node := range passed {
		kept[node.Node().Name] = true
	}
	by := x.address(x.config.FilterVerb)
	x.engine.current.asked(by)
	for _, node := range nodes {
		if name := node.Node().Name; !kept[name] {
			x.engine.current.extended(name, placement.Verdict{Plugin: by, Status: cmp.Or(unresolvable[name], failed[name])})
		}
	}
	return passed, failed, unresolvable, nil
}

// Prioritize has no scores for upstream, which would then draw among equal nodes by itself.
func (x *extender) Prioritize(*v1.Pod, []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	return &extenderv1.HostPriorityList{}, 0, nil
}

// ProcessPreemption is upstream's.
func (x *extender) ProcessPreemption(pod *v1.Pod, victims map[string]*extenderv1.Victims, nodes fwk.NodeInfoLister) (map[string]*extenderv1.Victims, error) {
	answer, err := x.httpExtender.ProcessPreemption(pod, victims, nodes)
	if err != nil {
		return nil, x.failed(x.config.PreemptVerb, err)
	}
	return answer, nil
}

// failed records that an extender gave no answer: as a note if it may be ignored, and otherwise as the end, since upstream would only log an
// error of preemption.
func (x *extender) failed(verb string, err error) error {
	at := x.address(verb)
	var request *url.Error
	if errors.As(err, &request) { // it repeats the address
		err = request.Err
	}
	if x.IsIgnorable() {
		note := fmt.Sprintf("extender %s: %v; it is ignorable, and pods were scheduled without its answer", at, err)
		if !slices.Contains(x.engine.notes, note) {
			x.engine.notes = append(x.engine.notes, note)
		}
		return err
	}
	x.engine.stopped = fmt.Errorf("extender %s: %w; start it, make it ignorable in the scheduler configuration, or leave extenders out with --no-extenders", at, err)
	return x.engine.stopped
}

// prioritize adds the extenders' scores, one for each node, as prioritizeNodes does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go. Upstream ignores an extender that does not answer here;
// this one must be ignorable, since the answer would silently be another.
func (p *profile) prioritize(pod *v1.Pod, nodes []fwk.NodeInfo, scores []fwk.NodePluginScores) error {
	for _, x := range p.engine.extenders {
		if !x.scores() || !x.IsInterested(pod) {
			continue
		}
		list, _, err := x.httpExtender.Prioritize(pod, nodes)
		if err != nil {
			if err := x.failed(x.config.PrioritizeVerb, err); !x.IsIgnorable() {
				return err
			}
			list = &extenderv1.HostPriorityList{}
		}
		points := make(map[string]int64, len(*list))
		for _, host := range *list {
			points[host.Host] += host.Score
		}
		name := x.address(x.config.PrioritizeVerb)
		for i := range scores {
			node := &scores[i]
			raw := points[node.Name]
			weighted := raw * x.config.Weight * (fwk.MaxNodeScore / extenderv1.MaxExtenderPriority)
			node.RawScores = append(node.RawScores, fwk.PluginScore{Name: name, Score: raw})
			node.Scores = append(node.Scores, fwk.PluginScore{Name: name, Score: weighted})
			node.TotalScore += weighted
		}
	}
	return nil
}

// asked notes that a filter that is no plugin is asked.
func (p *profile) asked(by string) {
	if p.recorder != nil && !slices.Contains(p.recorder.cycle.Filters, by) {
		p.recorder.cycle.Filters = append(p.recorder.cycle.Filters, by)
	}
}

// extended notes that an extender rejects a node that had passed the plugins' filters. A nominated node is examined twice.
func (p *profile) extended(node string, reason placement.Verdict) {
	if _, known := p.outside[node]; known {
		return
	}
	if p.outside == nil {
		p.outside = map[string]string{}
	}
	p.outside[node] = reason.Plugin
	p.count(reason.Plugin)
	if r := p.recorder; r != nil {
		r.feasible = slices.DeleteFunc(r.feasible, func(info fwk.NodeInfo) bool { return info.Node().Name == node })
		r.refuse(node, reason)
	}
}

// attribute names the extenders in their rejections; upstream names plugins alone.
func (p *profile) attribute(diagnosis *framework.Diagnosis) {
	diagnosis.NodeToStatus.ForEachExplicitNode(func(node string, status *fwk.Status) {
		if by, outside := p.outside[node]; outside && status.Plugin() == "" {
			status.SetPlugin(by)
		}
	})
}
