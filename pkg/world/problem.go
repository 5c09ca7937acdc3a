package world

import (
	"cmp"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/federation"
	"github.com/faultline/faultline/pkg/scenario"
)

// Problem is a part of a step that cannot be done.
type Problem struct {
	// Field is the field of the step, such as fail.names[0]; nil is the step as a whole.
	Field *field.Path
	// Err has a line for each thing that is wrong with the field.
	Err error
}

// Error returns the lines of Err.
func (p *Problem) Error() string { return p.Err.Error() }

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }

// Problems returns the problems that an error of [World] joins.
func Problems(err error) []*Problem {
	switch err := err.(type) { //nolint:errorlint // it goes through all that is joined, of which errors.As finds the first
	case nil:
		return nil
	case *Problem:
		return []*Problem{err}
	case interface{ Unwrap() []error }:
		var all []*Problem
		for _, one := range err.Unwrap() {
			all = append(all, Problems(one)...)
		}
		return all
	}
	return []*Problem{{Err: err}}
}

// MissingError is the error that nothing has the name at this step.
type MissingError struct {
	Ref cluster.Ref
	// Argument is the name as a command takes it. For a node or a cluster it is empty, and Among lists the names that exist.
	Argument string
	Among    []string
}

// Error says that the target is not there or, for a node or a cluster, which names exist.
func (m *MissingError) Error() string {
	switch {
	case m.Argument != "":
		return m.Argument + " is not there at this step"
	case m.Ref.Kind == federation.KindCluster:
		return fmt.Sprintf("there is no cluster %q; %s", m.Ref.Name, scenario.ListChoices(m.Ref.Name, m.Among))
	}
	return fmt.Sprintf("there is no %s; %s", m.Ref.Describe(), scenario.ListChoices(m.Ref.Name, m.Among))
}

// findTarget returns the object that the target names. Its kind is one of kinds, if any are given. The target may also be an unknown owner.
func findTarget(state *cluster.State, path *field.Path, target scenario.Target, kinds ...string) (cluster.Object, error) {
	for _, owner := range state.UnknownOwners {
		if of := cluster.RefTo(owner); of.Namespace == cmp.Or(target.Namespace, v1.NamespaceDefault) && strings.EqualFold(of.String(), target.Target) {
			return owner, nil
		}
	}
	if r := findResource(state, target); r != nil && len(kinds) == 0 {
		return r, nil
	}
	wanted, err := target.RefOfKind(kinds...)
	if err != nil {
		return nil, &Problem{path, err}
	}
	if obj := cluster.Find(state.Objects(), wanted); obj != nil {
		return obj, nil
	}
	return nil, &Problem{path, &MissingError{Ref: wanted, Argument: target.Argument()}}
}

// findResource returns the custom resource that the target names; nil if there is none.
func findResource(state *cluster.State, target scenario.Target) *cluster.CustomResource {
	for _, r := range state.CustomResources {
		if target.NamesResource(r.GetAPIVersion(), r.GetKind(), r.GetNamespace(), r.GetName()) {
			return r
		}
	}
	return nil
}
