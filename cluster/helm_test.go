package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// buildHelm builds helm, and puts its folder first in the PATH.
func buildHelm(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", folder+string(filepath.Separator), "helm.sh/helm/v3/cmd/helm").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", folder)
}

// The real helm installs charts with hooks, a StatefulSet and budgets, waits for them, upgrades, rolls back and uninstalls them.
func TestHelm(t *testing.T) {
	buildHelm(t)
	date := regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [0-9:]{8} \d{4}|-test-[a-z0-9]{5}`)
	checkTranscript(t, "cluster/testdata/helm.md", start(t, ".ci/live/testdata/monorepo/nodes.yaml"), func(text string) string {
		return withoutAges(date.ReplaceAllString(text, "DATE"))
	})
}
