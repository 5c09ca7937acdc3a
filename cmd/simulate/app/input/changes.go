package input

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

// Changes are the flags that change a scenario before it runs. The commands that an advice prints use them.
type Changes struct {
	Patches  []string
	restart  string
	triggers []string
}

// RegisterChanges adds the flags of Changes, for commands that run the scenario.
func (i *Flags) RegisterChanges(cmd *cobra.Command) {
	withoutField(cmd, func() { i.registerChanges(cmd) })
}

func (i *Flags) registerChanges(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&i.Changes.Patches, "patch", nil, "run with this JSON merge patch of the workload, as kind/name=`PATCH`\n"+
		"or namespace/kind/name=PATCH (repeatable)")
	i.RegisterFresh(cmd)
	cmd.Flags().StringArrayVar(&i.Changes.triggers, "trigger", nil, "add a last step that runs this `CRONJOB` once, as kubectl create job --from does; all runs each (repeatable)")
	cmd.Flags().StringVar(&i.Changes.restart, "restart", "", "add a last step that restarts this `WORKLOAD`, a Deployment, StatefulSet or DaemonSet, as kubectl rollout restart does")
}

// RegisterFresh adds --fresh, for the commands that change workloads.
func (i *Flags) RegisterFresh(cmd *cobra.Command) {
	asInput(cmd, func() {
		cmd.Flags().BoolVar(overlayVar(i, "fresh", "fresh", func(f *scenario.File) *bool { return &f.Fresh }), "fresh", false, "place all pods of a changed workload anew; otherwise one that runs is changed by a rollout, as kubectl apply does")
	})
}

// apply returns the scenario with these changes.
func (c *Changes) apply(cmd *cobra.Command, s *scenario.Scenario, in *Namespace) (*scenario.Scenario, error) {
	patched, wrong := c.Variant(s, in)
	var restarted cluster.Ref
	if c.restart != "" {
		var err error
		if restarted, err = s.Workload(in.Qualify(c.restart)[0], scenario.RolloutKinds...); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("--restart %w", err))
		}
	}
	triggered, unknown := s.CronJobs("--trigger", in.Qualify(c.triggers...))
	switch {
	case unknown != nil:
		wrong = errors.Join(wrong, unknown)
	case len(c.triggers) > 0 && len(triggered) == 0:
		wrong = errors.Join(wrong, errors.New("--trigger all: the input has no CronJob; leave it out, or give one"))
	case len(c.triggers) > 0 && s.Federated():
		wrong = errors.Join(wrong, errors.New("--trigger: a federation does not run a CronJob at once; give a scenario of one cluster"))
	}
	if wrong != nil {
		return nil, exit.Usage(cmd, "%s", wrong)
	}
	if len(patched.Patches) > 0 {
		varied, err := variant.NewMaker(s).Vary(patched, "--patch")
		if err != nil {
			return nil, exit.InvalidInput(err)
		}
		s = varied.Scenario
		s.Notes = append(slices.Clip(s.Notes), s.DescribeChanges()...)
	}
	if c.restart != "" {
		s = s.AppendStep(advice.Restart(restarted))
	}
	return s.AppendTriggers(triggered...), nil
}

// Variant returns the variant that --patch makes of the scenario.
func (c *Changes) Variant(s *scenario.Scenario, in *Namespace) (*scenario.Variant, error) {
	v := &scenario.Variant{Name: "patched"}
	var problems []error
	for _, given := range in.Qualify(c.Patches...) {
		target, patch, found := strings.Cut(given, "=")
		var fields map[string]any
		if err := json.Unmarshal([]byte(patch), &fields); !found || err != nil {
			problems = append(problems, fmt.Errorf(`--patch %q: give a workload and a JSON merge patch, for example deployment/web={"spec":{"replicas":3}}`, given))
			continue
		}
		owner, err := s.Workload(target, scenario.SeparableKinds...)
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
