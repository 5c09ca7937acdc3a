package ship

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shell runs a command in a folder, and returns its output and whether it succeeded. Folders of programs come first in the PATH.
func shell(t *testing.T, in, command string, env ...string) (string, bool) {
	t.Helper()
	bash := exec.Command("bash", "-eo", "pipefail", "-c", command)
	bash.Dir, bash.Env = in, append(os.Environ(), env...)
	out, err := bash.CombinedOutput()
	return strings.TrimSpace(string(out)), err == nil
}

func succeed(t *testing.T, in, command string, env ...string) string {
	t.Helper()
	out, ok := shell(t, in, command, env...)
	if !ok {
		t.Fatalf("%s failed:\n%s", command, out)
	}
	return out
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(repo, "action", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// The action edits the comment that its token's user wrote and whose first line ends in the marker, not one of another bot or one that quotes it.
func TestCommentIsOwn(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "comments.json"), `[
		{"id": 1, "user": {"login": "mallory", "type": "User"}, "body": "x <!-- faultline -->"},
		{"id": 2, "user": {"login": "dependabot[bot]", "type": "Bot"}, "body": "x <!-- faultline -->\nrest"},
		{"id": 3, "user": {"login": "github-actions[bot]", "type": "Bot"}, "body": "x\n> quoted <!-- faultline -->"},
		{"id": 4, "user": {"login": "github-actions[bot]", "type": "Bot"}, "body": null},
		{"id": 5, "user": {"login": "github-actions[bot]", "type": "Bot"}, "body": "x <!-- faultline -->\r\nrest"}]`)
	write(t, filepath.Join(dir, "bin", "gh"), `#!/usr/bin/env bash
case "$*" in
  *--paginate*) while [ "$1" != --jq ]; do shift; done; jq -r "$2" "$RUNNER_TEMP/comments.json" ;;
  *) echo "$*" > "$RUNNER_TEMP/request" ;;
esac
`)
	// The cut is inside a block of code, which it ends.
	write(t, filepath.Join(dir, "faultline", "report.md"), "✅ **Passes**\n````\n"+strings.Repeat("```\nline\n", 20_000))
	succeed(t, dir, "bash "+script(t, "comment.sh"), "RUNNER_TEMP="+dir, "PATH="+dir+"/bin:"+os.Getenv("PATH"), "GITHUB_REPOSITORY=a/b", "NUMBER=7", "GH_TOKEN=none")
	if request := succeed(t, dir, "cat request"); !strings.Contains(request, "--method PATCH repos/a/b/issues/comments/5 ") {
		t.Errorf("it asks gh %q", request)
	}
	if body := succeed(t, dir, "cat faultline/comment.md"); !strings.HasPrefix(body, "✅ **Passes** <!-- faultline -->\n") || !strings.HasSuffix(body, "\n````\n\n… The rest is in the summary of the job.") {
		t.Errorf("the comment ends with %q", body[len(body)-80:])
	}
}

// The comment is written once and then edited. If the token is read-only, the step notes it and succeeds.
func TestComment(t *testing.T) {
	for name, test := range map[string]struct {
		list, write string // what gh prints, or "exit 1"
		want        string // the request, "" for none
		notice      bool
	}{
		"first":               {"", "", "--method POST repos/a/b/issues/7/comments", false},
		"second":              {"echo 41; echo 42", "", "--method PATCH repos/a/b/issues/comments/41", false},
		"a token that reads":  {"", "exit 1", "--method POST repos/a/b/issues/7/comments", true},
		"one that cannot":     {"exit 1", "", "", true},
		"reads, and was here": {"echo 41", "exit 1", "--method PATCH repos/a/b/issues/comments/41", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "bin", "gh"), `#!/usr/bin/env bash
case "$*" in
  *--paginate*) `+test.list+` ;;
  *) echo "$*" > "$RUNNER_TEMP/request"; `+test.write+` ;;
esac
`)
			write(t, filepath.Join(dir, "faultline", "report.md"), "✅ **Passes**\n"+strings.Repeat("ä line\n", 20_000))
			out := succeed(t, dir, "touch request; bash "+script(t, "comment.sh"), "RUNNER_TEMP="+dir, "PATH="+dir+"/bin:"+os.Getenv("PATH"),
				"GITHUB_REPOSITORY=a/b", "NUMBER=7", "GH_TOKEN=none")
			if strings.Contains(out, "::notice::") != test.notice {
				t.Errorf("it prints %q", out)
			}
			request := succeed(t, dir, "cat request")
			if test.want == "" && request != "" || !strings.Contains(request, test.want) || test.want != "" && !strings.HasSuffix(request, "--field body=@"+dir+"/faultline/comment.md") {
				t.Errorf("it asks gh %q, want %q", request, test.want)
			}
			body := succeed(t, dir, "cat faultline/comment.md")
			if len(body) > 65_536 || !strings.HasPrefix(body, "✅ **Passes** <!-- faultline -->\n") || !strings.HasSuffix(body, "in the summary of the job.") {
				t.Errorf("the comment has %d bytes and ends with %q", len(body), body[max(0, len(body)-80):])
			}
		})
	}
}

