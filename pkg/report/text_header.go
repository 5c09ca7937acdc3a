package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// header says what the run was about.
func (p *page) header(h Head) {
	var about fields
	about.add("Scenario:", orNone(h.Scenario))
	if description := strings.TrimSpace(h.Description); description != "" {
		about.add("Description:", strings.Split(description, "\n")...)
	}
	about.add("Cluster:", clusterLine(h.Cluster))
	about.add("Scheduler:", schedulerLine(h))
	about.add("Ties:", orNone(tiesText(h)))
	if len(h.Scheduler.FeatureGates) > 0 {
		about.add("Feature gates:", strings.Join(h.Scheduler.FeatureGates, ", "))
	}
	if len(h.Ignored) > 0 {
		about.add("Ignored:", ignoredLines(h.Ignored, p.all)...)
	}
	about.add("Notes:", h.Notes...)
	p.table("", about...)
}

func tiesText(h Head) string {
	if h.Ties == "random" {
		return fmt.Sprintf("random, seed %d", h.Seed)
	}
	return h.Ties
}

// clusterLine is "4 nodes, 2 regions (1 node without), 3 zones (1 node without)". Hosts are nodes, and go without saying.
func clusterLine(c Cluster) string {
	parts := []string{count(c.Nodes, "node")}
	for _, level := range c.Levels {
		if level.TopologyKey == hostname {
			continue
		}
		part := count(level.Domains, noun(level.TopologyKey))
		if noun(level.TopologyKey) == "domain" {
			part += " of " + level.TopologyKey
		}
		if level.Unlabelled > 0 {
			part += fmt.Sprintf(" (%s without)", count(level.Unlabelled, "node"))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func schedulerLine(h Head) string {
	line := "kube-scheduler " + h.Scheduler.Version
	if profiles := h.Scheduler.Profiles; len(profiles) > 0 && !slices.Equal(profiles, []string{"default-scheduler"}) {
		line += ", profiles " + strings.Join(profiles, ", ")
	}
	if h.Version != "" {
		line += ", in Faultline " + h.Version
	}
	return line
}

// ignoredLines count the ignored objects by kind, the most frequent first, and list them below that if all is wanted.
func ignoredLines(objects []Ignored, all bool) []string {
	var kinds []string
	number := map[string]int{}
	for _, object := range objects {
		if number[object.Kind] == 0 {
			kinds = append(kinds, object.Kind)
		}
		number[object.Kind]++
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(number[b], number[a]) })
	parts := make([]string, len(kinds))
	for i, kind := range kinds {
		parts[i] = fmt.Sprintf("%d %s", number[kind], kind)
	}
	verb := "take"
	if len(objects) == 1 {
		verb = "takes"
	}
	lines := []string{fmt.Sprintf("%s that %s no part in scheduling: %s", count(len(objects), "object"), verb, strings.Join(parts, ", "))}
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

// customKinds are the kinds of the objects whose group is not Kubernetes' own, which may be custom resources, sorted. Kubernetes' groups
// have no dot, or end in k8s.io.
func customKinds(objects []Ignored) []string {
	var kinds []string
	for _, object := range objects {
		if group, _, _ := strings.Cut(object.APIVersion, "/"); strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
			kinds = append(kinds, object.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// ignoredText says which object it is and where it stands: "ConfigMap kafka/settings of v1 in kafka.yaml".
func ignoredText(i Ignored) string {
	name := i.Name
	if i.Namespace != "" {
		name = i.Namespace + "/" + i.Name
	}
	return fmt.Sprintf("%s %s of %s in %s", i.Kind, name, i.APIVersion, i.Source)
}
