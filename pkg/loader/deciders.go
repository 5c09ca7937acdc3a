package loader

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/decider"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
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
		d.Timeout = l.opts.Deciders.Timeout
		if _, err := os.Stat(l.dir); err == nil { // an embedded scenario has no folder
			d.Dir = l.dir
		}
		s.Deciders = append(s.Deciders, d)
	}
}

// keptResource is a custom resource that a decider may read, with its place.
type keptResource struct {
	*cluster.CustomResource
	source manifest.Source
	// inDump: the cluster has accepted it.
	inDump bool
}

// keepResources turns the custom resources that no operator expands into objects, which the deciders read.
func (l *loader) keepResources(r *scenarioContent, expands func(manifest.Ignored) bool) {
	for _, all := range [][]sourceContent{r.cluster, r.workloads, r.steps} {
		for i := range all {
			var rest []manifest.Ignored
			for _, resource := range all[i].resources {
				if kept := newCustomResource(resource); kept != nil && !expands(resource) {
					all[i].objects = append(all[i].objects, kept)
					l.kept = append(l.kept, keptResource{kept, resource.Source, resource.ResourceVersion != ""})
				} else {
					rest = append(rest, resource)
				}
			}
			all[i].resources = rest
		}
	}
}

// checkResources reports what the deciders refuse of their own resources, with the line of each. It does not report it of a resource in a dump,
// which the cluster has accepted.
func (l *loader) checkResources(s *scenario.Scenario) {
	if len(l.kept) == 0 || l.incomplete || s.Config == nil {
		return
	}
	documents := map[string][]*manifest.Lines{}
	for i := range s.Deciders {
		if err := l.checkResourcesBy(&s.Deciders[i], s.Config.Release().String(), documents); err != nil {
			l.problems.Add(field.NewPath("deciders").Index(i), "%s", err)
		}
	}
}

// checkResourcesBy does what checkResources does, by one decider. documents has the lines of the files that were looked up already.
func (l *loader) checkResourcesBy(d *scenario.Decider, release string, documents map[string][]*manifest.Lines) error {
	program, err := decider.Start(d.Start(), release)
	if err != nil {
		return err
	}
	defer program.Close()
	own := list.Where(l.kept, func(k keptResource) bool { return program.Owns(k.CustomResource) && !k.inDump })
	if len(own) == 0 {
		return nil
	}
	_, problems, err := program.Admit(l.ctx, list.Map(own, func(k keptResource) cluster.Object { return k.CustomResource }))
	for i := range problems {
		of := own[problems[i].Index]
		file := of.source.File
		if _, known := documents[file]; !known {
			if data, err := manifest.ReadFile(l.fsys, nil, file); err == nil {
				documents[file] = manifest.DocumentLines(data)
			}
		}
		l.problems.AddErrors(fmt.Errorf("%s: line %d: %s", file, of.source.LineOf(documents[file], problems[i].Field), problems[i].Describe(of.CustomResource)))
	}
	return err
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
