package lint

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/variant"
	"github.com/faultline/faultline/pkg/words"
)

func podsPerDomain(pods []*v1.Pod, nodes []*v1.Node, key string) map[string]int {
	counts, value := map[string]int{}, map[string]string{}
	for _, node := range nodes {
		if domain, labelled := node.Labels[key]; labelled {
			counts[domain], value[node.Name] = 0, domain
		}
	}
	for _, pod := range pods {
		if domain, found := value[pod.Spec.NodeName]; found {
			counts[domain]++
		}
	}
	return counts
}

// measureSkew returns the number of pods by which the fullest domain exceeds the emptiest.
func measureSkew(pods []*v1.Pod, nodes []*v1.Node, key string) int {
	first, least, most := true, 0, 0
	for _, n := range podsPerDomain(pods, nodes, key) {
		if first {
			first, least = false, n
		}
		least, most = min(least, n), max(most, n)
	}
	return most - least
}

// existingAntiAffinityMessage is kube-scheduler's message if the anti-affinity of a running pod rejects a node; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
const existingAntiAffinityMessage = "node(s) didn't satisfy existing pods anti-affinity rules"

// lockedOut finds pods that stay Pending because the anti-affinity of other workloads' pods rejects nodes.
func lockedOut(_ *inspection, s *subject) []Finding {
	if !s.nodesKept {
		return nil
	}
	owner := s.step.State.Owners()
	for _, p := range s.step.Pending {
		if owner(p.Pod) != s.owner {
			continue
		}
		for _, reason := range p.Reasons {
			if reason.Message != existingAntiAffinityMessage {
				continue
			}
			who, by := "other pods", ""
			for _, o := range subjectsOf(s.step, true) {
				for _, t := range o.terms() {
					if o.owner != s.owner && t.Hard && t.Kind == rule.AntiAffinity && t.selectsPods(s.owner.Namespace, s.labels()) {
						who, by = o.owner.String(), fmt.Sprintf(" (%s, which selects %s)", t.Rule, t.Selector)
					}
				}
			}
			return []Finding{{Field: s.labelsField(),
				Message: fmt.Sprintf("pods stay Pending because the anti-affinity of %s%s refuses %s: it holds in both directions", who, by, words.Count(reason.Nodes, "node")),
				Fix:     fmt.Sprintf("let %s select labels that the pods of %s (%s) do not have, or make its rule preferred", who, s.owner, labels.FormatLabels(s.labels()))}}
		}
	}
	return nil
}

// allInOneDomain finds workloads that lose all pods with one zone or node although their pods may also run in others: as the pods are now, or as
// they would be after other random ties.
func allInOneDomain(l *inspection, s *subject) ([]Finding, error) {
	if !s.nodesKept || s.replicas < 2 {
		return nil, nil
	}
	keys := slices.DeleteFunc([]string{topology.ZoneKey(s.step.State.Nodes), v1.LabelHostname}, s.wantsPodsTogether)
	for _, key := range keys {
		domain, pods := s.sharedDomain(key)
		if domain == "" {
			continue
		}
		could := countDomains(l.nodesFor(s), key)
		f := Finding{Field: s.path, Message: fmt.Sprintf("all %s run in %s=%s, though they may run in %s", words.Count(pods, "pod"), key, domain, words.Count(could, "domain")),
			Fix: s.keepApartFix(key, could)}
		if could < 2 {
			f.Message = fmt.Sprintf("all %s run in %s=%s, since no node elsewhere takes them", words.Count(pods, "pod"), key, domain)
			f.Fix = fmt.Sprintf("let the node selector, the node affinity or the tolerations admit nodes of another %s", key)
		}
		return []Finding{f}, nil
	}
	others, err := l.runWithRandomTies(s)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		seen := list.Count(others, func(step *simulation.Step) bool { domain, _ := s.inStep(step).sharedDomain(key); return domain != "" })
		if seen == 0 {
			continue
		}
		reported, err := matchLabelKeysMissing(l, s)
		if err != nil || slices.ContainsFunc(s.terms(), func(t term) bool {
			return t.TopologyKey == key && slices.ContainsFunc(reported, func(f Finding) bool { return f.Field == t.field() })
		}) {
			return nil, err
		}
		return []Finding{{Field: s.path, Fix: s.keepApartFix(key, countDomains(l.nodesFor(s), key)),
			Message: fmt.Sprintf("chance alone keeps the pods apart: in %d of %d runs with random ties (seeds 1 to %d) all run in one %s", seen, len(others), len(others), key)}}, nil
	}
	return nil, nil
}

