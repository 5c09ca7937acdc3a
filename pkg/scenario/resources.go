package scenario

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// reading is what one source holds, before operators expand the custom resources in it; or the patch of a step.
type reading struct {
	objects   []cluster.Object
	resources []manifest.Ignored
	patch     *Patch
}

// readings are what all sources hold. Custom resources refer to each other whatever source they are in, so that none is expanded before all
// of its time are read.
type readings struct {
	cluster, workloads, steps []reading
}

// holds tells whether the target is a custom resource.
func (r *readings) holds(target Target) bool {
	for _, read := range slices.Concat(r.cluster, r.workloads, r.steps) {
		if slices.ContainsFunc(read.resources, func(resource manifest.Ignored) bool { return isResource(target, resource) }) {
			return true
		}
	}
	return false
}

// isResource tells whether the target names the resource, as kubectl does: kafkacluster/main, or kafkaclusters.kafka.stackable.tech/main.
func isResource(target Target, resource manifest.Ignored) bool {
	word, name, found := strings.Cut(target.Target, "/")
	kind, group, _ := strings.Cut(strings.ToLower(word), ".")
	ofGroup, _, _ := strings.Cut(resource.APIVersion, "/")
	own := strings.ToLower(resource.Kind)
	return found && resource.JSON != nil && name == resource.Name && (kind == own || kind == own+"s") && (group == "" || group == ofGroup) &&
		cmp.Or(target.Namespace, v1.NamespaceDefault) == cmp.Or(resource.Namespace, v1.NamespaceDefault)
}

// expander follows the custom resources through the steps.
type expander struct {
	*loader
	operators []operator.Operator
	known     []manifest.Ignored             // as they are by now
	made      map[cluster.Ref]cluster.Object // what operators have made of them
}

// assemble gives the scenario the objects that were read, with what operators make of the custom resources. Each step has besides its own
// what operators change in that moment of the resources that are there already.
func (l *loader) assemble(s *Scenario) {
	l.given = &s.read
	e := &expander{loader: l, operators: operators(l.opts.Operators), made: map[cluster.Ref]cluster.Object{}}
	e.learn(s.read.cluster)
	ofCluster := slices.Clone(e.known)
	e.learn(s.read.workloads)
	l.reading = ""
	s.Cluster = e.expand(s.read.cluster)
	l.reading = WorkloadsStep
	s.Workloads = e.expand(s.read.workloads)
	for i := range s.read.steps {
		step, read := &s.Steps[i], s.read.steps[i]
		l.reading = step.Name
		if step.Fresh {
			e.known = slices.Clone(ofCluster)
		}
		if read.patch != nil {
			e.patch(l.stepPath(i).Child("patch"), step, read.patch)
			continue
		}
		if step.Delete != nil {
			step.Objects = e.expand([]reading{read})
			e.known = slices.DeleteFunc(e.known, func(k manifest.Ignored) bool {
				return slices.ContainsFunc(read.resources, func(r manifest.Ignored) bool { return operator.Name(r) == operator.Name(k) })
			})
			continue
		}
		e.learn([]reading{read})
		step.Objects = e.expand([]reading{read})
		if slices.ContainsFunc(read.resources, e.knows) {
			step.Objects = append(step.Objects, e.again()...)
		}
	}
}

func (e *expander) knows(resource manifest.Ignored) bool {
	return operator.Knows(e.operators, resource)
}

// learn takes the resources that are applied, in place of what they were before.
func (e *expander) learn(given []reading) {
	at := map[string]int{}
	for i := range e.known {
		at[operator.Name(e.known[i])] = i
	}
	for _, read := range given {
		for _, resource := range read.resources {
			name := operator.Name(resource)
			if i, found := at[name]; found {
				e.known[i] = resource
				continue
			}
			at[name] = len(e.known)
			e.known = append(e.known, resource)
		}
	}
}

// expand returns the objects of the readings, each with what operators make of its custom resources, and keeps the others as ignored. What was
// read beside them stays as it is: a dump has the resource and what its operator has made of it, with the pods that belong to it.
func (e *expander) expand(given []reading) []cluster.Object {
	var all []cluster.Object
	for _, read := range given {
		there := map[cluster.Ref]bool{}
		for _, obj := range read.objects {
			there[cluster.RefTo(obj)] = true
		}
		all = append(all, read.objects...)
		for _, obj := range e.loader.made(operator.Expand(e.operators, read.resources, e.known...)) {
			e.made[cluster.RefTo(obj)] = obj
			if !there[cluster.RefTo(obj)] {
				all = append(all, obj)
			}
		}
	}
	return all
}

