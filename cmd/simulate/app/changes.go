package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/pkg/ask/advice"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/variant"
)

// changes are the flags that change a scenario before it runs. The commands in an advice use them.
type changes struct {
	patches  []string
	restart  string
	triggers []string
}

func (i *input) registerChanges(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&i.changes.patches, "patch", nil, "run with this JSON merge patch of the workload, as kind/name=`PATCH`\n"+
		"or namespace/kind/name=PATCH (repeatable)")
	i.registerFresh(cmd)
	cmd.Flags().StringArrayVar(&i.changes.triggers, "trigger", nil, "add a last step that runs this `CRONJOB` once, as kubectl create job --from does; all runs each (repeatable)")
	cmd.Flags().StringVar(&i.changes.restart, "restart", "", "add a last step that restarts this `WORKLOAD`, a Deployment, StatefulSet or DaemonSet, as kubectl rollout restart does")
}

// registerFresh adds --fresh, for the commands that change workloads.
func (i *input) registerFresh(cmd *cobra.Command) {
	var fresh bool
	cmd.Flags().BoolVar(&fresh, "fresh", false, "place all pods of a changed workload anew; otherwise one that runs is changed by a rollout, as kubectl apply does")
	i.overlays("fresh", "fresh", func(f *scenario.File) { f.Fresh = fresh })
}

// apply returns the scenario with the changes made.
func (c *changes) apply(cmd *cobra.Command, s *scenario.Scenario) (*scenario.Scenario, error) {
	patched, wrong := c.variant(s)
	var restarted cluster.Ref
	if c.restart != "" {
		var err error
		if restarted, err = s.Workload(c.restart, scenario.Rolled...); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("--restart %w", err))
		}
	}
	triggered, unknown := s.CronJobs("--trigger", c.triggers)
	if unknown != nil {
		wrong = errors.Join(wrong, unknown)
	} else if len(c.triggers) > 0 && s.Federated() {
		wrong = errors.Join(wrong, errors.New("--trigger: a federation does not run a CronJob at once; give a scenario of one cluster"))
	}
	if wrong != nil {
		return nil, exit.Usage(cmd, "%s", wrong)
	}
	if len(patched.Patches) > 0 {
		varied, err := variant.NewMaker(s).Vary(patched, "--patch")
		if err != nil {
			return nil, exit.Input(err)
		}
		s = varied.Scenario
		s.Notes = append(slices.Clip(s.Notes), s.HowChanged()...)
	}
	if c.restart != "" {
		s = s.Then(advice.Restart(restarted))
	}
	return s.Triggered(triggered...), nil
}

// variant returns the variant that the patches make of the scenario.
func (c *changes) variant(s *scenario.Scenario) (*scenario.Variant, error) {
	v := &scenario.Variant{Name: "patched"}
	var problems []error
	for _, given := range c.patches {
		target, patch, found := strings.Cut(given, "=")
		var fields map[string]any
		if err := json.Unmarshal([]byte(patch), &fields); !found || err != nil {
			problems = append(problems, fmt.Errorf(`--patch %q: give a workload and a JSON merge patch, for example deployment/web={"spec":{"replicas":3}}`, given))
			continue
		}
		owner, err := s.Workload(target, scenario.Apart...)
		if err != nil {
			problems = append(problems, fmt.Errorf("--patch %w", err))
			continue
		}
		v.Patches = append(v.Patches, scenario.Patch{
			Target: scenario.Target{Target: owner.String(), Namespace: owner.Namespace}, Type: "merge", Patch: runtime.RawExtension{Raw: []byte(patch)},
		})
	}
	return v, errors.Join(problems...)
}
