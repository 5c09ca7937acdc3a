package page

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// markup writes HTML. html/template would do, but a program that runs templates keeps every method of every type, since a template could
// name it: that would add 40 MB to this program.
type markup struct{ io.Writer }

// raw is text of the page itself, which is not escaped.
type raw string

// writef writes the format with its values. It escapes each value for text between tags or in a quoted attribute, except raw ones.
func (m markup) writef(format string, values ...any) {
	for i, value := range values {
		if own, ok := value.(raw); ok {
			values[i] = string(own)
		} else {
			values[i] = html.EscapeString(fmt.Sprint(value))
		}
	}
	fmt.Fprintf(m, format, values...)
}

// head writes the beginning of a page. Its policy allows the page's style, inline pictures, and the sources in allowed.
func (m markup) head(h report.Head, title, allowed string) {
	policy := fmt.Sprintf("default-src 'none'; style-src %s; %simg-src data:; base-uri 'none'; form-action 'none'", sourceHash(pageStyle), allowed)
	m.writef(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%v">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Faultline %v">
<title>%v · Faultline</title>
<link rel="icon" href="data:,">
<style>%v</style>
</head>
<body>
`, policy, h.Version, title, raw(pageStyle))
}

// brand is the name of the program.
const brand = raw(`<p class="brand"><span aria-hidden="true">◩</span> Faultline</p>`)

// outcomeSigns are the signs before the verdict, by outcome.
var outcomeSigns = map[string]raw{
	"met":    `<span class="sign" aria-hidden="true">✓</span> `,
	"failed": `<span class="sign" aria-hidden="true">✕</span> `,
}

// about writes the title, the verdict, and the facts about cluster and scheduler.
func (m markup) about(h report.Head, title, verdict, outcome string) {
	m.writef("<h1>%v</h1>\n", title)
	if h.Description != "" {
		m.writef("<p class=\"lead\">%v</p>\n", h.Description)
	}
	if h.Partial != "" {
		m.writef("<p class=\"lead\">Partial: %v</p>\n", h.Partial)
	}
	m.writef("<p class=\"verdict %v\" id=\"verdict\">%v<span>%v</span></p>\n<dl class=\"facts\">\n", outcome, outcomeSigns[outcome], verdict)
	if h.Cluster.Nodes > 0 {
		m.fact("Cluster", doc.ClusterLine(h.Cluster))
	}
	if h.Scheduler.Version != "" {
		m.fact("Scheduler", doc.SchedulerLine(h))
	}
	if gates := h.Scheduler.FeatureGates; len(gates) > 0 {
		m.fact("Feature gates", strings.Join(gates, ", "))
	}
	if h.Ties != "" && h.Ties != "upstream" {
		m.fact("Ties", doc.Ties(h))
	}
	m.writef("</dl>\n")
}

func (m markup) fact(name, value string) {
	m.writef("<div><dt>%v</dt><dd>%v</dd></div>\n", name, value)
}

// footer returns the last lines of a page, which say what has made it.
func footer(h report.Head, loads string) raw {
	by := ""
	if h.Scheduler.Version != "" {
		by = fmt.Sprintf("Placed by the plugins of kube-scheduler %s, in memory, by Faultline %s. ", h.Scheduler.Version, h.Version)
	}
	return raw("<footer><p>" + html.EscapeString(by+loads) + "</p></footer>\n")
}
