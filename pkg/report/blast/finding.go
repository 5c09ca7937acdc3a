package blast

import (
	"fmt"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// Findings are what the failures of each level do to each workload, step by step: one finding for each workload and rule, which
// names the worst failure and counts the others.
func (r *Report) Findings() []expect.Finding {
	var found []expect.Finding
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			found = append(found, r.Steps[i].findings(j)...)
		}
	}
	return found
}

// findings are those of one level of the step.
func (s *Step) findings(level int) []expect.Finding {
	sources := map[cluster.Ref]*manifest.Source{}
	facts := expect.Facts{Step: s.Name, Source: func(of cluster.Ref) *manifest.Source { return sources[of] }}
	l := &s.Levels[level]
	for i := range l.Failures {
		f := &l.Failures[i]
		failure := expect.Failure{Domains: s.failed(level, f)}
		for _, loss := range f.Workloads {
			of := cluster.Ref{Kind: strings.ToLower(loss.Kind), Namespace: loss.Namespace, Name: loss.Name}
			sources[of] = loss.Source.InManifest()
			failure.Losses = append(failure.Losses, blast.Loss{
				Workload: of, Replicas: loss.Replicas, Lost: loss.Lost, BrokenBudgets: loss.BrokenBudgets, Quorum: loss.Quorum, QuorumLost: loss.QuorumLost,
			})
		}
		if recovery := l.Recovery(f); recovery != nil {
			failure.Gone = recovery.gone()
		}
		facts.Failures = append(facts.Failures, failure)
	}
	return facts.Findings()
}

// gone are the pods that do not come back, by workload, those first whose replacements stay Pending.
func (r *Recovery) gone() []expect.Pods {
	var all []expect.Pods
	position := map[cluster.Ref]int{}
	add := func(pod cluster.PodRef, why string) {
		i, seen := position[pod.Owner()]
		if !seen {
			i = len(all)
			position[pod.Owner()] = i
			all = append(all, expect.Pods{Workload: pod.Owner()})
		}
		all[i].Messages = append(all[i].Messages, why)
	}
	for _, pod := range r.Stranded {
		add(pod.PodRef, pod.Why())
	}
	for _, pod := range r.NotReplaced {
		if !pod.ofNode() {
			add(pod.PodRef, pod.Why)
		}
	}
	return all
}

// folded sets the workloads of one replica apart from other findings: it returns these, and a sentence on how many workloads those are, ""
// if none.
func folded(all []expect.Finding) (found []expect.Finding, note string) {
	alone := 0
	for _, f := range all {
		if f.ID == expect.OneReplica {
			alone++
		} else {
			found = append(found, f)
		}
	}
	if alone > 0 {
		note = words.Has(alone, "workload") + takenWhole(alone)
	}
	return found, note
}

// failed names the failed domains with their level: "zone a", or "zones a + b together".
func (s *Step) failed(level int, f *Failure) string {
	name := doc.DomainNoun(s.Levels[level].TopologyKey, s.levels()[level])
	if len(f.Domains) > 1 {
		return fmt.Sprintf("%ss %s together", name, doc.DomainsText(f.Domains))
	}
	return name + " " + doc.DomainsText(f.Domains)
}