// again returns what operators now make otherwise of the resources that are there.
func (e *expander) again() []cluster.Object {
	known := slices.DeleteFunc(slices.Clone(e.known), func(resource manifest.Ignored) bool { return !e.knows(resource) })
	var all []cluster.Object
	for _, obj := range e.loader.made(operator.Expand(e.operators, known)) {
		if before := e.made[cluster.RefTo(obj)]; before == nil || !equality.Semantic.DeepEqual(before, obj) {
			e.made[cluster.RefTo(obj)] = obj
			all = append(all, obj)
		}
	}
	return all
}

// patch makes of the patch of a custom resource a step that applies what its operator then makes.
func (e *expander) patch(path *field.Path, step *LoadedStep, patch *Patch) {
	i := slices.IndexFunc(e.known, func(resource manifest.Ignored) bool { return e.knows(resource) && isResource(patch.Target, resource) })
	if i < 0 {
		return // of an object
	}
	e.shapeOfPatch(path, patch)
	patched, err := patch.applyTo(e.known[i])
	if err != nil {
		e.problem(path.Child("patch"), "%s", err)
		e.incomplete = true
		return
	}
	e.known[i] = patched
	var compact bytes.Buffer
	_ = json.Compact(&compact, patch.Patch.Raw) // it has been decoded, so it is JSON
	step.Action = fmt.Sprintf("patch %s -p '%s'", patch.Target.Target, compact.String())
	step.Objects, step.Patch, step.Apply = e.again(), nil, &Source{}
}

// applyTo returns the custom resource as it is after the patch.
func (p *Patch) applyTo(resource manifest.Ignored) (manifest.Ignored, error) {
	after, err := p.bytes(resource.JSON)
	if err != nil {
		return resource, fmt.Errorf("the patch does not fit %s: %w", operator.Name(resource), err)
	}
	patched := resource
	patched.JSON = after
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(after, &head); err != nil || head.Kind != resource.Kind || head.Metadata.Name != resource.Name || head.Metadata.Namespace != resource.Namespace {
		return resource, errors.New("the patch makes another object of " + operator.Name(resource) + "; kind, namespace and name cannot change")
	}
	return patched, nil
}

func (p *Patch) bytes(before []byte) ([]byte, error) {
	if p.Type != "json" {
		return jsonpatch.MergePatch(before, p.Patch.Raw)
	}
	operations, err := jsonpatch.DecodePatch(p.Patch.Raw)
	if err != nil {
		return nil, err
	}
	return operations.Apply(before)
}

// patchResources patches the custom resources among the targets, wherever the scenario has them, and has their operators make everything
// anew.
func (l *loader) patchResources(varied *LoadedVariant, patches []Patch) {
	s := varied.Scenario
	next, touched := readings{}, false
	for _, part := range []struct{ from, to *[]reading }{{&s.read.cluster, &next.cluster}, {&s.read.workloads, &next.workloads}, {&s.read.steps, &next.steps}} {
		for _, read := range *part.from {
			read.resources = slices.Clone(read.resources)
			for j := range read.resources {
				for i := range patches {
					if !isResource(patches[i].Target, read.resources[j]) {
						continue
					}
					touched = true
					patched, err := patches[i].applyTo(read.resources[j])
					if err != nil {
						l.problem(field.NewPath("patches").Index(i).Child("patch"), "%s", err)
						continue
					}
					read.resources[j] = patched
				}
			}
			*part.to = append(*part.to, read)
		}
	}
	if !touched {
		return
	}
	before := map[cluster.Ref]cluster.Object{}
	for _, obj := range s.objects() {
		before[cluster.RefTo(obj)] = obj
	}
	s.read, s.Steps = next, slices.Clone(s.Steps)
	l.assemble(s)
	l.dump(s)
	for _, obj := range s.objects() {
		if was := before[cluster.RefTo(obj)]; was == nil || was == obj || equality.Semantic.DeepEqual(was, obj) {
			continue
		}
		owner := cluster.RefTo(obj)
		varied.about(owner)
		*s = *s.unplace(owner)
	}
}
