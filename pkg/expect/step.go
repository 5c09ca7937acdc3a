package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/words"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/world"
)

// judgeStep judges the expectations that the step itself shows.
func (j *stepJudge) judgeStep(step *simulation.Step) {
	pending := len(step.Pending)
	if j.Pending != nil {
		j.appendJudged(Judged{
			Want: words.Count(*j.Pending, "pod") + " Pending", Got: fmt.Sprint(pending), Met: pending == *j.Pending, Why: describePending(step.Pending),
		}, "pending")
	}
	if j.PendingAtMost != nil {
		j.appendJudged(Judged{
			Want: fmt.Sprintf("at most %s Pending", words.Count(*j.PendingAtMost, "pod")), Got: fmt.Sprint(pending),
			Met: pending <= *j.PendingAtMost, Why: describePending(step.Pending),
		}, "pendingAtMost")
	}
	if j.NotCreated != nil {
		j.appendJudged(judgeNotCreated(*j.NotCreated, step), "notCreated")
	}
	if j.Message != "" {
		j.appendJudged(judgeMessage(j.Message, step), "message")
	}
	for i := range j.Domains {
		judgeDomains(&j.Domains[i], step, func(field string, e Judged) { j.appendJudged(e, "domains", i, field) })
	}
	for i := range j.Nodes {
		on := &j.Nodes[i]
		if on.OnlyOn != nil {
			j.appendJudged(judgeNodes(on.Selector, *on.OnlyOn, true, step.State), "nodes", i, "onlyOn")
		}
		if on.NotOn != nil {
			j.appendJudged(judgeNodes(on.Selector, *on.NotOn, false, step.State), "nodes", i, "notOn")
		}
	}
	for i := range j.Bindings {
		judgeBinding(&j.Bindings[i], step, func(field string, e Judged) { j.appendJudged(e, "bindings", i, field) })
	}
	if j.Rollouts != nil {
		j.appendJudged(judgeRollouts(*j.Rollouts, step), "rollouts")
	}
	if j.Drained != nil && len(step.Drained) > 0 {
		j.appendJudged(judgeDrained(*j.Drained, step), "drained")
	}
	if j.RoomMade != nil && step.Moved != nil {
		j.appendJudged(judgeRoomMade(*j.RoomMade, step.Moved), "roomMade")
	}
}

// describePending names the Pending pods with kube-scheduler's messages: "web-1 and web-2: 0/3 nodes are available: …".
func describePending(pending []placement.Pending) string {
	all := list.Map(pending, func(p placement.Pending) podMessage {
		return podMessage{cluster.Qualify(p.Pod.Namespace, p.Pod.Name), p.Why()}
	})
	return joinByMessage(all)
}

// podMessage is a message about a pod.
type podMessage struct{ pod, message string }

// joinByMessage names the pods of each message.
func joinByMessage(all []podMessage) string {
	var messages []string
	pods := map[string][]string{}
	for _, one := range all {
		if pods[one.message] == nil {
			messages = append(messages, one.message)
		}
		pods[one.message] = append(pods[one.message], one.pod)
	}
	parts := make([]string, len(messages))
	for i, message := range messages {
		parts[i] = words.Few(pods[message])
		if message != "" {
			parts[i] += ": " + strings.TrimSuffix(message, ".")
		}
	}
	return strings.Join(parts, "; ")
}

func judgeNotCreated(want int, step *simulation.Step) Judged {
	n, why := 0, []string(nil)
	for _, r := range step.Refused {
		if r.Pods > 0 {
			n += r.Pods
			why = append(why, r.Qualified()+": "+r.Message)
		}
	}
	return Judged{Want: words.Count(want, "pod") + " refused", Got: fmt.Sprint(n), Met: n == want, Why: joinSome(why, "; ")}
}

func judgeMessage(text string, step *simulation.Step) Judged {
	e := Judged{Want: fmt.Sprintf("a Pending pod's message contains %q", text), Got: "no pod is Pending"}
	for _, pending := range step.Pending {
		e.Got = pending.Why()
		if strings.Contains(e.Got, text) || strings.Contains(pending.Message, text) {
			e.Met = true
			break
		}
	}
	if slices.ContainsFunc(step.Pending, func(p placement.Pending) bool { return p.Why() != e.Got }) {
		e.Why = describePending(step.Pending) // Got has only one of the messages
	}
	return e
}

