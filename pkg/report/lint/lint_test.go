package lint

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
)

// aLint returns a report with findings of every severity, about two objects, and hostile texts.
func aLint(name string) *Report {
	finding := func(check string, severity lint.Severity, kind, field string) lint.Finding {
		return lint.Finding{Check: check, Severity: severity, Object: lint.Object{Namespace: "shop", Kind: kind, Name: name}, Field: field, Step: "workloads",
			Source:  &manifest.Source{File: name + ".yaml", Line: 12, Document: 2},
			Message: "the rule selects app=" + name, Fix: "select app=web", Page: lint.Page(check)}
	}
	made := finding("selector-drift", lint.Error, "StatefulSet", "spec.template.spec.affinity")
	made.ExpandedFrom, made.Source = "KafscaleCluster shop/"+name, nil
	return &Report{
		Head:    report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream", Scenario: "shop", Cluster: report.Cluster{Nodes: 3}, Notes: []string{"A note."}},
		Summary: Summary{Errors: 1, Warnings: 1, Notes: 1},
		Result: lint.Result{Findings: []lint.Finding{
			finding("selector-drift", lint.Warning, "Deployment", "spec.template.spec.affinity"), finding("outvoted", lint.Note, "Deployment", "spec.template.spec.affinity"), made,
		},
			IgnoredFindings: []lint.Ignored{{Finding: finding("rollout-deadlock", lint.Error, "Deployment", "spec.strategy"), Reason: "nodes are added by " + name}},
			Checks:          lint.Checks(),
		},
	}
}

