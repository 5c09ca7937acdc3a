package lint

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/rule"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// The recommended labels that distinguish releases of one application.
const (
	labelName     = "app.kubernetes.io/name"
	labelInstance = "app.kubernetes.io/instance"
)

// selectorDrift finds anti-affinity that is meant for its own pods but matches none or only some of them, or also pods of other releases.
func selectorDrift(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		if t.Kind != rule.AntiAffinity || t.needsGeneratedLabel() {
			continue
		}
		selects := fmt.Sprintf("select %s", labels.FormatLabels(s.identityLabels()))
		switch {
		case t.selectsOwnPods():
			if other := l.otherRelease(&t); other != "" {
				found = append(found, Finding{Severity: Warning, Field: t.field(),
					Message: fmt.Sprintf("the %s selects %s, and so the pods of another release, %s, too", t.Rule, t.Selector, other),
					Fix:     selects + ", which are this release's own labels"})
			}
			if missed := t.missedPods(); len(missed) > 0 {
				all := len(s.pods())
				found = append(found, Finding{Severity: Warning, Field: t.field(),
					Message: fmt.Sprintf("the %s selects %s, which matches %d of the %d pods that run: pod %s is of another revision, without these labels",
						t.Rule, t.Selector, all-len(missed), all, missed[0].Name),
					Fix: selects + ", which all revisions have"})
			}
		case t.isMeantForOwnPods() && !l.selectsKnownPod(&t) && l.suggestLabel(&t) == "":
			f := Finding{Field: t.field(), Fix: selects, Brief: fmt.Sprintf("its %s selects no pod", t.Rule)}
			agree, differ := t.compareLabels()
			f.Message = fmt.Sprintf("the %s selects %s, which matches no pod: its own pods have %s", t.Rule, t.Selector, strings.Join(differ, ","))
			if len(agree) == 0 && !t.isRenamed() { // the rule may be meant for an application outside the scenario
				f.Severity = Warning
				f.Fix = selects + ", or, if it is meant for other pods, give them to the scenario, too"
			}
			found = append(found, f)
		}
	}
	return found
}

// missedPods returns the workload's pods of other revisions that the term does not match, although it matches the pods of the current template.
func (t *term) missedPods() []*v1.Pod {
	if len(t.matchLabelKeys) > 0 { // the term selects only pods of one revision
		return nil
	}
	return list.Without(t.subject.pods(), func(pod *v1.Pod) bool { return t.selectsPods(pod.Namespace, pod.Labels) })
}

// isMeantForOwnPods reports whether the selector asks for labels that the pods have, with other values.
func (t *term) isMeantForOwnPods() bool {
	if !t.coversNamespace(t.subject.owner.Namespace) {
		return false
	}
	_, differ := t.compareLabels()
	return len(differ) > 0
}

// compareLabels returns the selector's requirements that the pods meet, and the pods' labels, as key=value, for requirements that they do not
// meet.
func (t *term) compareLabels() (agree, differ []string) {
	own := t.subject.labels()
	requirements, _ := t.podSelector.Requirements()
	for _, r := range requirements {
		switch value, has := own[r.Key()]; {
		case r.Matches(own):
			agree = append(agree, r.String())
		case has:
			differ = append(differ, r.Key()+"="+value)
		}
	}
	return agree, differ
}

// isRenamed reports whether a label that the selector asks for differs from the pods' label only in its first part, as kafscale-proxy differs
// from foo-proxy: a chart with an overridden name puts that name before the component's.
func (t *term) isRenamed() bool {
	component := func(value string) string { return value[strings.LastIndex(value, "-")+1:] }
	own := t.subject.labels()
	requirements, _ := t.podSelector.Requirements()
	return slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return own.Has(r.Key()) && !r.Matches(own) && slices.ContainsFunc(r.Values().List(), func(value string) bool {
			return value != own[r.Key()] && component(value) == component(own[r.Key()])
		})
	})
}

// otherRelease returns a workload of the same application and another release whose pods the term selects.
func (l *inspection) otherRelease(t *term) string {
	own := t.subject.labels()
	if own[labelName] == "" || own[labelInstance] == "" {
		return ""
	}
	for _, o := range l.otherSubjects(t.subject) {
		other := o.labels()
		if other[labelName] == own[labelName] && other[labelInstance] != "" && other[labelInstance] != own[labelInstance] && t.selectsPods(o.owner.Namespace, other) {
			return o.owner.String()
		}
	}
	return ""
}

