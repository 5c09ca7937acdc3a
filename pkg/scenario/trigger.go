package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/faultline/faultline/pkg/cluster"
)

// Trigger runs a CronJob once.
type Trigger struct {
	Target `json:",inline"`
}

func (*Trigger) instead() string { return "apply a Job" }

func (t *Trigger) validate(c *actionChecks) {
	validateTarget(c.Problems, c.path, t.Target, false, "CronJob")
}

// CronJobs returns the CronJobs that a flag names as NAME, cronjob/NAME or namespace/cronjob/NAME, each once. The name "all" stands for
// every CronJob of the scenario.
func (s *Scenario) CronJobs(flag string, names []string) ([]cluster.Ref, error) {
	var found []cluster.Ref
	var problems []error
	add := func(ref cluster.Ref) {
		if !slices.Contains(found, ref) {
			found = append(found, ref)
		}
	}
	for _, name := range names {
		if name == "all" {
			for _, obj := range s.Objects() {
				if ref := cluster.RefTo(obj); ref.Kind == "CronJob" {
					add(ref)
				}
			}
			continue
		}
		if !strings.Contains(name, "/") {
			name = "cronjob/" + name
		}
		ref, err := s.Workload(name, "CronJob")
		if err == nil && ref.Kind != "CronJob" {
			err = fmt.Errorf("%s: %[1]q is a %s; name a CronJob", name, ref.Kind)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %w", flag, err))
			continue
		}
		add(ref)
	}
	return found, errors.Join(problems...)
}

// AppendTriggers returns the scenario with a step added for each CronJob, which runs it.
func (s *Scenario) AppendTriggers(cronJobs ...cluster.Ref) *Scenario {
	for _, ref := range cronJobs {
		s = s.AppendStep(Step{Name: "trigger " + ref.Qualified(), Trigger: &Trigger{Target{Target: ref.String(), Namespace: ref.Namespace}}})
	}
	return s
}

// AppendRuns returns the scenario with steps added, after which a run of each CronJob has pods that do not complete.
func (s *Scenario) AppendRuns(cronJobs ...cluster.Ref) *Scenario {
	runsOn := runtime.RawExtension{Raw: []byte(`{"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"annotations":{"` + cluster.CompletesAfterAnnotation + `":null}}}}}}}`)}
	for _, ref := range cronJobs {
		target := Target{Target: ref.String(), Namespace: ref.Namespace}
		s = s.AppendStep(Step{Name: "patch " + ref.Qualified(), Patch: &Patch{Target: target, Type: "merge", Patch: runsOn}})
	}
	return s.AppendTriggers(cronJobs...)
}