func judgeRollouts(complete bool, step *simulation.Step) Judged {
	var open, waiting []string
	for _, rollout := range step.Rollouts {
		if !rollout.Complete {
			name := strings.ToLower(rollout.Kind) + "/" + rollout.Name
			open = append(open, name)
			waiting = append(waiting, name+": "+rollout.Waiting)
		}
	}
	e := Judged{Want: "every rollout complete", Got: "every one is", Met: (len(open) == 0) == complete, Why: strings.Join(waiting, "; ")}
	if !complete {
		e.Want = "a rollout that does not complete"
	}
	if len(open) > 0 {
		e.Got = "not complete: " + strings.Join(open, ", ")
	}
	return e
}

func judgeDrained(end bool, step *simulation.Step) Judged {
	var open []string
	var stays []podMessage
	for _, d := range step.Drained {
		if d.Ends {
			continue
		}
		open = append(open, d.Node)
		for _, p := range d.BlockingPods() {
			stays = append(stays, podMessage{cluster.Qualify(p.Namespace, p.Name), p.Reason})
		}
	}
	e := Judged{Want: "every drain to end", Got: "every one does", Met: (len(open) == 0) == end, Why: joinByMessage(stays)}
	if !end {
		e.Want = "a drain that does not end"
	}
	if len(open) > 0 {
		e.Got = "not drained: " + words.Few(open)
	}
	return e
}

func judgeRoomMade(all bool, moved *world.MovedPods) Judged {
	e := Judged{Want: "every pod to move", Got: "every one does", Met: (moved.Stuck == nil) == all}
	if !all {
		e.Want = "a pod that does not move"
	}
	if stuck := moved.Stuck; stuck != nil {
		e.Got, e.Why = "not moved: "+cluster.Qualify(stuck.Namespace, stuck.Name), stuck.Reason
	}
	return e
}

// domainPods is a failure domain with the names of its running pods that count.
type domainPods struct {
	name string
	pods []string
}

func (d domainPods) String() string {
	if len(d.pods) == 0 {
		return d.name + " has no pod"
	}
	return d.name + " has " + words.Few(d.pods)
}

func judgeDomains(expect *scenario.Domains, step *simulation.Step, add func(field string, e Judged)) {
	domains := podsByDomain(step.State, expect.TopologyKey, expect.Selector)
	most, least, used := 0, 0, 0
	var parts []string
	for i, d := range domains {
		n := len(d.pods)
		parts = append(parts, fmt.Sprintf("%s %d", d.name, n))
		if most = max(most, n); i == 0 || n < least {
			least = n
		}
		if n > 0 {
			used++
		}
	}
	got := strings.Join(parts, ", ")
	if len(domains) == 0 {
		got = "no such domain is left"
	}
	of := phraseSelected(expect.Selector, "pods") + " by " + expect.TopologyKey
	// why names the domains of these sizes, and what keeps more pods out of them.
	why := func(concerned func(pods int) bool, lacks bool) string {
		var parts []string
		for _, d := range domains {
			if concerned(len(d.pods)) {
				parts = append(parts, d.String())
			}
		}
		parts = []string{words.Few(parts)}
		if left := describePending(matchingPending(step.Pending, expect.Selector)); lacks && left != "" {
			parts = append(parts, "Pending "+left)
		}
		return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
	}
	judge := func(field string, met bool, why string, format string, args ...any) {
		add(field, Judged{Want: of + ": " + fmt.Sprintf(format, args...), Got: got, Met: met, Why: why})
	}
	if expect.Min != nil {
		few := func(n int) bool { return n < *expect.Min }
		judge("min", len(domains) > 0 && least >= *expect.Min, why(few, true), "at least %d in each", *expect.Min)
	}
	if expect.Max != nil {
		many := func(n int) bool { return n > *expect.Max }
		judge("max", most <= *expect.Max, why(many, false), "at most %d in each", *expect.Max)
	}
	if expect.Skew != nil {
		extreme := func(n int) bool { return n == most || n == least }
		judge("skew", most-least <= *expect.Skew, why(extreme, true), "skew at most %d", *expect.Skew)
	}
	if expect.Used != nil {
		empty := func(n int) bool { return n == 0 }
		judge("used", used >= *expect.Used, why(empty, true), "at least %d used", *expect.Used)
	}
	for _, name := range slices.Sorted(maps.Keys(expect.Exactly)) {
		want, here := expect.Exactly[name], domainPods{name: name}
		if i := slices.IndexFunc(domains, func(d domainPods) bool { return d.name == name }); i >= 0 {
			here = domains[i]
		}
		reason := here.String()
		if left := describePending(matchingPending(step.Pending, expect.Selector)); len(here.pods) < want && left != "" {
			reason += "; Pending " + left
		}
		judge("exactly", len(here.pods) == want, reason, "exactly %d in %s", want, name)
	}
}

