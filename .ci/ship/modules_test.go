package ship

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The modules that use the scheduler's release of Kubernetes choose the same versions of all that the scheduler is built from. With another
// version of one module, a new machine compiles a thousand packages once more.
func TestModulesAgree(t *testing.T) {
	const needs = `go list -deps -f '{{with .Module}}{{.Path}} {{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}' k8s.io/kubernetes/pkg/scheduler | sort -u`
	versions := strings.Split(succeed(t, repo, needs), "\n")
	if len(versions) < 20 {
		t.Fatalf("the scheduler needs only %d modules", len(versions))
	}
	for _, module := range []string{"cluster", ".ci/e2e", ".ci/live"} {
		for _, chosen := range strings.Split(succeed(t, filepath.Join(repo, module), needs), "\n") {
			if !slices.Contains(versions, chosen) {
				t.Errorf("module %s chooses %s, and the program another version: go get the newer one in both", module, chosen)
			}
		}
	}
}