// zipped writes an archive of files.
func zipped(t *testing.T, archive string, files ...string) {
	t.Helper()
	var text bytes.Buffer
	w := zip.NewWriter(&text)
	for _, file := range files {
		f, err := w.Create(file)
		if err == nil {
			_, err = f.Write([]byte("released"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, archive, text.String())
}

// A released program is used if its checksum is the release's.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "release", "simulate"), "#!/bin/sh\necho released\n")
	zipped(t, filepath.Join(dir, "release", "simulate_1.2.3_windows_amd64.zip"), "LICENSE", "simulate.exe")
	succeed(t, filepath.Join(dir, "release"), `tar -czf simulate_1.2.3_linux_amd64.tar.gz simulate
shasum -a 256 simulate_1.2.3_linux_amd64.tar.gz simulate_1.2.3_windows_amd64.zip > checksums.txt
echo "0000000000000000000000000000000000000000000000000000000000000000  simulate_1.2.3_darwin_arm64.tar.gz" >> checksums.txt
cp simulate_1.2.3_linux_amd64.tar.gz simulate_1.2.3_darwin_arm64.tar.gz
cp simulate_1.2.3_linux_amd64.tar.gz simulate_1.2.3_linux_arm64.tar.gz`)
	write(t, filepath.Join(dir, "path", "curl"), `#!/usr/bin/env bash
while [ $# -gt 1 ]; do if [ "$1" = --output ]; then file="$2"; fi; shift; done
[ "$1" = "https://github.com/faultline/faultline/releases/download/v1.2.3/$file" ] && cp "`+dir+`/release/$file" "$file"
`)
	write(t, filepath.Join(dir, "path", "go"), `#!/usr/bin/env bash
echo "go $*"
`)
	for name, test := range map[string]struct {
		version, system, arch string
		ok                    bool
		says                  string
	}{
		"released":          {"v1.2.3", "Linux", "X64", true, "simulate_1.2.3_linux_amd64.tar.gz: OK"},
		"without v":         {"1.2.3", "Linux", "X64", true, "OK"},
		"another checksum":  {"v1.2.3", "macOS", "ARM64", false, "simulate_1.2.3_darwin_arm64.tar.gz: FAILED"},
		"no checksum":       {"v1.2.3", "Linux", "ARM64", false, ""},
		"no such version":   {"v1.2.4", "Linux", "X64", false, ""},
		"for Windows":       {"v1.2.3", "Windows", "X64", true, "simulate_1.2.3_windows_amd64.zip: OK"},
		"another system":    {"v1.2.3", "Plan9", "X64", false, "give version: source"},
		"another processor": {"v1.2.3", "Linux", "X86", false, "give version: source"},
		"built from source": {"source", "Windows", "X64", true, "go build -C here -o "},
		"built anywhere":    {"source", "Linux", "RISCV", true, "./cmd/simulate"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := filepath.Join(t.TempDir(), "bin")
			out, ok := shell(t, dir, "bash "+script(t, "install.sh"), "BIN="+bin, "VERSION="+test.version, "RUNNER_OS="+test.system, "RUNNER_ARCH="+test.arch,
				"GITHUB_ACTION_PATH=here", "PATH="+dir+"/path:"+os.Getenv("PATH"))
			if ok != test.ok || !strings.Contains(out, test.says) {
				t.Errorf("succeeds %t:\n%s", ok, out)
			}
			programs, err := filepath.Glob(filepath.Join(bin, "*"))
			if err != nil {
				t.Fatal(err)
			}
			program := filepath.Join(bin, "simulate")
			if test.system == "Windows" {
				program += ".exe"
			}
			if installed := slices.Equal(programs, []string{program}); installed != (test.ok && test.version != "source") {
				t.Errorf("it is installed: %t", installed)
			}
		})
	}
}
