package scenario

import (
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/manifest"
	"github.com/faultline/faultline/pkg/operator"
	"github.com/faultline/faultline/pkg/operator/generic"
	"github.com/faultline/faultline/pkg/operator/hydrolix"
	"github.com/faultline/faultline/pkg/operator/kafscale"
	"github.com/faultline/faultline/pkg/operator/stackable"
)

// OperatorOptions are what operators are given besides their resources.
type OperatorOptions struct {
	KafScale  kafscale.Options
	Stackable stackable.Options
	Hydrolix  hydrolix.Options
	// Custom are the rules for resources of kinds that no operator knows.
	Custom []generic.Rule
}

// operators are all that are known. A new one has its package below pkg/operator, and a line here; see docs/operators.md.
func operators(opts OperatorOptions) []operator.Operator {
	known := []operator.Operator{
		kafscale.New(opts.KafScale),
		stackable.New(opts.Stackable),
		hydrolix.New(opts.Hydrolix),
	}
	for _, rule := range opts.Custom {
		known = append(known, generic.New(rule))
	}
	return known
}

// expand returns what operators make of the custom resources that were read, and keeps the others as ignored.
func (l *loader) expand(ignored []manifest.Ignored) []cluster.Object {
	return l.made(operator.Expand(operators(l.opts.Operators), ignored))
}

// install returns what the operators' own charts bring along.
func (l *loader) install() []cluster.Object {
	return l.made(operator.Install(operators(l.opts.Operators)))
}

func (l *loader) made(result *operator.Result, err error) []cluster.Object {
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			l.problems = append(l.problems, errorLine(strings.TrimSpace(line)))
		}
		l.incomplete = true
		return nil
	}
	l.ignored = append(l.ignored, result.Ignored...)
	l.notes = append(l.notes, result.Notes...)
	var objects []cluster.Object
	for _, obj := range result.Objects {
		l.locate(obj.Object, obj.Source)
		objects = append(objects, obj.Object)
	}
	return objects
}

// errorLine is a problem that names its place by itself.
type errorLine string

func (e errorLine) Error() string { return string(e) }
