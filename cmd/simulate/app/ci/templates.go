package ci

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

// locateTemplates replaces places in rendered manifests, which are in no file, by the file of the template. helm template names it in a
// comment before each document, kustomize in an annotation if buildMetadata has originAnnotations.
func locateTemplates(found *findings.Findings, rendered []byte) {
	if len(rendered) == 0 {
		return
	}
	of := templatesByLine(rendered)
	charts := chartsBelow(".")
	for i := range found.Results {
		result := &found.Results[i]
		if result.Source == nil || result.Source.File != manifest.Stdin || result.Source.Line >= len(of) {
			continue
		}
		name := of[result.Source.Line]
		if chart, file, is := strings.Cut(name, "/"); is && charts[chart] != "" {
			if inChart := path.Join(charts[chart], file); isFile(inChart) {
				name = inChart
			}
		}
		if isFile(name) {
			result.Source = &manifest.Place{File: name, Line: 1}
		}
	}
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
