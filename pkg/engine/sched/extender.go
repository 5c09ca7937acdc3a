package sched

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// extender is an extender as the engine's scheduler calls it. It records what the extender decides about the current pod, and when it does
// not answer. It passes on every answer unchanged; only the scores are added by [profile.addExtenderScores].
type extender struct {
	httpExtender
	engine *Engine
}

// addExtenders gives the engine the configuration's extenders.
func (e *Engine) addExtenders(config *Config) []fwk.Extender {
	var all []fwk.Extender
	for _, x := range config.extenders {
		e.extenders = append(e.extenders, &extender{x, e})
		all = append(all, e.extenders[len(e.extenders)-1])
	}
	return all
}

// noReason is the reason for a node that an extender rejects without giving one.
const noReason = "rejected without a reason"

// Filter calls the extender and records which nodes it rejects.
func (x *extender) Filter(pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, extenderv1.FailedNodesMap, extenderv1.FailedNodesMap, error) {
	passed, failed, unresolvable, err := x.httpExtender.Filter(pod, nodes)
	if err == nil && x.config.FilterVerb == "" {
		return passed, failed, unresolvable, nil
	}
	if err == nil {
		err = checkFiltered(nodes, passed, failed, unresolvable)
	}
	if err != nil {
		return nil, nil, nil, x.recordFailure(x.config.FilterVerb, err)
	}
	kept := make(map[string]bool, len(passed))
	for _, node := range passed {
		kept[node.Node().Name] = true
	}
	by := x.address(x.config.FilterVerb)
	x.engine.current.recordFilter(by)
	for _, node := range nodes {
		if name := node.Node().Name; !kept[name] {
			x.engine.current.recordRejectedNode(name, placement.Verdict{Plugin: by, Status: cmp.Or(unresolvable[name], failed[name], noReason)})
		}
	}
	return passed, failed, unresolvable, nil
}

// Prioritize returns no scores: with scores, upstream would choose randomly among equal nodes. See [profile.addExtenderScores].
func (x *extender) Prioritize(*v1.Pod, []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	return &extenderv1.HostPriorityList{}, 0, nil
}

// ProcessPreemption calls the extender and checks its answer.
func (x *extender) ProcessPreemption(pod *v1.Pod, victims map[string]*extenderv1.Victims, nodes fwk.NodeInfoLister) (map[string]*extenderv1.Victims, error) {
	answer, err := askAboutNobody(victims, func(asked map[string]*extenderv1.Victims) (map[string]*extenderv1.Victims, error) {
		return x.preempt(pod, asked, nodes)
	})
	if err == nil {
		err = x.checkVictims(victims, answer)
	}
	if err != nil {
		return nil, x.recordFailure(x.config.PreemptVerb, err)
	}
	return answer, nil
}

// preempt calls the extender. It recovers from upstream's panic on a null among the victims.
func (x *extender) preempt(pod *v1.Pod, victims map[string]*extenderv1.Victims, nodes fwk.NodeInfoLister) (_ map[string]*extenderv1.Victims, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("its answer has null where victims are wanted")
		}
	}()
	return x.httpExtender.ProcessPreemption(pod, victims, nodes)
}

// recordFailure records that an extender gave no valid answer. If the extender is ignorable, it adds a note. Otherwise it stops the run, since
// upstream would only log an error of preemption.
func (x *extender) recordFailure(verb string, err error) error {
	advice := "mend it"
	var request *url.Error
	if errors.As(err, &request) { // its text would repeat the address
		err, advice = request.Err, "start it"
	}
	line := manifest.Clean(fmt.Sprintf("extender %s: %s", x.address(verb), x.describeError(err))) // part of the line is the extender's own text
	if x.IsIgnorable() {
		note := line + "; it is ignorable, and pods were scheduled without its answer"
		if !slices.Contains(x.engine.notes, note) {
			x.engine.notes = append(x.engine.notes, note)
		}
		return err
	}
	x.engine.stopError = fmt.Errorf("%s; %s, make it ignorable in the scheduler configuration, or leave extenders out with --no-extenders", line, advice)
	return x.engine.stopError
}

// addExtenderScores adds the extenders' scores, one for each node, as prioritizeNodes does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go. Upstream ignores an extender that does not answer
// here. The engine does so only if the extender is ignorable, since the report would silently be wrong.
func (p *profile) addExtenderScores(pod *v1.Pod, nodes []fwk.NodeInfo, scores []fwk.NodePluginScores) error {
	for _, x := range p.engine.extenders {
		if !x.scores() || !x.IsInterested(pod) {
			continue
		}
		list, _, err := x.httpExtender.Prioritize(pod, nodes)
		if err == nil {
			err = checkPoints(nodes, *list)
		}
		if err != nil {
			if err := x.recordFailure(x.config.PrioritizeVerb, err); !x.IsIgnorable() {
				return err
			}
			list = &extenderv1.HostPriorityList{}
		}
		points := make(map[string]int64, len(*list))
		for _, host := range *list {
			points[host.Host] = host.Score
		}
		name := x.address(x.config.PrioritizeVerb)
		for i := range scores {
			node := &scores[i]
			raw := points[node.Name]
			weighted := raw * x.config.Weight * (fwk.MaxScore / extenderv1.MaxExtenderPriority)
			node.RawScores = append(node.RawScores, fwk.PluginScore{Name: name, Score: raw})
			node.Scores = append(node.Scores, fwk.PluginScore{Name: name, Score: weighted})
			node.TotalScore += weighted
		}
	}
	return nil
}

// recordFilter records that an extender takes part as a filter.
func (p *profile) recordFilter(by string) {
	if p.recorder != nil && !slices.Contains(p.recorder.cycle.Filters, by) {
		p.recorder.cycle.Filters = append(p.recorder.cycle.Filters, by)
	}
}

// recordRejectedNode records that an extender rejects a node that passed the plugins' filters. It may be called twice for a nominated node, which
// is examined twice.
func (p *profile) recordRejectedNode(node string, reason placement.Verdict) {
	if _, known := p.rejectedBy[node]; known {
		return
	}
	if p.rejectedBy == nil {
		p.rejectedBy = map[string]string{}
	}
	p.rejectedBy[node] = reason.Plugin
	p.countRejection(reason.Plugin)
	if r := p.recorder; r != nil {
		r.feasible = slices.DeleteFunc(r.feasible, func(info fwk.NodeInfo) bool { return info.Node().Name == node })
		r.addRejection(node, reason)
	}
}

// attributeRejections adds the extenders' names to their rejections, since upstream names only plugins. It returns the number of nodes that each
// extender rejected without a reason, which upstream's message leaves out.
func (p *profile) attributeRejections(diagnosis *framework.Diagnosis) []placement.Reason {
	silent := maps.Clone(p.rejectedBy)
	diagnosis.NodeToStatus.ForEachExplicitNode(func(node string, status *fwk.Status) {
		if by, rejected := p.rejectedBy[node]; rejected && status.Plugin() == "" {
			status.SetPlugin(by)
		}
		delete(silent, node)
	})
	var reasons []placement.Reason
	for _, x := range p.engine.extenders {
		reason := placement.Reason{Plugin: x.address(x.config.FilterVerb), Message: noReason}
		for _, by := range silent {
			if by == reason.Plugin {
				reason.Nodes++
			}
		}
		if reason.Nodes > 0 {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}
