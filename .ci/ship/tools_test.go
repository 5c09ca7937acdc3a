package ship

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// make test begins with .ci/tools, which must install what is missing or name the command that does, and do nothing where all is there.
func TestTools(t *testing.T) {
	for _, test := range []struct {
		name  string
		tools map[string]string // what the PATH has beside bash: scripts by name
		want  string
		fails bool
	}{
		{"all there", map[string]string{"chromium": "", "jq": "", "pre-commit": "", "rpm": "", "ruby": ""}, "", false},
		{"root", map[string]string{"id": "echo 0", "apt-get": `echo "apt-get $@"`, "jq": ""},
			"apt-get update\napt-get install -y --no-install-recommends chromium pre-commit rpm ruby\n", false},
		{"sudo without a password", map[string]string{"id": "echo 1000", "apt-get": "", "sudo": `echo "sudo $@"`},
			"sudo -n apt-get update\nsudo -n apt-get install -y --no-install-recommends chromium jq pre-commit rpm ruby\n", false},
		{"sudo with a password", map[string]string{"id": "echo 1000", "apt-get": "", "sudo": "exit 1"},
			"the tests need chromium jq pre-commit rpm ruby: sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends chromium jq pre-commit rpm ruby', then make test\n", true},
		{"no sudo", map[string]string{"id": "echo 1000", "apt-get": "", "chromium": "", "pre-commit": "", "rpm": "", "ruby": ""},
			"the tests need jq: sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends jq', then make test\n", true},
		{"another package manager", map[string]string{"chromium": "", "pre-commit": "", "rpm": "", "ruby": ""},
			"the tests need jq in the PATH: install with your system's package manager, then make test\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, script := range test.tools {
				write(t, filepath.Join(dir, name), "#!/bin/sh\n"+script+"\n")
			}
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Fatal(err)
			}
			command := exec.Command(bash, filepath.Join(repo, ".ci/tools"))
			command.Env = []string{"PATH=" + dir}
			out, err := command.CombinedOutput()
			if string(out) != test.want || (err != nil) != test.fails {
				t.Errorf("error %v, output:\n%s\nwant:\n%s", err, out, test.want)
			}
		})
	}
}
