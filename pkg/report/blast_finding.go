package report

import (
	"cmp"
	"fmt"
	"strings"
)

// Findings are what the failures of each level do to each workload, step by step: one finding for each workload and rule, which
// names the worst failure and counts the others.
func (r *BlastReport) Findings() []Finding {
	var found []Finding
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			found = append(found, r.Steps[i].findings(j)...)
		}
	}
	return found
}

// findings are those of one level of the step, in the order in which its failures first have them.
func (s *BlastStep) findings(level int) []Finding {
	l := &s.Levels[level]
	type subject struct {
		owner
		rule string
	}
	type worst struct {
		subject
		failures, pods int
		message        string
	}
	var all []*worst
	bySubject := map[subject]*worst{}
	tell := func(rule string, of owner, pods int, message string) {
		w := bySubject[subject{of, rule}]
		if w == nil {
			w = &worst{subject: subject{of, rule}}
			bySubject[w.subject] = w
			all = append(all, w)
		}
		if w.failures++; pods > w.pods {
			w.pods, w.message = pods, message
		}
	}
	sources := map[owner]*Source{}
	for i := range l.Failures {
		f := &l.Failures[i]
		failure := "the failure of " + s.failed(level, f)
		for _, loss := range f.Workloads {
			of := owner{namespace: loss.Namespace, workload: strings.ToLower(loss.Kind) + "/" + loss.Name}
			sources[of] = loss.Source
			takes := fmt.Sprintf("%s takes %d of %s of %s", failure, loss.Lost, count(loss.Replicas, "running pod"), of.workload)
			if loss.QuorumLost {
				tell(ruleQuorum, of, loss.Lost, fmt.Sprintf("%s, whose quorum is %d", takes, loss.Quorum))
			}
			if loss.Gone {
				tell(ruleGone, of, loss.Lost, takes)
			}
			if len(loss.BrokenBudgets) > 0 {
				tell(ruleBudget, of, loss.Lost, fmt.Sprintf("%s, which breaks PodDisruptionBudget %s", takes, strings.Join(loss.BrokenBudgets, ", ")))
			}
		}
		if recovery := l.recovery(f); recovery != nil {
			for _, pods := range grouped(recovery.Stranded, StrandedPod.owner) {
				of := pods[0].owner()
				tell(ruleStranded, of, len(pods), fmt.Sprintf("%s leaves %s of %s stranded: %s",
					failure, count(len(pods), "pod"), of.workload, cmp.Or(pods[0].Message, silent)))
			}
		}
	}
	var found []Finding
	for _, w := range all {
		if more := w.failures - 1; more > 0 {
			w.message += fmt.Sprintf(" (likewise %s)", count(more, "other failure"))
		}
		found = append(found, newFinding(w.rule, s.Name, w.owner, sources[w.owner], "%s", w.message))
	}
	return found
}

// failed names the failed domains with their level: "zone a", or "zones a + b together".
func (s *BlastStep) failed(level int, f *Failure) string {
	name := domainNoun(s.Levels[level].TopologyKey, s.levels()[level])
	if len(f.Domains) > 1 {
		return fmt.Sprintf("%ss %s together", name, domainsText(f.Domains))
	}
	return name + " " + domainsText(f.Domains)
}
