package blast

import (
	"fmt"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/words"
)

// Findings returns what the failures of each level do to each workload, step by step. There is one finding for each workload and rule,
// which names the worst failure and counts the others.
func (r *Report) Findings() []expect.Finding {
	var found []expect.Finding
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			found = append(found, r.Steps[i].findings(j)...)
		}
	}
	return found
}

// findings returns the findings of one level of the step.
func (s *Step) findings(level int) []expect.Finding {
	sources := map[cluster.WorkloadRef]*manifest.Place{}
	facts := expect.Facts{Step: s.Name, Source: func(of cluster.Ref) *manifest.Place { return sources[of.Workload()] }}
	l := &s.Levels[level]
	for i := range l.Failures {
		f := &l.Failures[i]
		for _, loss := range f.Workloads {
			sources[loss.Ref.Workload()] = loss.Source
		}
		failure := expect.Failure{Domains: s.failureName(level, f), Losses: f.Workloads}
		if recovery := l.Recovery(f); recovery != nil {
			failure.Gone = goneByWorkload(recovery)
		}
		facts.Failures = append(facts.Failures, failure)
	}
	return facts.Findings()
}

// goneByWorkload returns the pods that do not come back, by workload. Workloads with stranded pods come first.
func goneByWorkload(r *blast.Recovery) []expect.Pods {
	type left struct {
		of  cluster.Ref
		why string
	}
	var all []left
	for _, pod := range r.Stranded {
		all = append(all, left{pod.Owner(), pod.Why()})
	}
	for _, pod := range r.NotReplaced {
		if !pod.BelongsToNode() {
			all = append(all, left{pod.Owner(), pod.Why})
		}
	}
	return list.Map(list.GroupBy(all, func(l left) cluster.Ref { return l.of }), func(pods []left) expect.Pods {
		return expect.Pods{Workload: pods[0].of, Messages: list.Map(pods, func(l left) string { return l.why })}
	})
}

// splitOneReplica splits the findings: it returns those about workloads of several replicas, and a sentence that counts the workloads of one
// replica, "" if there are none.
func splitOneReplica(all []expect.Finding) (found []expect.Finding, note string) {
	alone := 0
	for _, f := range all {
		if f.ID == expect.OneReplica {
			alone++
		} else {
			found = append(found, f)
		}
	}
	if alone > 0 {
		note = words.Has(alone, "workload") + endOneReplica(alone)
	}
	return found, note
}

// failureName returns the failed domains with their level: "zone a", or "zones a + b together".
func (s *Step) failureName(level int, f *blast.Failure) string {
	name := doc.DomainNoun(s.Levels[level].TopologyKey, s.levelNames()[level])
	if len(f.Domains) > 1 {
		return fmt.Sprintf("%ss %s together", name, doc.DomainsText(f.Domains))
	}
	return name + " " + doc.DomainsText(f.Domains)
}
