package hydrolix

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// clusterResource has the fields of a HydrolixCluster that decide which pods exist and where they go. Hydrolix publishes no schema; the
// fields are those of the documentation: https://docs.hydrolix.io/docs/k8s-scaling-on, https://docs.hydrolix.io/docs/custom-profiles and
// https://docs.hydrolix.io/latest/self-managed/manage-a-cluster/ (targeting-k8s-resources, override-pod-priority-classes,
// scheduler-descheduler/scheduler).
type clusterResource struct {
	Spec spec `json:"spec"`
}

type spec struct {
	ScaleProfile string `json:"scale_profile"`
	// ScaleOff removes all components. ScaleMin keeps only the components that the API and the UI need; ScaleMinimal is its older name.
	ScaleOff     bool `json:"scale_off"`
	ScaleMin     bool `json:"scale_min"`
	ScaleMinimal bool `json:"scale_minimal"`
	// Scale maps components to scales. In the resource, its key "profile" has the custom profiles; these go to profiles, by name and
	// component.
	Scale           map[string]scale          `json:"scale"`
	Pools           []pool                    `json:"pools"`
	Targeting       map[string]targetingRules `json:"targeting"`
	PriorityClasses priorityClasses           `json:"priority_classes"`
	Scheduler       *binpackScheduler         `json:"scheduler"`

	profiles map[string]map[string]scale
}

// scale holds the number and size of a component's pods. Missing fields come from the scale profile.
type scale struct {
	Replicas      *replicaCount      `json:"replicas"`
	CPU           *resource.Quantity `json:"cpu"`
	Memory        *resource.Quantity `json:"memory"`
	Storage       *byteSize          `json:"storage"`
	DataStorage   *byteSize          `json:"data_storage"`
	SchedulerName *string            `json:"scheduler_name"`
}

// pool runs a service again under its own name.
type pool struct {
	Name         string        `json:"name"`
	Service      string        `json:"service"`
	ScaleProfile string        `json:"scale_profile"`
	Replicas     *replicaCount `json:"replicas"`
}

// priorityClasses maps components to class names.
type priorityClasses struct {
	Deployments map[string]string `json:"deployments"`
	StatefulSet map[string]string `json:"statefulset"`
	DaemonSet   map[string]string `json:"daemonset"`
}

func (p *priorityClasses) forKind(kind string) map[string]string {
	return map[string]map[string]string{"Deployment": p.Deployments, "StatefulSet": p.StatefulSet, "DaemonSet": p.DaemonSet}[kind]
}

type binpackScheduler struct {
	Enabled bool `json:"enabled"`
}

// replicaCount is a number of replicas, such as 3, or the range of an autoscaler, such as 1-10.
type replicaCount struct {
	low    int32
	ranged bool
}

func (c *replicaCount) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	least, most, ranged := strings.Cut(text, "-")
	low, err := strconv.ParseInt(least, 10, 32)
	if high, badMost := strconv.ParseInt(most, 10, 32); err != nil || ranged && (badMost != nil || high < low) {
		return errors.New("not a number of replicas; give at least 0, or a range such as 1-10")
	}
	c.low, c.ranged = int32(low), ranged
	return nil
}

// byteSize is a quantity of bytes that may end in B, for example 1TB.
type byteSize struct{ resource.Quantity }

func (s *byteSize) UnmarshalJSON(data []byte) error {
	quantity, err := resource.ParseQuantity(strings.TrimSuffix(strings.Trim(string(data), `"`), "B"))
	if err != nil {
		return errors.New("not a size; give, for example, 10Gi or 1TB")
	}
	s.Quantity = quantity
	return nil
}

// readSpec decodes the resource. It ignores the many other fields, but warns about fields that look like misspellings of these.
func readSpec(r *operator.Resource) (*spec, []string, error) {
	var whole struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	into := &clusterResource{}
	if err := json.Unmarshal(r.JSON, &whole); err != nil {
		if _, err := r.Decode(into); err != nil {
			return nil, nil, err
		}
		return nil, nil, err
	}
	if whole.Spec == nil {
		return nil, nil, errors.New("spec: Required value")
	}
	var warnings []string
	known := []string{"scale_profile", "scale_off", "scale_min", "scale_minimal", "scale", "pools", "targeting", "priority_classes", "scheduler"}
	for _, key := range slices.Sorted(maps.Keys(whole.Spec)) {
		if slices.Contains(known, key) {
			continue
		}
		if near := manifest.DidYouMean(key, known); near != "" {
			warnings = append(warnings, fmt.Sprintf("spec.%s decides about no pod%s", key, near))
		}
		delete(whole.Spec, key)
	}
	var problems []error
	decode := func(part, into any) {
		data, err := json.Marshal(map[string]any{"spec": part})
		if err != nil {
			problems = append(problems, err)
			return
		}
		unknown, err := manifest.DecodeResource(data, into)
		problems = append(problems, err)
		for _, warning := range unknown {
			if strings.Contains(warning, "did you mean") || strings.Contains(warning, `"spec.targeting`) {
				warnings = append(warnings, strings.TrimSuffix(warning, "; the API server would leave it out")+"; it has no effect here")
			}
		}
	}
	var custom struct {
		Spec struct {
			Scale struct {
				Profile map[string]map[string]scale `json:"profile"`
			} `json:"scale"`
		} `json:"spec"`
	}
	var scales map[string]json.RawMessage
	if json.Unmarshal(whole.Spec["scale"], &scales) == nil {
		if profiles, found := scales["profile"]; found {
			decode(map[string]any{"scale": map[string]any{"profile": profiles}}, &custom)
			delete(scales, "profile")
			rest, err := json.Marshal(scales)
			problems = append(problems, err)
			whole.Spec["scale"] = rest
		}
	}
	decode(whole.Spec, into)
	if err := errors.Join(problems...); err != nil {
		return nil, nil, err
	}
	into.Spec.profiles = custom.Spec.Scale.Profile
	return &into.Spec, append(warnings, warnNullRules(whole.Spec["targeting"])...), nil
}

// warnNullRules returns a warning for each rule that is null; the documentation does not mention null.
func warnNullRules(targeting json.RawMessage) []string {
	var selectors map[string]map[string]json.RawMessage
	if json.Unmarshal(targeting, &selectors) != nil {
		return nil // no targeting
	}
	var warnings []string
	for _, selector := range slices.Sorted(maps.Keys(selectors)) {
		for _, key := range slices.Sorted(maps.Keys(selectors[selector])) {
			if string(selectors[selector][key]) == "null" {
				warnings = append(warnings, fmt.Sprintf("spec.targeting[%s].%s: null is taken for not given; {} opts out", selector, key))
			}
		}
	}
	return warnings
}

// checkScale reports negative sizes, with their path in the resource rather than in the pods.
func checkScale(path string, sizes map[string]scale) error {
	var problems []error
	for _, service := range slices.Sorted(maps.Keys(sizes)) {
		given := sizes[service]
		for _, field := range []struct {
			name     string
			quantity *resource.Quantity
		}{{"cpu", given.CPU}, {"memory", given.Memory}, {"storage", given.Storage.quantity()}, {"data_storage", given.DataStorage.quantity()}} {
			if field.quantity != nil && field.quantity.Sign() < 0 {
				problems = append(problems, fmt.Errorf("%s[%s].%s: Invalid value: %q: must be greater than or equal to 0",
					path, service, field.name, field.quantity))
			}
		}
	}
	return errors.Join(problems...)
}

func (s *byteSize) quantity() *resource.Quantity {
	if s == nil {
		return nil
	}
	return &s.Quantity
}
