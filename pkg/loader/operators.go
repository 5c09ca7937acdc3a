package loader

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/input/operator/flink"
	"github.com/faultline/faultline/pkg/input/operator/generic"
	"github.com/faultline/faultline/pkg/input/operator/hydrolix"
	"github.com/faultline/faultline/pkg/input/operator/kafscale"
	"github.com/faultline/faultline/pkg/input/operator/keda"
	"github.com/faultline/faultline/pkg/input/operator/stackable"
	"github.com/faultline/faultline/pkg/scenario"
)

// OperatorOptions are the settings of the operators, besides their resources.
type OperatorOptions struct {
	KafScale  kafscale.Options
	Stackable stackable.Options
	Hydrolix  hydrolix.Options
	// Custom are the rules that expand resources of kinds that no operator knows.
	Custom []generic.Rule
}

// knownOperators returns all known operators. A new operator has its package below pkg/input/operator, and a line here; see docs/operators.md.
func knownOperators(opts OperatorOptions) []operator.Operator {
	known := codedOperators(opts)
	for _, rule := range opts.Custom { // before the built-in rules, which they can replace
		known = append(known, generic.New(rule))
	}
	return append(known, generic.BuiltIn()...)
}

// codedOperators returns the operators that are written in Go, not as rules.
func codedOperators(opts OperatorOptions) []operator.Operator {
	return []operator.Operator{
		kafscale.New(opts.KafScale),
		stackable.New(opts.Stackable),
		hydrolix.New(opts.Hydrolix),
		flink.New(),
		keda.New(),
	}
}

// Expand reads files, and expands the custom resources in them. The result has the objects of the operators' charts, then the objects that
// operators make of the custom resources. The other return value has the other objects of the files. "-" is the given standard input. The
// flaws of a dump are notes, or errors if strict is set. The error lists all problems, a line each.
func Expand(stdin io.Reader, files []string, opts OperatorOptions, strict bool) (*operator.Result, []manifest.Object, error) {
	if err := opts.KafScale.Validate(); err != nil {
		return nil, nil, err
	}
	set := &manifest.Set{}
	if len(files) > 0 {
		var err error
		if set, err = manifest.Read(stdin, files...); err != nil {
			return nil, nil, err
		}
	}
	if strict {
		if err := set.Strict(); err != nil {
			return nil, nil, err
		}
	}
	all := knownOperators(opts)
	installed, err := operator.Install(all)
	if err != nil {
		return nil, nil, err
	}
	expanded, err := operator.Expand(all, set.Ignored)
	if err != nil {
		return nil, nil, err
	}
	if strict && len(expanded.Flaws) > 0 {
		return nil, nil, errors.New(expanded.Flaws[0].Error())
	}
	return &operator.Result{
		Objects: slices.Concat(installed.Objects, expanded.Objects), Made: slices.Concat(installed.Made, expanded.Made),
		Notes: slices.Concat(noteFlaws(slices.Concat(set.Flaws, set.Older, expanded.Flaws)), noteSkipped(set), installed.Notes, expanded.Notes), Ignored: expanded.Ignored,
	}, set.Objects, nil
}

// mergeOperatorOptions merges the operators' options of the file into those of the command line, which win.
func (l *loader) mergeOperatorOptions(given *scenario.Operators) {
	l.opts.Operators.KafScale = l.readKafScaleOptions(given.KafScale).OverriddenBy(l.opts.Operators.KafScale)
	if err := l.opts.Operators.KafScale.Validate(); err != nil {
		l.reportLines(err)
		l.incomplete = true
		l.opts.Operators.KafScale = kafscale.Options{} // so that the problem is reported once
	}
	l.opts.Operators.Stackable.ADR = l.opts.Operators.Stackable.ADR || given.Stackable.ADR
	l.readHydrolixProfile(given.Hydrolix)
}

// readKafScaleOptions returns the KafScale options of the file. Without any option, the release kafscale stands for the chart with its defaults.
func (l *loader) readKafScaleOptions(given *scenario.KafScale) kafscale.Options {
	if given == nil {
		return kafscale.Options{}
	}
	path := field.NewPath("operators", "kafscale")
	opts := kafscale.Options{Release: given.Release, Namespace: given.Namespace, Revision: kafscale.Revision(given.Revision)}
	if given.Revision != "" && !slices.Contains(kafscale.Revisions, opts.Revision) {
		l.problems.Add(path.Child("revision"), "%q is not a revision; use before, drifted or fixed", given.Revision)
	}
	if given.Values != "" {
		if file, data, ok := l.readNamedFile(path.Child("values"), given.Values); ok {
			opts.Values = append(opts.Values, kafscale.Document{Name: file, Data: data})
		}
	}
	if given.ValuesInline != nil {
		opts.Values = append(opts.Values, kafscale.Document{Name: fmt.Sprintf("%s: %s", l.problems.File, path.Child("valuesInline")), Data: given.ValuesInline.Raw})
	}
	if given.Release == "" && given.Namespace == "" && given.Revision == "" && len(opts.Values) == 0 {
		opts.Release = "kafscale" // the chart with its defaults
	}
	return opts
}

// readHydrolixProfile reads the profile that the scenario names. A profile of the command line wins over it.
func (l *loader) readHydrolixProfile(given *scenario.HydrolixOptions) {
	if given == nil || given.Profile == "" {
		return
	}
	file, data, ok := l.readNamedFile(field.NewPath("operators", "hydrolix", "profile"), given.Profile)
	if !ok {
		return
	}
	profile, err := hydrolix.ReadProfile(file, data)
	if err != nil {
		l.problems.AddErrors(err)
		return
	}
	if l.opts.Operators.Hydrolix.Profile == nil {
		l.opts.Operators.Hydrolix.Profile = profile
	}
}

// installOperators returns the objects of the operators' own charts.
func (l *loader) installOperators() []cluster.Object {
	return l.keepOperatorResult(operator.Install(knownOperators(l.opts.Operators)))
}

// keepOperatorResult returns the objects that operators made, and keeps their notes, places and ignored resources. An error is reported line by line.
func (l *loader) keepOperatorResult(result *operator.Result, err error) []cluster.Object {
	if err != nil {
		l.reportLines(err)
		l.incomplete = true
		return nil
	}
	l.ignored = append(l.ignored, result.Ignored...)
	for _, flaw := range result.Flaws {
		if l.flaws = append(l.flaws, flaw); l.opts.Strict {
			l.problems.AddErrors(errors.New(flaw.Error()))
		}
	}
	l.notes = append(l.notes, result.Notes...)
	var objects []cluster.Object
	for _, obj := range result.Objects {
		if obj.Source.Line > 0 { // objects of a chart are in no file
			l.recordSource(obj.Object, obj.Source)
		}
		if obj.PodGroup != "" {
			l.ignoredPodGroups = append(l.ignoredPodGroups, namespacedName(obj.GetNamespace(), obj.PodGroup))
		}
		objects = append(objects, obj.Object)
	}
	return objects
}

// reportLines reports each line of an error as a problem. Each line names its own place.
func (l *loader) reportLines(err error) {
	for line := range strings.Lines(err.Error()) {
		l.problems.AddErrors(errors.New(strings.TrimSpace(line)))
	}
}
