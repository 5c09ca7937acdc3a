package report_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/risk"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/golden"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/advice"
	"github.com/faultline/faultline/pkg/report/blast"
	"github.com/faultline/faultline/pkg/report/capacity"
	"github.com/faultline/faultline/pkg/report/compare"
	"github.com/faultline/faultline/pkg/report/consolidate"
	"github.com/faultline/faultline/pkg/report/diff"
	"github.com/faultline/faultline/pkg/report/drain"
	"github.com/faultline/faultline/pkg/report/explain"
	"github.com/faultline/faultline/pkg/report/gains"
	"github.com/faultline/faultline/pkg/report/lint"
	"github.com/faultline/faultline/pkg/report/makeroom"
	"github.com/faultline/faultline/pkg/report/outcome"
	"github.com/faultline/faultline/pkg/report/peak"
	"github.com/faultline/faultline/pkg/report/plan"
	"github.com/faultline/faultline/pkg/report/queue"
	"github.com/faultline/faultline/pkg/report/rebalance"
	"github.com/faultline/faultline/pkg/report/review"
	"github.com/faultline/faultline/pkg/report/roll"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/report/scale"
	"github.com/faultline/faultline/pkg/report/size"
	"github.com/faultline/faultline/pkg/report/sweep"
	"github.com/faultline/faultline/pkg/report/upgrade"
	"github.com/faultline/faultline/pkg/report/verify"
	"github.com/faultline/faultline/pkg/scenario"
)

// schemas has the schema's file for each kind of report.
var schemas = map[string]struct {
	model       any
	file, title string
}{
	run.Kind:         {&run.Report{}, "report", "Faultline report"},
	blast.Kind:       {&blast.Report{}, "blast-report", "Faultline report on failures"},
	drain.Kind:       {&drain.Report{}, "drain-report", "Faultline report on a drain"},
	roll.Kind:        {&roll.Report{}, "roll-report", "Faultline report on nodes that are replaced in turn"},
	consolidate.Kind: {&consolidate.Report{}, "consolidate-report", "Faultline report on nodes that can go"},
	rebalance.Kind:   {&rebalance.Report{}, "rebalance-report", "Faultline report on pods to delete so that others land better"},
	queue.Kind:       {&queue.Report{}, "queue-report", "Faultline report on when jobs are admitted"},
	diff.Kind:        {&diff.Report{}, "diff-report", "Faultline report on what differs between two others"},
	explain.Kind:     {&explain.Report{}, "explain-report", "Faultline report on why pods are where they are"},
	compare.Kind:     {&compare.Report{}, "compare-report", "Faultline report that sets variants side by side"},
	sweep.Kind:       {&sweep.Report{}, "sweep-report", "Faultline report on the points of a sweep"},
	peak.Kind:        {&peak.Report{}, "peak-report", "Faultline report on what breaks at the peak"},
	makeroom.Kind:    {&makeroom.Report{}, "make-room-report", "Faultline report on moves that make room"},
	plan.Kind:        {&plan.Report{}, "plan-report", "Faultline report on what to add so that losses strand nobody"},
	scale.Kind:       {&scale.Report{}, "scale-report", "Faultline report on the nodes that an autoscaler adds"},
	review.Kind:      {&review.Report{}, "review-report", "Faultline report that reviews a cluster"},
	size.Kind:        {&size.Report{}, "size-report", "Faultline report on how few nodes would do"},
	capacity.Kind:    {&capacity.Report{}, "capacity-report", "Faultline report on how much more fits"},
	gains.Kind:       {&gains.Report{}, "gains-report", "Faultline report on the best change of each workload"},
	outcome.Kind:     {&outcome.Report{}, "outcomes-report", "Faultline report on every outcome of a scenario"},
	verify.Kind:      {&verify.Report{}, "verify-report", "Faultline report on how true the simulation is to a cluster"},
	upgrade.Kind:     {&upgrade.Report{}, "upgrade-report", "Faultline report on what another release of Kubernetes changes"},
	lint.Kind:        {&lint.Report{}, "lint-report", "Faultline report on rules that do not do what they say"},
	advice.Kind:      {&advice.Report{}, "advice-report", "Faultline report on how the pods of a workload should keep apart"},
}

// nameOf returns the name of a type in a schema. A reader of the schema does not see packages, so that a Step of outcomes is an
// OutcomeStep.
func nameOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[cluster.Refusal]():
		return "NotCreated"
	case reflect.TypeFor[expect.Judged]():
		return "Expectation"
	case reflect.TypeFor[manifest.Place]():
		return "Source"
	case reflect.TypeFor[risk.Analysis]():
		return "Risk"
	case reflect.TypeFor[risk.Probability]():
		return "Probability"
	}
	folder, within := strings.CutPrefix(t.PkgPath(), "github.com/faultline/faultline/pkg/report/")
	if !within {
		folder, within = strings.CutPrefix(t.PkgPath(), "github.com/faultline/faultline/pkg/ask/")
		within = within && !slices.Contains([]string{"advice", "cronjob", "metric", "whatif"}, folder) // the types of these packages have long names
	}
	for kind, about := range schemas {
		if reflect.TypeOf(about.model).Elem() == t {
			return kind
		}
	}
	switch {
	case !within, folder == "diff", folder == "drain", folder == "explain", folder == "run",
		(folder == "blast" || folder == "outcome") && !slices.Contains([]string{"Level", "Placement", "Step"}, t.Name()):
		return t.Name()
	}
	return strings.ToUpper(folder[:1]) + folder[1:] + t.Name()
}

// reflected returns the schema of a model. Comments are keyed by package and name.
func reflected(kind string, comments map[string]string) *jsonschema.Schema {
	about := schemas[kind]
	reflector := jsonschema.Reflector{
		ExpandedStruct: true,
		Namer:          nameOf,
		LookupComment: func(t reflect.Type, field string) string {
			text := strings.Join(strings.Fields(comments[t.PkgPath()+"."+strings.TrimSuffix(t.Name()+"."+field, ".")]), " ")
			if rest, found := strings.CutPrefix(text, t.Name()+" "); found && field == "" {
				return nameOf(t) + " " + rest
			}
			return text
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[metav1.Time]() {
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			if t == reflect.TypeFor[scenario.Scalar]() {
				return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
			}
			return nil
		},
	}
	schema := reflector.Reflect(about.model)
	schema.ID = jsonschema.ID("https://github.com/faultline/faultline/blob/main/docs/" + about.file + ".schema.json")
	schema.Title = about.title
	schema.Properties.Value("apiVersion").Const = report.APIVersion
	schema.Properties.Value("kind").Const = kind
	return schema
}

// The files under docs are generated from the Go types of the models and their comments.
func TestSchemas(t *testing.T) {
	var reader jsonschema.Reflector
	for _, dir := range []string{".", "../ask", "../cluster", "../engine/placement", "../expect", "../federation", "../input/manifest", "../world"} {
		if err := reader.AddGoComments("github.com/faultline/faultline/pkg/report", dir, jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	for kind, about := range schemas {
		data, err := json.MarshalIndent(reflected(kind, reader.CommentMap), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "../../docs/"+about.file+".schema.json", string(data)+"\n")
		if !strings.Contains(string(data), `"description": "APIVersion is the version of this model, faultline/v1alpha1."`) {
			t.Errorf("%s has no comments", about.file)
		}
	}
}