// keepApartFix returns the fix that keeps the subject's pods apart over the key, whose domains that take them are counted: a stricter form
// of a rule that the pods have, or a new rule.
func (s *subject) keepApartFix(key string, domains int) string {
	for _, t := range s.terms() {
		switch {
		case t.TopologyKey != key || !t.selectsOwnPods():
		case t.Kind == rule.Spread && !t.Hard:
			return fmt.Sprintf("set whenUnsatisfiable: DoNotSchedule in %s", t.field())
		case t.Kind == rule.Spread && s.replicas <= int(t.MaxSkew):
			return fmt.Sprintf("set maxSkew: 1 in %s", t.field())
		case t.Kind == rule.Spread && !t.isPerRevision() && s.owner.Kind == "Deployment":
			return fmt.Sprintf("%s in %s", s.perRevisionRemedy(&t).instruction, t.field())
		case t.Kind == rule.Spread:
			return fmt.Sprintf("restart it, so that its pods are placed anew: %s keeps new ones apart", t.field())
		case t.Kind == rule.AntiAffinity && !t.Hard && s.replicas < domains: // a rollout needs one more domain
			return fmt.Sprintf("make %s required", t.field())
		}
	}
	return s.spreadFix(key)
}

// spreadFix returns the fix that adds a spread constraint over the key.
func (s *subject) spreadFix(key string) string {
	fix := fmt.Sprintf("add a topologySpreadConstraint over %s with labelSelector %s", key, matchLabels(s.identityLabels()))
	if s.owner.Kind == "Deployment" { // otherwise the old pods count while a rollout places the new ones
		fix += fmt.Sprintf(" and matchLabelKeys: [%s]", appsv1.DefaultDeploymentUniqueLabelKey)
	}
	return fix
}

// sharedDomain returns the domain of the key that runs all of the subject's pods, and their number. The domain is "" if the pods are in several
// domains, if there is one domain, or if fewer than two pods run.
func (s *subject) sharedDomain(key string) (domain string, pods int) {
	running := list.Without(s.pods(), func(pod *v1.Pod) bool { return pod.Spec.NodeName == "" })
	if len(running) < 2 {
		return "", 0
	}
	on := map[string]int{}
	for _, pod := range running {
		on[pod.Spec.NodeName]++
	}
	domains, first, counts := 0, "", map[string]int{} // counts lacks domains without these pods
	for _, node := range s.step.State.Nodes {
		domain, labelled := node.Labels[key]
		switch {
		case !labelled:
			continue
		case domains == 0:
			domains, first = 1, domain
		case domain != first:
			domains = 2 // or more
		}
		if n := on[node.Name]; n > 0 {
			counts[domain] += n
		}
	}
	if domains < 2 {
		return "", 0
	}
	for domain, n := range counts {
		if n == len(running) {
			return domain, n
		}
	}
	return "", 0
}

// wantsPodsTogether reports whether a rule asks for the pods to be together in one domain of the key, or in one node.
func (s *subject) wantsPodsTogether(key string) bool {
	for _, r := range rule.List(&s.pod.Spec) {
		if (r.Kind == rule.NodeSelector || r.Kind == rule.NodeAffinity) && r.Hard && (strings.Contains(r.Selector, key) || strings.Contains(r.Selector, v1.LabelHostname)) {
			return true
		}
	}
	return slices.ContainsFunc(s.terms(), func(t term) bool { return t.Kind == rule.Affinity && t.selectsOwnPods() })
}

// countViolations returns the number of pods that violate a preferred rule: the pods beyond the first in a domain for anti-affinity, and the pods
// beyond maxSkew for a spread constraint.
func (l *inspection) countViolations(t *term, pods []*v1.Pod) int {
	if t.Kind == rule.Spread {
		return max(0, measureSkew(pods, l.countedNodes(t), t.TopologyKey)-int(t.MaxSkew))
	}
	together := 0
	for _, n := range podsPerDomain(pods, l.nodes, t.TopologyKey) {
		together += max(0, n-1)
	}
	return together
}

// outvoted finds preferred rules that are violated although all pods would have a node if the rules were required.
func outvoted(l *inspection, s *subject) ([]Finding, error) {
	if !s.nodesKept || s.replicas < 2 {
		return nil, nil
	}
	pods := s.pods()
	var found []Finding
	for _, t := range s.terms() {
		if t.Hard || t.Kind == rule.Affinity || !t.selectsOwnPods() || t.needsGeneratedLabel() {
			continue
		}
		broken := l.countViolations(&t, pods)
		if broken == 0 {
			continue
		}
		as, err := l.runEdited(s, "hard "+t.Path, func(spec *v1.PodSpec) { hardenRule(spec, t.Rule) })
		if err != nil {
			return nil, err
		}
		if as == nil {
			continue
		}
		after := s.inStep(as)
		if len(as.Pending) > len(s.step.Pending) || l.countViolations(&t, after.pods()) >= broken {
			continue
		}
		by, rollout := "", ""
		if variant.IsRolledOut(l.result.Scenario.CutAfter(s.step.Name), s.owner) {
			rollout = " after a rollout"
		}
		if plugins := s.decidingPlugins(); len(plugins) > 0 {
			by = fmt.Sprintf(" (the scores of %s decided)", strings.Join(plugins, ", "))
		}
		found = append(found, Finding{Field: t.field(),
			Message: fmt.Sprintf("the %s is broken for %s although it could be kept%s: as a hard rule it would be kept%s, with no further pod Pending", t.Rule, words.Count(broken, "pod"), by, rollout),
			Fix:     "if it matters more than the other scores, " + s.hardenFix(l, &t)})
	}
	return found, nil
}