// podsByDomain returns the failure domains with their running pods, including empty domains.
func podsByDomain(state *cluster.State, key, selector string) []domainPods {
	found, _ := topology.Domains(state.Nodes, key)
	domains := make([]domainPods, len(found))
	at := map[string]int{}
	for i, domain := range found {
		domains[i].name = domain.Value
		for _, node := range domain.Nodes {
			at[node.Name] = i
		}
	}
	for _, pod := range runningPods(state, selector) {
		if i, found := at[pod.Spec.NodeName]; found {
			domains[i].pods = append(domains[i].pods, cluster.Qualify(pod.Namespace, pod.Name))
		}
	}
	slices.SortFunc(domains, func(a, b domainPods) int { return strings.Compare(a.name, b.name) })
	return domains
}

func judgeNodes(selector string, nodes scenario.Nodes, on bool, state *cluster.State) Judged {
	among := list.KeySet(nodes.Select(state.Nodes), func(node *v1.Node) string { return node.Name })
	var places []string
	if len(nodes.Names) > 0 {
		places = append(places, strings.Join(nodes.Names, " or "))
	}
	if nodes.Selector != "" {
		places = append(places, "a node with "+nodes.Selector)
	}
	all, wrong := 0, []string(nil)
	for _, pod := range runningPods(state, selector) {
		all++
		if among[pod.Spec.NodeName] != on {
			wrong = append(wrong, fmt.Sprintf("%s is on %s", cluster.Qualify(pod.Namespace, pod.Name), pod.Spec.NodeName))
		}
	}
	e := Judged{Want: fmt.Sprintf("all %s on %s", phraseSelected(selector, "pods"), strings.Join(places, " or ")), Met: len(wrong) == 0, Why: words.Few(wrong)}
	is := "elsewhere"
	if !on {
		e.Want, is = strings.Replace(e.Want, "all ", "no ", 1), "there"
	}
	switch {
	case all == 0:
		e.Got = "no such pod is running"
	default:
		e.Got = fmt.Sprintf("%d of %s %s", len(wrong), words.Count(all, "pod"), is)
	}
	return e
}

// phraseSelected returns what is counted, for example "app=web pods".
func phraseSelected(selector, what string) string {
	if selector == "" {
		return what
	}
	return selector + " " + what
}

// runningPods returns the pods that have a node, are active and match the selector.
func runningPods(state *cluster.State, selector string) []*v1.Pod {
	matches := ParseSelector(selector)
	return list.Where(state.Pods, func(pod *v1.Pod) bool {
		return pod.Spec.NodeName != "" && cluster.IsActive(pod) && matches.Matches(labels.Set(pod.Labels))
	})
}

func matchingPending(pending []placement.Pending, selector string) []placement.Pending {
	matches := ParseSelector(selector)
	return list.Where(pending, func(p placement.Pending) bool { return matches.Matches(labels.Set(p.Pod.Labels)) })
}

// ParseSelector reads a selector of a scenario. Loading has checked that it parses.
func ParseSelector(selector string) labels.Selector {
	matches, err := labels.Parse(selector)
	if err != nil {
		return labels.Nothing()
	}
	return matches
}
