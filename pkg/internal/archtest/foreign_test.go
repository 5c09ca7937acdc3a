package archtest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The table in docs/adr/0016-libraries.md says which package of ours brings how many packages of others into the program: those that no
// package above in the order of ADR 1 needs, by their modules.
func TestTheTableOfLibrariesHolds(t *testing.T) {
	place, _ := table(t)
	modules, imports := dependencies(t)
	order := slices.SortedFunc(maps.Keys(place), func(a, b string) int { return place[a] - place[b] })
	adr, err := os.ReadFile("../../../docs/adr/0016-libraries.md")
	if err != nil {
		t.Fatal(err)
	}
	reached, rows := map[string]bool{}, 0
	for _, name := range order {
		brought := map[string]int{}
		for _, path := range reach(module+name, imports, reached) {
			if of := modules[path]; of != "" && !strings.HasPrefix(path, module) {
				brought[of]++
			}
		}
		if len(brought) == 0 {
			continue
		}
		rows++
		if row := libraryRow(name, brought); !bytes.Contains(adr, []byte(row)) {
			t.Errorf("docs/adr/0016-libraries.md lacks the row\n%s", row)
		}
	}
	if has := bytes.Count(adr, []byte("\n| `")); has != rows {
		t.Errorf("docs/adr/0016-libraries.md has %d rows, want %d", has, rows)
	}
}

// libraryRow begins the row of a package, with the modules that bring ten packages or more by name.
func libraryRow(name string, brought map[string]int) string {
	all, others := 0, 0
	var named []string
	for _, of := range slices.SortedFunc(maps.Keys(brought), func(a, b string) int {
		if d := brought[b] - brought[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	}) {
		all += brought[of]
		if brought[of] < 10 {
			others += brought[of]
		} else {
			named = append(named, fmt.Sprintf("%s %d", of, brought[of]))
		}
	}
	if others > 0 {
		named = append(named, fmt.Sprintf("others %d", others))
	}
	return fmt.Sprintf("| `%s` | %d | %s |", name, all, strings.Join(named, ", "))
}

// dependencies returns the module of each package of the program that is not of the standard library, and what each imports.
func dependencies(t *testing.T) (modules map[string]string, imports map[string][]string) {
	t.Helper()
	command := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}} {{with .Module}}{{.Path}}{{end}} {{join .Imports " "}}`, module+"cmd/simulate")
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules, imports = map[string]string{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		modules[fields[0]], imports[fields[0]] = fields[1], fields[2:]
	}
	return modules, imports
}

// reach returns the packages that a package needs and that were not reached before.
func reach(path string, imports map[string][]string, reached map[string]bool) (all []string) {
	if _, known := imports[path]; !known || reached[path] {
		return nil
	}
	reached[path] = true
	all = append(all, path)
	for _, imported := range imports[path] {
		all = append(all, reach(imported, imports, reached)...)
	}
	return all
}
