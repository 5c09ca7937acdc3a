package blast

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/format/text"
	"github.com/faultline/faultline/pkg/words"
)

// Findings are what the failures of each level do to each workload, step by step: one finding for each workload and rule, which
// names the worst failure and counts the others.
func (r *Report) Findings() []report.Finding {
	var found []report.Finding
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			found = append(found, r.Steps[i].findings(j)...)
		}
	}
	return found
}

// findings are those of one level of the step, in the order in which its failures first have them.
func (s *Step) findings(level int) []report.Finding {
	l := &s.Levels[level]
	type subject struct {
		report.Owner
		rule string
	}
	type worst struct {
		subject
		failures, pods int
		message        string
	}
	var all []*worst
	bySubject := map[subject]*worst{}
	tell := func(rule string, of report.Owner, pods int, message string) {
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
	sources := map[report.Owner]*report.Source{}
	for i := range l.Failures {
		f := &l.Failures[i]
		failure := "the failure of " + s.failed(level, f)
		for _, loss := range f.Workloads {
			of := report.Owner{Namespace: loss.Namespace, Workload: strings.ToLower(loss.Kind) + "/" + loss.Name}
			sources[of] = loss.Source
			takes := fmt.Sprintf("%s takes %d of %s of %s", failure, loss.Lost, words.Count(loss.Replicas, "running pod"), of.Workload)
			if loss.QuorumLost {
				tell(report.RuleQuorum, of, loss.Lost, fmt.Sprintf("%s, whose quorum is %d", takes, loss.Quorum))
			}
			if loss.Gone {
				tell(report.RuleGone, of, loss.Lost, takes)
			}
			if len(loss.BrokenBudgets) > 0 {
				tell(report.RuleBudget, of, loss.Lost, fmt.Sprintf("%s, which breaks PodDisruptionBudget %s", takes, strings.Join(loss.BrokenBudgets, ", ")))
			}
		}
		if recovery := l.Recovery(f); recovery != nil {
			for _, pods := range report.Group(recovery.Stranded, report.StrandedPod.Owner) {
				of := pods[0].Owner()
				tell(report.RuleStranded, of, len(pods), fmt.Sprintf("%s leaves %s of %s stranded: %s",
					failure, words.Count(len(pods), "pod"), of.Workload, cmp.Or(pods[0].Message, text.Silent)))
			}
		}
	}
	var found []report.Finding
	for _, w := range all {
		if more := w.failures - 1; more > 0 {
			w.message += fmt.Sprintf(" (likewise %s)", words.Count(more, "other failure"))
		}
		found = append(found, report.NewFinding(w.rule, s.Name, w.Owner, sources[w.Owner], "%s", w.message))
	}
	return found
}

// failed names the failed domains with their level: "zone a", or "zones a + b together".
func (s *Step) failed(level int, f *Failure) string {
	name := text.DomainNoun(s.Levels[level].TopologyKey, s.levels()[level])
	if len(f.Domains) > 1 {
		return fmt.Sprintf("%ss %s together", name, text.DomainsText(f.Domains))
	}
	return name + " " + text.DomainsText(f.Domains)
}