// spreadSelectorMissesPods finds spread constraints whose selector does not match the pods that have the constraint.
func spreadSelectorMissesPods(_ *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		if t.Kind != rule.Spread || t.needsGeneratedLabel() || t.podSelector.Matches(s.labels()) || t.selectsPodOfUnknownOwner() {
			continue
		}
		f := Finding{Field: t.field() + ".labelSelector", Brief: fmt.Sprintf("its spread over %s selects %s, which its own pods lack", t.TopologyKey, words.Shorten(t.Selector, 60)), Fix: fmt.Sprintf("give it labelSelector %s", matchLabels(s.identityLabels())),
			Message: fmt.Sprintf("the spread over %s selects %s, which does not match %s, so that they count as if there were none of them", t.TopologyKey, t.Selector, s.describePods())}
		if t.selector == nil {
			f.Brief = fmt.Sprintf("its spread over %s has no labelSelector and spreads nothing", t.TopologyKey)
			f.Message = fmt.Sprintf("the spread over %s has no labelSelector, which selects no pod, so that it spreads nothing", t.TopologyKey)
		}
		found = append(found, f)
	}
	return found
}

// spreadSelectorEmpty finds spread constraints with an empty selector. Before Kubernetes 1.38 such a constraint counts no pod, and since then all
// pods of the namespace: see [sched.EmptySelectorCounts].
func spreadSelectorEmpty(_ *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		if t.Kind != rule.Spread || !t.countsNothing() {
			continue
		}
		found = append(found, Finding{Field: t.field() + ".labelSelector", Brief: fmt.Sprintf("its spread over %s counts no pod, and from Kubernetes %s on all of them", t.TopologyKey, sched.Preview()),
			Fix: fmt.Sprintf("give it labelSelector %s", matchLabels(s.identityLabels())),
			Message: fmt.Sprintf("the spread over %s has an empty labelSelector, which counts no pod, so that it spreads nothing; in Kubernetes %s this constraint starts to count all pods of namespace %s, of other workloads, too",
				t.TopologyKey, sched.Preview(), s.owner.Namespace)})
	}
	return found
}

// countsNothing reports whether the term is a spread constraint whose empty selector counts no pod.
func (t *term) countsNothing() bool {
	return t.selector != nil && t.podSelector.Empty() && !t.hasMatchedKey() && !sched.EmptySelectorCounts()
}

// hasMatchedKey reports whether the pods have a label of matchLabelKeys, which then is part of the selector.
func (t *term) hasMatchedKey() bool {
	return slices.ContainsFunc(t.matchLabelKeys, func(key string) bool { return isGeneratedLabel(key) || t.subject.labels().Has(key) })
}

// matchLabels formats labels as in a selector.
func matchLabels(set labels.Set) string {
	return fmt.Sprintf("{matchLabels: {%s}}", strings.ReplaceAll(strings.ReplaceAll(labels.FormatLabels(set), "=", ": "), ",", ", "))
}

// referenceResolvesToNothing finds affinity and anti-affinity to pods that the scenario does not have.
func referenceResolvesToNothing(l *inspection, s *subject) []Finding {
	var found []Finding
	for _, t := range s.terms() {
		similar := l.suggestLabel(&t)
		drifted := t.Kind == rule.AntiAffinity && t.isMeantForOwnPods() && similar == ""
		if t.Kind == rule.Spread || drifted || t.needsGeneratedLabel() || t.selectsOwnPods() || l.selectsKnownPod(&t) {
			continue
		}
		does := "it has no effect"
		if t.Kind == rule.Affinity && t.Hard {
			does = "no node satisfies it"
		}
		found = append(found, Finding{Field: t.field(),
			Brief:   fmt.Sprintf("its %s selects no pod, so that %s%s", t.Rule, does, similar),
			Message: fmt.Sprintf("the %s refers to pods with %s, and the scenario has none, so that %s%s", t.Rule, t.Selector, does, similar),
			Fix:     fmt.Sprintf("give the pods that are meant the labels %s, correct the selector, or add what makes them", t.Selector)})
	}
	return found
}

