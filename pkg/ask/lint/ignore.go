package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// IgnoreAnnotation is an annotation that says which findings about its object are intended, and why: "id: reason; id2: reason".
const IgnoreAnnotation = "lint.faultline.dev/ignore"

const (
	ignoreReason  = "ignore-without-reason"
	ignoreUnknown = "ignore-unknown"
	ignoreUnused  = "ignore-unused"
)

// ignoreEntry is one part of the annotation.
type ignoreEntry struct{ id, reason string }

func parseEntries(annotation string) []ignoreEntry {
	var all []ignoreEntry
	for part := range strings.SplitSeq(annotation, ";") {
		id, reason, _ := strings.Cut(part, ":")
		if e := (ignoreEntry{strings.TrimSpace(id), strings.TrimSpace(reason)}); e != (ignoreEntry{}) {
			all = append(all, e)
		}
	}
	return all
}

// splitIgnored separates the findings that annotations declare as intended, and adds findings about these annotations.
func splitIgnored(looks []*inspection, c *collection, made []Check) (findings []Finding, ignored []Ignored) {
	runs := func(id string) int { return slices.IndexFunc(made, func(check Check) bool { return check.ID == id }) }
	field := fmt.Sprintf("metadata.annotations[%s]", IgnoreAnnotation)
	about := func(id string, s *subject, format string, args ...any) {
		if i := runs(id); i >= 0 {
			check, at := made[i], args[0]
			c.appendFinding(&check, s, Finding{Object: objectOf(s.owner), Field: fmt.Sprintf("%s %s", field, at), Message: fmt.Sprintf(format, args...),
				Fix: map[string]string{
					ignoreReason:  fmt.Sprintf("say why it is meant: %s: \"%s: REASON\"", IgnoreAnnotation, at),
					ignoreUnknown: "remove it, or give one of those that simulate lint --list lists",
					ignoreUnused:  "remove it from the annotation",
				}[id]})
		}
	}
	type use struct {
		s *subject
		ignoreEntry
	}
	uses := map[string]use{} // by object and check
	var order []string
	for _, s := range annotatedSubjects(looks) {
		for _, e := range parseEntries(s.object.GetAnnotations()[IgnoreAnnotation]) {
			known := slices.ContainsFunc(Checks(), func(check Check) bool { return check.ID == e.id })
			switch {
			case !known:
				about(ignoreUnknown, s, "%q is no check%s", e.id, manifest.DidYouMean(e.id, checkIDs()))
			case e.reason == "":
				about(ignoreReason, s, "%s is ignored without a reason, and so is not", e.id)
			default:
				key := fmt.Sprint(s.owner, e.id)
				if _, found := uses[key]; !found {
					order = append(order, key)
				}
				uses[key] = use{s, e}
			}
		}
	}
	used := map[string]bool{}
	for _, f := range c.findings {
		key := fmt.Sprint(f.Ref(), f.Check)
		used[key] = true
	}
	for _, key := range order {
		if u := uses[key]; !used[key] && runs(u.id) >= 0 {
			about(ignoreUnused, u.s, "%s is ignored, and there is no such finding", u.id)
		}
	}
	for _, f := range c.sortByObject() {
		if u, found := uses[fmt.Sprint(f.Ref(), f.Check)]; found {
			ignored = append(ignored, Ignored{f, u.reason})
		} else {
			findings = append(findings, f)
		}
	}
	return findings, ignored
}

// annotatedSubjects returns the objects that may have the annotation: objects that create pods, budgets, and claims on devices.
func annotatedSubjects(looks []*inspection) []*subject {
	var all []*subject
	for _, l := range looks {
		all = append(all, l.subjects...)
		for i := range l.result.Steps {
			step := &l.result.Steps[i]
			if l.member != "" {
				m := step.State.Federation.Member(l.member)
				if m == nil {
					continue
				}
				step = stepInMember(step, m)
			}
			add := func(obj cluster.Object) {
				all = append(all, &subject{owner: cluster.RefTo(obj), step: step, object: obj})
			}
			for _, pdb := range step.State.PodDisruptionBudgets {
				add(pdb)
			}
			for _, template := range step.State.ResourceClaimTemplates {
				add(template)
			}
			for _, claim := range step.State.ResourceClaims {
				add(claim)
			}
		}
	}
	return all
}

func checkIDs() []string {
	return list.Map(Checks(), func(check Check) string { return check.ID })
}
