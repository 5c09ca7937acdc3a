package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
)

// Findings are the expectations that were not met, the workloads with Pending pods and the rollouts that are stuck, step by step.
func (r *Report) Findings() []expect.Finding {
	var found []expect.Finding
	for i := range r.Steps {
		found = append(found, r.Steps[i].findings()...)
	}
	return found
}

func (s *Step) findings() []expect.Finding {
	facts := expect.Facts{Step: s.Name, Source: func(of cluster.Ref) *manifest.Source {
		if w := s.workload(owner{of.Namespace, of.String()}); w != nil {
			return w.Source.place()
		}
		return nil
	}}
	for _, e := range failures(s.Expectations) {
		facts.Unmet = append(facts.Unmet, expect.Expectation{Want: e.Want, Got: e.Got, Source: e.Source.place()})
	}
	for _, pods := range grouped(s.pendingPods(), func(p Pod) owner { return ownerOf(p.Namespace, p.Workload, p.Name) }) {
		of := ownerOf(pods[0].Namespace, pods[0].Workload, pods[0].Name)
		waiting := expect.Pods{Workload: of.ref(), Messages: keysOf(pods, func(p Pod) string { return p.Message })}
		if w := s.workload(of); w != nil {
			waiting.Desired = w.Desired
		}
		facts.Pending = append(facts.Pending, waiting)
	}
	for _, r := range s.Rollouts {
		facts.Stuck = append(facts.Stuck, controller.Rollout{
			Ref: cluster.Ref{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, Updated: r.Updated, Desired: r.Desired, Waiting: r.Waiting,
		})
	}
	return facts.Findings()
}

// place is the source as a finding has it.
func (s *Source) place() *manifest.Source {
	if s == nil {
		return nil
	}
	return &manifest.Source{File: s.File, Line: s.Line}
}

// owner is a workload as findings name it: kind/name in lower case, and its namespace.
type owner struct{ namespace, workload string }

// ownerOf is the workload of a pod; a pod without one is its own.
func ownerOf(namespace, workload, pod string) owner {
	return owner{namespace, cmp.Or(workload, "pod/"+pod)}
}

func (o owner) ref() cluster.Ref {
	kind, name, _ := strings.Cut(o.workload, "/")
	return cluster.Ref{Kind: kind, Namespace: o.namespace, Name: name}
}

// workload returns the step's workload of that name, or nil.
func (s *Step) workload(of owner) *Workload {
	i := slices.IndexFunc(s.Workloads, func(w Workload) bool { return owner{w.Namespace, w.title()} == of })
	if i < 0 {
		return nil
	}
	return &s.Workloads[i]
}

// Findings are what the failures of each level do to each workload, step by step: one finding for each workload and rule, which
// names the worst failure and counts the others.
func (r *BlastReport) Findings() []expect.Finding {
	var found []expect.Finding
	for i := range r.Steps {
		for j := range r.Steps[i].Levels {
			found = append(found, r.Steps[i].findings(j)...)
		}
	}
	return found
}

// findings are those of one level of the step.
func (s *BlastStep) findings(level int) []expect.Finding {
	sources := map[cluster.Ref]*manifest.Source{}
	facts := expect.Facts{Step: s.Name, Source: func(of cluster.Ref) *manifest.Source { return sources[of] }}
	l := &s.Levels[level]
	for i := range l.Failures {
		f := &l.Failures[i]
		failure := expect.Failure{Domains: s.failed(level, f)}
		for _, loss := range f.Workloads {
			of := cluster.Ref{Kind: strings.ToLower(loss.Kind), Namespace: loss.Namespace, Name: loss.Name}
			sources[of] = loss.Source.place()
			failure.Losses = append(failure.Losses, blast.Loss{
				Workload: of, Replicas: loss.Replicas, Lost: loss.Lost, BrokenBudgets: loss.BrokenBudgets, Quorum: loss.Quorum, QuorumLost: loss.QuorumLost,
			})
		}
		if recovery := l.recovery(f); recovery != nil {
			for _, pods := range grouped(recovery.Stranded, StrandedPod.owner) {
				failure.Stranded = append(failure.Stranded, expect.Pods{
					Workload: pods[0].owner().ref(), Messages: keysOf(pods, func(p StrandedPod) string { return p.Message }),
				})
			}
		}
		facts.Failures = append(facts.Failures, failure)
	}
	return facts.Findings()
}

func (p StrandedPod) owner() owner { return ownerOf(p.Namespace, p.Workload, p.Name) }

// failed names the failed domains with their level: "zone a", or "zones a + b together".
func (s *BlastStep) failed(level int, f *Failure) string {
	name := domainNoun(s.Levels[level].TopologyKey, s.levels()[level])
	if len(f.Domains) > 1 {
		return fmt.Sprintf("%ss %s together", name, domainsText(f.Domains))
	}
	return name + " " + domainsText(f.Domains)
}

// domainNoun is what a failure domain is called, by the short name of its level where there is no word for it.
func domainNoun(key, short string) string {
	if word := noun(key); word != "domain" {
		return word
	}
	return short
}
