package page

import (
	"fmt"
	"html"
	"io"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/words"
)

// markup is HTML in the making. html/template would do as well, but a program that runs templates keeps every method of every type,
// since a template could name it: 40 MB of this one.
type markup struct{ io.Writer }

// raw is the page's own text, which stands in it as it is.
type raw string

// add writes the format with its values, each %v for text between tags or in a quoted attribute.
func (m markup) add(format string, values ...any) {
	for i, value := range values {
		if own, ok := value.(raw); ok {
			values[i] = string(own)
		} else {
			values[i] = html.EscapeString(fmt.Sprint(value))
		}
	}
	fmt.Fprintf(m, format, values...)
}

// head begins a page. It allows the page its style and pictures in itself, and what else is given.
func (m markup) head(h report.Head, title, allowed string) {
	policy := fmt.Sprintf("default-src 'none'; style-src %s; %simg-src data:; base-uri 'none'; form-action 'none'", sourceHash(pageStyle), allowed)
	m.add(`<!DOCTYPE html>
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

// brand names the program.
const brand = raw(`<p class="brand"><span aria-hidden="true">◩</span> Faultline</p>`)

// signs stand before the verdict, by outcome.
var signs = map[string]raw{
	"met":    `<span class="sign" aria-hidden="true">✓</span> `,
	"failed": `<span class="sign" aria-hidden="true">✕</span> `,
}

// about says which scenario the page is of, and how it went.
func (m markup) about(h report.Head, title, verdict, outcome string) {
	m.add("<h1>%v</h1>\n", title)
	if h.Description != "" {
		m.add("<p class=\"lead\">%v</p>\n", h.Description)
	}
	if h.Partial != "" {
		m.add("<p class=\"lead\">Partial: %v</p>\n", h.Partial)
	}
	m.add("<p class=\"verdict %v\" id=\"verdict\">%v<span>%v</span></p>\n<dl class=\"facts\">\n", outcome, signs[outcome], verdict)
	m.fact("Cluster", words.Count(h.Cluster.Nodes, "node"))
	for _, level := range h.Cluster.Levels {
		if level.TopologyKey == v1.LabelHostname {
			continue
		}
		domains := words.Count(level.Domains, "domain")
		if level.Unlabelled > 0 {
			domains += fmt.Sprintf(", %d unlabelled", level.Unlabelled)
		}
		m.fact(level.TopologyKey, domains)
	}
	m.fact("Scheduler", h.Scheduler.Name())
	if profiles := h.Scheduler.Profiles; len(profiles) == 1 {
		m.fact("Profile", profiles[0])
	} else if len(profiles) > 1 {
		m.fact("Profiles", strings.Join(profiles, ", "))
	}
	if gates := h.Scheduler.FeatureGates; len(gates) > 0 {
		m.fact("Feature gates", strings.Join(gates, ", "))
	}
	m.fact("Equal nodes", fmt.Sprintf("%s, seed %d", h.Ties, h.Seed))
	m.fact("Faultline", h.Version)
	m.add("</dl>\n")
}

func (m markup) fact(name, value string) { m.add("<div><dt>%v</dt><dd>%v</dd></div>\n", name, value) }
