package loader

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/decider"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
)

// Deciders says which programs may decide beside the scheduler. Without it, a scenario that names a decider is refused, since it would start a
// program.
type Deciders struct {
	// Commands are the programs of deciders by their names, in place of the installed ones.
	Commands map[string][]string
	// Timeout limits each answer of a decider.
	Timeout time.Duration
}

// Command returns the program of the decider: the given one, or else the installed one.
func (d *Deciders) Command(name string) ([]string, error) {
	if command := d.Commands[name]; command != nil {
		return command, nil
	}
	program, err := decider.Find(name)
	return []string{program}, err
}

// findDeciders finds the programs of the scenario's deciders.
func (l *loader) findDeciders(s *scenario.Scenario, given []scenario.Decider) {
	for i, d := range given {
		path := field.NewPath("deciders").Index(i)
		if !d.HasValidName() || slices.ContainsFunc(given[:i], func(other scenario.Decider) bool { return other.Name == d.Name }) {
			continue // validation reports it
		}
		if l.opts.Deciders == nil {
			l.problems.Add(path, "%q would start a program, which only the command line does", d.Name)
			continue
		}
		var err error
		if d.Command, err = l.opts.Deciders.Command(d.Name); err != nil {
			l.problems.Add(path.Child("name"), "%s", err)
			continue
		}
		d.Dir, d.Timeout = l.dir, l.opts.Deciders.Timeout
		s.Deciders = append(s.Deciders, d)
	}
}

// keepResources turns the custom resources that no operator expands into objects, which the deciders read.
func (r *scenarioContent) keepResources(expands func(manifest.Ignored) bool) {
	for _, all := range [][]sourceContent{r.cluster, r.workloads, r.steps} {
		for i := range all {
			var rest []manifest.Ignored
			for _, resource := range all[i].resources {
				if kept := newCustomResource(resource); kept != nil && !expands(resource) {
					all[i].objects = append(all[i].objects, kept)
				} else {
					rest = append(rest, resource)
				}
			}
			all[i].resources = rest
		}
	}
}

// newCustomResource returns the resource as an object; nil if it is of one of Kubernetes' own kinds.
func newCustomResource(resource manifest.Ignored) *cluster.CustomResource {
	kept := &cluster.CustomResource{Unstructured: unstructured.Unstructured{Object: map[string]any{}}}
	if resource.JSON == nil || isKubernetes(resource) || json.Unmarshal(resource.JSON, &kept.Object) != nil {
		return nil
	}
	kept.SetManagedFields(nil)
	kept.SetResourceVersion("")
	return kept
}

// isKubernetes reports whether the resource is of a kind that every cluster has.
func isKubernetes(resource manifest.Ignored) bool {
	switch resource.Kind {
	case "ConfigMap", "Event", "CustomResourceDefinition", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		return true
	}
	return false
}