func lintIn(t *testing.T, r *Report, format string, opts report.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Formats.Write(&out, r, format, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteLint(t *testing.T) {
	r := aLint("web")
	reporttest.Golden(t, "mixed.text", lintIn(t, r, "text", report.Options{}))
	reporttest.Golden(t, "mixed.all", lintIn(t, r, "text", report.Options{All: true}))
	reporttest.Golden(t, "mixed.sarif", lintIn(t, r, "sarif", report.Options{}))
	reporttest.Golden(t, "mixed.quiet", lintIn(t, r, "text", report.Options{Quiet: true}))
	if color := lintIn(t, r, "text", report.Options{Color: true}); !strings.Contains(color, "\x1b[31merror\x1b[0m") || !strings.Contains(color, "\x1b[33mwarning\x1b[0m") {
		t.Errorf("severities have no colour:\n%q", color)
	}
	schema := reporttest.Schema(t, "lint-report")
	least := &Report{Head: report.Head{APIVersion: report.APIVersion, Kind: Kind, Ties: "upstream"}}
	for name, r := range map[string]*Report{"mixed": r, "least": least} {
		if err := reporttest.Validate(t, schema, lintIn(t, r, "json", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := reporttest.Validate(t, reporttest.SARIF(t), lintIn(t, r, "sarif", report.Options{})); err != nil {
			t.Errorf("%s as SARIF: %v", name, err)
		}
	}
	if err := Formats.Write(new(bytes.Buffer), r, "wide", report.Options{}); err == nil || err.Error() != `unknown output format "wide"; use one of text, json, yaml, markdown, html, sarif, github, gitlab` {
		t.Errorf("wide: %v", err)
	}
}

// What comes from elsewhere drives no terminal and makes no link.
// Many findings are counted by check, the severest first, and one of each is shown.
func TestLintMany(t *testing.T) {
	r := aLint("web")
	for i := range maxListed {
		f := r.Findings[1]
		f.Name = fmt.Sprintf("app-%d", i)
		r.Findings = append(r.Findings, f)
	}
	r.Summary.Notes += maxListed
	reporttest.Golden(t, "many.text", lintIn(t, r, "text", report.Options{Width: 100}))
	if all := lintIn(t, r, "text", report.Options{All: true}); !strings.Contains(all, "app-9") || strings.Contains(all, "--all") {
		t.Errorf("--all does not list all:\n%s", all)
	}
}

func TestLintHostile(t *testing.T) {
	const hostile = "\x1b[31m](evil)\n# h"
	for _, format := range Formats.Names() {
		if out := lintIn(t, aLint(hostile), format, report.Options{All: true}); strings.ContainsRune(out, '\x1b') || strings.Contains(out, "\n# h") {
			t.Errorf("%s lets control characters through:\n%s", format, out)
		}
	}
}

// The first line names the workloads with Pending pods, also if the checks find nothing.
func TestPending(t *testing.T) {
	waiting := func(name string) lint.Pending {
		return lint.Pending{Object: lint.Object{Namespace: "shop", Kind: "Deployment", Name: name}, Pods: 1, Wanted: 3, Why: "no node has pool=db"}
	}
	for want, r := range map[string]Report{
		"0 checks found nothing.": {},
		"0 checks found nothing; Pending: shop/deployment/a (1 of 3 pods, no node has pool=db).": {Result: lint.Result{Pending: []lint.Pending{waiting("a")}}},
		"0 checks found nothing; Pending: shop/deployment/a (1 of 3 pods, no node has pool=db), shop/deployment/b (1 of 3 pods, no node has pool=db), " +
			"shop/deployment/c (1 of 3 pods, no node has pool=db) and 1 more workload.": {Result: lint.Result{Pending: []lint.Pending{waiting("a"), waiting("b"), waiting("c"), waiting("d")}}},
	} {
		if got := r.verdict().Text; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestLintFails(t *testing.T) {
	of := func(severities ...lint.Severity) *Report {
		r := &Report{}
		for _, severity := range severities {
			r.Findings = append(r.Findings, lint.Finding{Severity: severity})
		}
		return r
	}
	for _, c := range []struct {
		r    *Report
		on   string
		want bool
	}{
		{of("error"), "error", true}, {of("warning", "note"), "error", false}, {of("note", "warning"), "warning", true}, {of("error"), "warning", true},
		{of("note"), "warning", false}, {of("note"), "note", true}, {of(), "note", false}, {of("error"), "none", false},
	} {
		if got := c.r.Fails(c.on); got != c.want {
			t.Errorf("%v fails on %s: %t", c.r.Findings, c.on, got)
		}
	}
}

// A scenario applies one Deployment in three steps. Steps b and c had the finding before; of a, the message is new. Then b's has another
// message, too, and is b's in another number, not a new one.
func TestKnownFindings(t *testing.T) {
	finding := func(message string) lint.Finding {
		return lint.Finding{Check: "more-replicas-than-domains", Severity: lint.Error, Object: lint.Object{Namespace: "shop", Kind: "Deployment", Name: "web"}, Field: "spec.rules[0]", Message: message}
	}
	old := &Report{Result: lint.Result{Findings: []lint.Finding{finding("1 of 3 stays Pending"), finding("1 of 4 stays Pending")}}}
	for name, test := range map[string]struct{ found, isNew []string }{
		"one more":              {[]string{"27 of 30 stay Pending", "1 of 3 stays Pending", "1 of 4 stays Pending"}, []string{"27 of 30 stay Pending"}},
		"another number":        {[]string{"1 of 3 stays Pending", "2 of 5 stay Pending"}, nil},
		"one more, and another": {[]string{"2 of 5 stay Pending", "1 of 3 stays Pending", "27 of 30 stay Pending"}, []string{"27 of 30 stay Pending"}},
		"fewer":                 {[]string{"1 of 4 stays Pending"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Result: lint.Result{Findings: list.Map(test.found, finding)}}
			r.SetKnown(old)
			got := list.Map(r.Findings, func(f lint.Finding) string { return f.Message })
			if diff := cmp.Diff(test.isNew, got); diff != "" {
				t.Error(diff)
			}
			if known := len(r.KnownFindings); known != len(test.found)-len(test.isNew) || r.Summary.Errors != len(test.isNew) {
				t.Errorf("%d are known, and %d errors counted", known, r.Summary.Errors)
			}
		})
	}
}
