// Package archtest holds the table of packages in docs/adr/0001-architecture.md against the code.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/faultline/faultline/"

var (
	row    = regexp.MustCompile("(?m)^\\| `((?:pkg|cmd|docs|examples|scenarios)[^`]*)` \\| (.+) \\|$")
	only   = regexp.MustCompile("the only importer of `([^`]+)`")
	folder = regexp.MustCompile("`([^`]+)` and the packages\\s+below it are the only importer of\\s+`([^`]+)`")
)

// beside are the packages that the table leaves out: no other package imports them.
var beside = map[string]bool{
	"pkg/internal/archtest": true, "pkg/internal/claimtest": true, "pkg/internal/browsertest": true, "pkg/internal/dumptest": true, "pkg/internal/golden": true, "pkg/internal/reporttest": true, "pkg/internal/runtest": true,
}

// table reads the ADR: each package's place in the order, and what only some packages may import, by the import path's beginning.
func table(t *testing.T) (place map[string]int, alone map[string][]string) {
	t.Helper()
	adr, err := os.ReadFile("../../../docs/adr/0001-architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	place, alone = map[string]int{}, map[string][]string{}
	group, left := "", map[string]bool{}
	for i, match := range row.FindAllStringSubmatch(string(adr), -1) {
		name := match[1]
		if _, twice := place[name]; twice {
			t.Errorf("%s stands twice in the table", name)
		}
		place[name] = i
		if of := strings.Join(strings.SplitN(name, "/", 3)[:2], "/"); of != group {
			if left[of] {
				t.Errorf("%s stands apart from the other packages of %s", name, of)
			}
			left[group], group = true, of
		}
		for _, imported := range only.FindAllStringSubmatch(match[2], -1) {
			alone[imported[1]] = append(alone[imported[1]], name)
		}
	}
	groups := folder.FindAllStringSubmatch(string(adr), -1)
	if len(groups) == 0 {
		t.Error("no sentence of the ADR says what only a folder of packages may import")
	}
	for _, match := range groups {
		for name := range place {
			if name == match[1] || strings.HasPrefix(name, match[1]+"/") {
				alone[match[2]] = append(alone[match[2]], name)
			}
		}
		slices.Sort(alone[match[2]])
	}
	return place, alone
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestTheTableOfPackagesHolds(t *testing.T) {
	place, alone := table(t)
	seen := map[string]bool{}
	for _, pkg := range list(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		seen[name] = true
		at, known := place[name]
		if !known && !beside[name] {
			t.Errorf("%s is not in the table of packages", name)
			continue
		}
		for _, imported := range pkg.Imports {
			if other, ours := strings.CutPrefix(imported, module); ours && known && (beside[other] || place[other] >= at) {
				t.Errorf("%s imports %s, which does not stand above it", name, other)
			}
			for prefix, importers := range alone {
				if strings.HasPrefix(imported, prefix) && !slices.Contains(importers, name) {
					t.Errorf("%s imports %s, which only %s may", name, imported, strings.Join(importers, " and "))
				}
			}
		}
	}
	for name := range place {
		if !seen[name] {
			t.Errorf("the table has %s, which does not exist", name)
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
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, pkg)
	}
}
