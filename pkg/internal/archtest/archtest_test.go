// Package archtest checks that packages import only downward, and that what one package alone may know stays there.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/faultline/faultline/"

// level is each package's height: a package imports only lower ones. A new package gets its line here and in
// docs/adr/0001-architecture.md.
var level = map[string]int{
	"pkg/topology":           0,
	"pkg/cluster":            0,
	"pkg/stats":              0,
	"pkg/job":                0,
	"pkg/rule":               0,
	"pkg/placement":          1,
	"pkg/manifest":           1,
	"pkg/workload":           1,
	"pkg/sched":              2,
	"pkg/operator":           2,
	"pkg/operator/kafscale":  3,
	"pkg/operator/stackable": 3,
	"pkg/operator/hydrolix":  3,
	"pkg/operator/generic":   3,
	"pkg/risk":               2,
	"pkg/scenario":           4,
	"pkg/simulation":         5,
	"pkg/blast":              6,
	"pkg/explain":            6,
	"pkg/verify":             6,
	"pkg/bench":              7,
	"pkg/metric":             7,
	"pkg/whatif":             8,
	"pkg/capacity":           8,
	"pkg/outcome":            8,
	"pkg/advice":             9,
	"pkg/lint":               7,
	"pkg/report":             10,
	"pkg/gate":               11,
	"scenarios":              0,
	"cmd/simulate/app":       12,
	"cmd/simulate":           13,

	"pkg/internal/archtest": 0,
	"pkg/manifest/dumptest": 0,
}

// alone are packages that a single one of ours may import, tests aside.
var alone = map[string]string{
	"k8s.io/kubernetes/pkg/scheduler": "pkg/sched",
	"github.com/spf13/cobra":          "cmd/simulate/app",
	"gonum.org/v1/gonum/stat":         "pkg/stats",
	"sigs.k8s.io/kind/":               "pkg/topology",
	"gonum.org/v1/plot":               "pkg/report",
	"golang.org/x/perf":               "pkg/bench",
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoDownward(t *testing.T) {
	for _, pkg := range list(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		height, known := level[name]
		if !known {
			t.Errorf("%s has no place in the table of packages", name)
			continue
		}
		for _, imported := range pkg.Imports {
			if other, ours := strings.CutPrefix(imported, module); ours && level[other] >= height {
				t.Errorf("%s (level %d) imports %s (level %d), which is not below it", name, height, other, level[other])
			}
			for prefix, only := range alone {
				if strings.HasPrefix(imported, prefix) && name != only {
					t.Errorf("%s imports %s, which only %s may", name, imported, only)
				}
			}
		}
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg listed
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, pkg)
	}
	if !slices.ContainsFunc(pkgs, func(p listed) bool { return p.ImportPath == module+"pkg/sched" }) {
		t.Fatal("go list did not list pkg/sched")
	}
	return pkgs
}