// suggestLabel returns the end of a message that suggests a label of other workloads' pods, if the term asks for a value that no pod has and that is
// similar to theirs but not to the own pods': `; did you mean "index"?`. It returns "" otherwise.
func (l *inspection) suggestLabel(t *term) string {
	requirements, _ := t.podSelector.Requirements()
	for _, r := range requirements {
		values := r.ValuesUnsorted()
		if r.Operator() != selection.In && r.Operator() != selection.Equals || len(values) != 1 {
			continue
		}
		var others []string
		for _, o := range l.otherSubjects(t.subject) {
			if t.coversNamespace(o.owner.Namespace) && o.labels().Has(r.Key()) {
				others = append(others, o.labels()[r.Key()])
			}
		}
		similar := manifest.DidYouMean(values[0], others)
		if similar != "" && !slices.Contains(others, values[0]) && manifest.DidYouMean(values[0], []string{t.subject.labels()[r.Key()]}) == "" {
			return similar
		}
	}
	return ""
}

// namespaceMissing finds terms with namespaces that the scenario lacks, if it defines any namespaces.
func namespaceMissing(l *inspection, s *subject) []Finding {
	there := map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true, v1.NamespaceNodeLease: true}
	for _, n := range s.step.State.Namespaces {
		there[n.Name] = true
	}
	if len(s.step.State.Namespaces) == 0 {
		return nil
	}
	for _, o := range l.subjects {
		there[o.owner.Namespace] = true
	}
	var found []Finding
	for _, t := range s.terms() {
		missing := list.Without(t.namespaces, func(n string) bool { return there[n] })
		if len(missing) > 0 {
			found = append(found, Finding{Field: t.field() + ".namespaces",
				Message: fmt.Sprintf("the %s looks for pods in %s, and the scenario has no such namespace", t.Rule, words.Few(missing)),
				Fix:     fmt.Sprintf("name a namespace that there is, or add the Namespace %s", missing[0])})
		}
	}
	return found
}

// jobPodsMatchSelector finds rules, budgets and Services that are meant for a workload's pods but also select the pods of a Job, which come and go.
func jobPodsMatchSelector(l *inspection, s *subject) []Finding {
	if s.replicas == 0 {
		return nil
	}
	var found []Finding
	for _, o := range l.otherSubjects(s) {
		if o.owner.Kind != "Job" && o.owner.Kind != "CronJob" {
			continue
		}
		fix := fmt.Sprintf("give the pods of %s another label than %s, or select by one that they lack", o.owner, labels.FormatLabels(s.identityLabels()))
		for _, t := range s.terms() {
			// If a Job has the same rule, the rule is meant to keep the two workloads apart.
			if t.keepsOwnPodsApart() && t.selectsPods(o.owner.Namespace, o.labels()) && !slices.ContainsFunc(o.terms(), func(u term) bool { return u.Kind == t.Kind && u.Selector == t.Selector }) {
				found = append(found, Finding{Field: t.field(), Fix: fix,
					Message: fmt.Sprintf("the %s, which keeps the pods of %s apart, matches those of %s as well and keeps away from them", t.Rule, s.owner, o.owner)})
			}
		}
		if o.owner.Namespace != s.owner.Namespace {
			continue
		}
		budgets, services := o.budgets(), s.servicesSelecting(o.pod)
		for _, b := range s.budgets() {
			if slices.Contains(budgets, b) {
				found = append(found, Finding{Object: objectOf(cluster.RefTo(b)), ExpandedFrom: b.Annotations[operator.OwnerAnnotation], Field: "spec.selector", Fix: fix,
					Message: fmt.Sprintf("the budget of %s counts the pods of %s, too, and allows another number of evictions while they run", s.owner, o.owner)})
			}
		}
		for _, service := range s.servicesSelecting(s.pod) {
			if slices.Contains(services, service) {
				found = append(found, Finding{Field: s.labelsField(), Fix: fix,
					Message: fmt.Sprintf("Service %s of %s sends requests to the pods of %s, too, and the default spreading counts them", service.Name, s.owner, o.owner)})
			}
		}
	}
	return found
}