// hardenFix returns the fix that makes a preferred rule hard.
func (s *subject) hardenFix(l *inspection, t *term) string {
	if t.Kind == rule.Spread {
		return fmt.Sprintf("set whenUnsatisfiable: DoNotSchedule in %s", t.field())
	}
	return fmt.Sprintf("make %s required%s", t.field(), s.oldFirstRemark(s.replicas, countDomains(l.nodesFor(s), t.TopologyKey)))
}

// decidingPlugins returns the plugins that decided, not only together with others, for the subject's pods in the step, sorted, without the plugins
// for preferences between pods.
func (s *subject) decidingPlugins() []string {
	owner := s.step.State.Owners()
	var plugins []string
	for _, p := range s.step.Placed {
		if owner(p.Pod) != s.owner || p.Together {
			continue
		}
		for _, d := range p.Deciders {
			if !slices.Contains(plugins, d) && d != "InterPodAffinity" && d != "PodTopologySpread" {
				plugins = append(plugins, d)
			}
		}
	}
	slices.Sort(plugins)
	return plugins
}

// hardenRule makes a preferred rule required, in place.
func hardenRule(spec *v1.PodSpec, r rule.Rule) {
	for _, t := range (&subject{pod: &v1.Pod{Spec: *spec}}).terms() {
		if t.Path != r.Path || t.Hard {
			continue
		}
		switch t.Kind {
		case rule.Spread:
			t.spread.WhenUnsatisfiable = v1.DoNotSchedule
		case rule.AntiAffinity:
			apart := v1.PodAffinityTerm{LabelSelector: t.selector, TopologyKey: t.TopologyKey, Namespaces: t.namespaces,
				NamespaceSelector: t.namespaceSelector, MatchLabelKeys: t.matchLabelKeys, MismatchLabelKeys: t.mismatchLabelKeys}
			anti := spec.Affinity.PodAntiAffinity
			anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, apart)
		}
	}
}

// termDecidesNothing finds preferred rules without which every pod has the same node. It skips pods that ran before an update: the rollout
// alone would move them, with the rule or without.
func termDecidesNothing(l *inspection, s *subject) ([]Finding, error) {
	soft := slices.DeleteFunc(s.terms(), func(t term) bool { return t.Hard })
	if !s.nodesKept || s.replicas < 2 || len(soft) == 0 || variant.IsRolledOut(l.result.Scenario.CutAfter(s.step.Name), s.owner) {
		return nil, nil
	}
	var found []Finding
	for _, t := range soft {
		if t.needsGeneratedLabel() || !t.selectsOwnPods() && !l.selectsKnownPod(&t) || countDomains(l.nodesFor(s), t.TopologyKey) == 0 {
			continue // other checks report it
		}
		if t.Kind != rule.Affinity && t.selectsOwnPods() && l.countViolations(&t, s.pods()) > 0 {
			continue // outvoted reports it
		}
		without, err := l.runEdited(s, "without "+t.Path, func(spec *v1.PodSpec) { rule.Remove(spec, t.Rule) })
		if err != nil {
			return nil, err
		}
		if without != nil && len(without.Pending) == len(s.step.Pending) && slices.Equal(podPlaces(s.step.State), podPlaces(without.State)) {
			found = append(found, Finding{Field: t.field(),
				Message: fmt.Sprintf("without the %s every pod has the node that it has: here other rules and scores decide alike, and it can decide where they do not", t.Rule),
				Fix:     "if it is relied on, " + s.hardenFix(l, &t)})
		}
	}
	return found, nil
}

// podPlaces lists the nodes of the workloads' pods, sorted. It names owners, because the names of pods change with their template.
func podPlaces(state *cluster.State) []string {
	owner := state.Owners()
	var all []string
	for _, pod := range state.Pods {
		all = append(all, fmt.Sprintf("%s %s %s", owner(pod).Namespace, owner(pod), pod.Spec.NodeName))
	}
	slices.Sort(all)
	return all
}

// keepsApartOverZones reports whether the term keeps pods apart over zones.
func (t *term) keepsApartOverZones() bool {
	return t.TopologyKey == v1.LabelTopologyZone && t.Kind != rule.Affinity && t.selectsOwnPods()
}
