package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/faultline/faultline/pkg/advice"
	"github.com/faultline/faultline/pkg/scenario"
)

// changes are the flags that change a scenario before it is run, as the commands of an advice do.
type changes struct {
	patches []string
	restart string
}

func (i *input) registerChanges(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&i.changes.patches, "patch", nil, "run it as if the workload had always had this JSON merge patch, given as kind/name=`PATCH`\n"+
		"or namespace/kind/name=PATCH (repeatable)")
	cmd.Flags().StringVar(&i.changes.restart, "restart", "", "restart this `WORKLOAD` in a further step at the end, as kubectl rollout restart does")
}

// apply returns the scenario with the changes.
func (c *changes) apply(cmd *cobra.Command, s *scenario.Scenario) (*scenario.Scenario, error) {
	if len(c.patches) > 0 {
		variant, err := c.variant(cmd, s)
		if err != nil {
			return nil, err
		}
		varied, err := s.Vary(variant)
		if err != nil {
			return nil, asInput(err)
		}
		s = varied.Scenario
	}
	if c.restart == "" {
		return s, nil
	}
	owner, err := s.Workload(c.restart)
	if err != nil {
		return nil, usage(cmd, "--restart %s", err)
	}
	return s.Then(advice.Restart(owner)), nil
}

// variant is the scenario's with the patches.
func (c *changes) variant(cmd *cobra.Command, s *scenario.Scenario) (*scenario.Variant, error) {
	v := &scenario.Variant{Name: "patched"}
	var problems []error
	for _, given := range c.patches {
		target, patch, found := strings.Cut(given, "=")
		var fields map[string]any
		if err := json.Unmarshal([]byte(patch), &fields); !found || err != nil {
			problems = append(problems, fmt.Errorf(`--patch %q: give a workload and a JSON merge patch, such as deployment/web={"spec":{"replicas":3}}`, given))
			continue
		}
		owner, err := s.Workload(target)
		if err != nil {
			problems = append(problems, fmt.Errorf("--patch %w", err))
			continue
		}
		v.Patches = append(v.Patches, scenario.Patch{
			Target: scenario.Target{Target: owner.String(), Namespace: owner.Namespace}, Type: "merge", Patch: runtime.RawExtension{Raw: []byte(patch)},
		})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, usage(cmd, "%s", err)
	}
	return v, nil
}
