package doc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/words"
)

// Header adds the last section, which says what the report is about.
func (d *Doc) Header() {
	h := d.Head
	var about Fields
	about.AddHead("Scenario:", OrNone(h.Scenario))
	if description := strings.TrimSpace(h.Description); description != "" {
		about.AddHead("Description:", strings.Split(description, "\n")...)
	}
	about.AddHead("Cluster:", ClusterLine(h.Cluster))
	about.AddHead("Scheduler:", SchedulerLine(h))
	if h.Ties != "upstream" { // upstream is the default
		about.AddHead("Ties:", OrNone(Ties(h)))
	}
	if len(h.Scheduler.FeatureGates) > 0 {
		about.AddHead("Feature gates:", strings.Join(h.Scheduler.FeatureGates, ", "))
	}
	if len(h.Ignored) > 0 {
		about.AddHead("Ignored:", IgnoredLines(h.Ignored, d.All)...)
	}
	about.AddHead("Notes:", h.Notes...)
	d.Space()
	d.Add(about)
}

// Title returns the title of a report: "Loss of any zone: dump.json", or the question alone if the input has no name.
func Title(h report.Head, question string) string {
	if name := h.Title(); name != "" && question != "" {
		return question + ": " + name
	}
	return cmp.Or(question, h.Title())
}

// StepHeading returns "Step 2/3  grow: scale deployment/web --replicas=3" for the second of three steps.
func StepHeading(i, steps int, name, action string) string {
	heading := fmt.Sprintf("Step %d/%d  %s", i+1, steps, name)
	if action != "" {
		heading += ": " + action
	}
	return heading
}

// Ties returns how ties between nodes are broken: "upstream", or "random, seed 1".
func Ties(h report.Head) string {
	if h.Ties == "random" {
		return fmt.Sprintf("random, seed %d", h.Seed)
	}
	return h.Ties
}

// ClusterLine returns "4 nodes, 2 regions (1 node without), 3 zones (1 node without)". It leaves out the level of host names.
func ClusterLine(c report.Cluster) string {
	parts := []string{words.Count(c.Nodes, "node")}
	for _, level := range c.Levels {
		if level.TopologyKey == Hostname {
			continue
		}
		part := words.Count(level.Domains, Noun(level.TopologyKey))
		if Noun(level.TopologyKey) == "domain" {
			part += " of " + level.TopologyKey
		}
		if level.Unlabelled > 0 {
			part += fmt.Sprintf(" (%s without)", words.Count(level.Unlabelled, "node"))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// SchedulerLine returns the scheduler's name, its profiles unless there is only the default one, and Faultline's version.
func SchedulerLine(h report.Head) string {
	line := h.Scheduler.Name()
	if profiles := h.Scheduler.Profiles; len(profiles) > 0 && !slices.Equal(profiles, []string{"default-scheduler"}) {
		line += ", profiles " + strings.Join(profiles, ", ")
	}
	if h.Version != "" {
		line += ", in Faultline " + h.Version
	}
	return line
}

// IgnoredLines counts the ignored objects by kind, the most frequent first. With all, it also lists them.
func IgnoredLines(objects []report.Ignored, all bool) []string {
	var kinds []string
	number := map[string]int{}
	for _, object := range objects {
		if number[object.Kind] == 0 {
			kinds = append(kinds, object.Kind)
		}
		number[object.Kind]++
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(number[b], number[a]) })
	parts := list.Map(kinds, func(kind string) string { return fmt.Sprintf("%d %s", number[kind], kind) })
	verb := "take"
	if len(objects) == 1 {
		verb = "takes"
	}
	lines := []string{fmt.Sprintf("%s that %s no part in scheduling: %s", words.Count(len(objects), "object"), verb, strings.Join(parts, ", "))}
	if custom := customKinds(objects); len(custom) > 0 {
		lines = append(lines, "give customResources with a podTemplatePath in the scenario if one holds a pod template: "+strings.Join(custom, ", "))
	}
	if all {
		for _, object := range objects {
			lines = append(lines, ignoredText(object))
		}
	}
	return lines
}

// customKinds returns the sorted kinds of objects that may be custom resources, because their group is not one of Kubernetes'. Kubernetes'
// groups have no dot, or end in k8s.io.
func customKinds(objects []report.Ignored) []string {
	var kinds []string
	for _, object := range objects {
		if group, _, _ := strings.Cut(object.APIVersion, "/"); strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") && !isUnrendered(object) {
			kinds = append(kinds, object.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// isUnrendered reports whether the object names manifests that a program renders, so that it holds no pod template itself.
func isUnrendered(object report.Ignored) bool {
	return manifest.RenderCommand(manifest.Ignored{APIVersion: object.APIVersion, Ref: cluster.Ref{Kind: object.Kind}}) != ""
}

// ignoredText returns the object and its place: "ConfigMap kafka/settings of v1 in kafka.yaml".
func ignoredText(i report.Ignored) string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + i.Name
	}
	return fmt.Sprintf("%s %s of %s in %s", i.Kind, name, i.APIVersion, i.Source)
}
