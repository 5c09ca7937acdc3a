package ci

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// locateTemplates replaces places in rendered manifests, which are in no file, by the file of the template and the line of the object in the file.
// helm template names the file in a comment before each document, kustomize in an annotation if buildMetadata has originAnnotations. Where
// neither names a file that is there, the chart's or the kustomization's own file stands for it: a finding without a file is on no page of a
// change.
func locateTemplates(found *findings.Findings, command string, rendered []byte) {
	if len(rendered) == 0 {
		return
	}
	of := templatesByLine(rendered)
	charts, roots := chartsBelow("."), foldersIn(command)
	if len(roots) == 0 && len(charts) == 1 {
		roots = slices.Collect(maps.Values(charts))
	}
	for i := range found.Results {
		result := &found.Results[i]
		if result.Source == nil || result.Source.File != manifest.Stdin || result.Source.Line >= len(of) {
			continue
		}
		if file := templateFile(of[result.Source.Line], charts, roots); file != "" {
			result.Source = &manifest.Place{File: file, Line: lineOfObject(file, result.Place)}
		}
	}
}

// templateFile returns the file that a renderer means by the name: in a chart, or relative to a folder of the command, as kustomize names files
// relative to the overlay. If there is no such file, it returns the first file of a chart or a kustomization in these folders, or "".
func templateFile(name string, charts map[string]string, roots []string) string {
	candidates := []string{name}
	if chart, file, is := strings.Cut(name, "/"); is && charts[chart] != "" {
		candidates = []string{path.Join(charts[chart], file), name}
	}
	for _, root := range roots {
		if name != "" {
			candidates = append(candidates, path.Join(root, name))
		}
	}
	for _, root := range roots {
		for _, own := range []string{"Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization"} {
			candidates = append(candidates, path.Join(root, own))
		}
	}
	for _, file := range candidates {
		if isFile(file) && filepath.IsLocal(file) {
			return file
		}
	}
	return ""
}

// foldersIn returns the words of a command that are folders. A word may follow an equals sign, as in --load-path=overlays/eu.
func foldersIn(command string) []string {
	var folders []string
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=;|&()", r) }) {
		if info, err := os.Stat(word); err == nil && info.IsDir() {
			folders = append(folders, path.Clean(filepath.ToSlash(word)))
		}
	}
	return folders
}

// lineOfObject returns the line of the file that has the kind of the object: in the document that also has the object's name, or else in the
// first one of that kind, since renderers add to names. It returns 1 if the file has no such kind, as a chart's file. place is
// step/namespace/kind/name, and the kind is in lower case.
func lineOfObject(file, place string) int {
	parts := strings.SplitN(place, "/", 5)
	data, err := os.ReadFile(file)
	if err != nil || len(parts) < 4 {
		return 1
	}
	kind, name := parts[2], parts[3]
	first, current, line := 0, 0, 0
	for text := range strings.Lines(string(data)) {
		line++
		field, value, _ := strings.Cut(strings.TrimSpace(text), ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case strings.HasPrefix(text, "---"):
			current = 0
		case strings.HasPrefix(text, "kind:") && strings.EqualFold(value, kind):
			current = line
			if first == 0 {
				first = line
			}
		case current > 0 && (field == "name" && value == name || field == "metadata" && strings.Contains(value, "name: "+name)):
			return current
		}
	}
	return max(first, 1)
}

var (
	helmSource      = regexp.MustCompile(`^# Source: (\S+)$`)
	kustomizeOrigin = regexp.MustCompile(`^ *config\.kubernetes\.io/origin: \|`)
	originPath      = regexp.MustCompile(`^ +path: (\S+)$`)
)

// templatesByLine returns the name of each line's template, or "". Index 0 is unused.
func templatesByLine(rendered []byte) []string {
	names := []string{""}
	document, name, origin := 1, "", false
	for line := range bytes.Lines(rendered) {
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case strings.HasPrefix(text, "---"):
			document, name, origin = len(names), "", false
		case helmSource.MatchString(text):
			name = helmSource.FindStringSubmatch(text)[1]
		case kustomizeOrigin.MatchString(text):
			origin = true
		case origin && originPath.MatchString(text):
			name, origin = originPath.FindStringSubmatch(text)[1], false
			for at := document; at < len(names); at++ {
				names[at] = name
			}
		}
		names = append(names, name)
	}
	return names
}

// chartsBelow returns the folders of the Helm charts below a folder, by the names of the charts.
func chartsBelow(root string) map[string]string {
	charts := map[string]string{}
	_ = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error { // a folder that cannot be read has no chart
		switch {
		case err != nil:
			return nil
		case entry.IsDir() && file != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.Name() != "Chart.yaml":
			return nil
		}
		var chart struct{ Name string }
		if data, err := os.ReadFile(file); err == nil && yaml.Unmarshal(data, &chart) == nil && charts[chart.Name] == "" {
			charts[chart.Name] = filepath.ToSlash(filepath.Dir(file))
		}
		return nil
	})
	return charts
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return name != "" && err == nil && info.Mode().IsRegular()
}
