package web_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The bundles of both pages match their sources: the first line of each file holds their hash, which build.mjs wrote.
func TestBundleIsBuilt(t *testing.T) {
	const report = "../report/format/page/bundle/"
	for name, folders := range map[string][]string{
		report + "page.js":      {"pkg/web/report", "pkg/web/shared"},
		report + "page.css":     {"pkg/web/shared"},
		"bundle/playground.js":  {"pkg/web/languages", "pkg/web/page", "pkg/web/shared"},
		"bundle/playground.css": {"pkg/web/page", "pkg/web/shared"},
		"bundle/worker.js":      {"pkg/web/page"},
	} {
		files := []string{"pkg/web/build.mjs", "pkg/web/package-lock.json", "pkg/web/package.json"}
		for _, folder := range folders {
			entries, err := os.ReadDir("../../" + folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if kind := filepath.Ext(entry.Name()); (kind == filepath.Ext(name) || kind == ".json") && !strings.HasSuffix(entry.Name(), ".test.js") {
					files = append(files, folder+"/"+entry.Name())
				}
			}
		}
		slices.Sort(files)
		sums := sha256.New()
		for _, file := range files {
			fmt.Fprintf(sums, "%x  %s\n", sha256.Sum256(read(t, "../../"+file)), file)
		}
		got, _, _ := bytes.Cut(read(t, name), []byte("\n"))
		if want := fmt.Sprintf("/* sources sha256:%x */", sums.Sum(nil)); string(got) != want {
			t.Errorf("%s begins with %.100q, and its sources are %q: run make generate", name, got, want)
		}
	}
}

// The bundle contains the licences of the packages in it, for everybody who passes it on.
func TestBundleHasLicences(t *testing.T) {
	script := read(t, "bundle/playground.js")
	for _, want := range []string{"@codemirror/view 6.", "yaml 2.", "Permission is hereby granted", "Permission to use, copy, modify, and/or distribute"} {
		if !bytes.Contains(script, []byte(want)) {
			t.Errorf("bundle/playground.js has no %q", want)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
