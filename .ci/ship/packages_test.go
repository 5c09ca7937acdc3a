package ship

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"gopkg.in/yaml.v3"
)

// releaser is .goreleaser.yaml, as far as this package reads it.
type releaser struct {
	Builds []struct {
		ID, Dir, Main, Binary string
		Flags                 []string
		LDFlags               []string `yaml:"ldflags"`
	}
	Archives []struct {
		IDs []string `yaml:"ids"`
	}
	NFPMs []map[string]any `yaml:"nfpms"`
	Krews []struct {
		Homepage         string
		ShortDescription string `yaml:"short_description"`
		Description      string
		Caveats          string
	}
}

func readReleaser(t *testing.T) (config releaser) {
	t.Helper()
	if err := yaml.Unmarshal(read(t, ".goreleaser.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	return config
}

// A release has every program: simulate, its cluster in memory, and each decider, in an archive each.
func TestPrograms(t *testing.T) {
	mains, err := fs.Glob(os.DirFS(repo), "deciders/*/main.go")
	if err != nil || len(mains) < 2 {
		t.Fatalf("the deciders are %v: %v", mains, err)
	}
	want := map[string]string{"cmd/simulate": "simulate", "cluster": "simulate-cluster"} // by folder
	for _, path := range mains {
		folder := filepath.Dir(path)
		want[folder] = "faultline-" + filepath.Base(folder)
	}
	config, got := readReleaser(t), map[string]string{}
	archived := map[string]int{}
	for _, archive := range config.Archives {
		for _, id := range archive.IDs {
			archived[id]++
		}
	}
	for _, build := range config.Builds {
		folder := filepath.Join(build.Dir, build.Main)
		got[folder] = build.Binary
		if archived[build.ID] != 1 {
			t.Errorf("%s is in %d archives", build.Binary, archived[build.ID])
		}
		if ordered := strings.Contains(strings.Join(build.Flags, " "), "ordered"); ordered != (build.ID == "karpenter" || build.ID == "kueue") {
			t.Errorf("%s is built with %v", build.Binary, build.Flags)
		}
		if strings.Join(build.LDFlags, " ") == "" {
			t.Errorf("%s keeps what only a debugger reads", build.Binary)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("a release has %v, not %v", got, want)
	}
}

// The packages of .goreleaser.yaml are made by nfpm, as goreleaser makes them, and read by dpkg-deb and rpm.
func TestPackages(t *testing.T) {
	config := readReleaser(t)
	if len(config.NFPMs) != 1 {
		t.Fatalf("there are %d kinds of packages", len(config.NFPMs))
	}
	given := config.NFPMs[0]
	formats, _ := given["formats"].([]any)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "simulate"), "#!/bin/sh\n")
	t.Chdir(repo)
	contents, _ := given["contents"].([]any)
	for _, content := range contents {
		file := content.(map[string]any)
		if source := file["src"].(string); strings.HasPrefix(source, "bin/completion/") { // goreleaser's hook writes these
			file["src"] = filepath.Join(dir, filepath.Base(source))
			write(t, file["src"].(string), "# completion\n")
		}
	}
	given["contents"] = append(contents, map[string]any{"src": filepath.Join(dir, "simulate"), "dst": "/usr/bin/simulate", "file_info": map[string]any{"mode": 0o755}})
	given["name"], given["arch"], given["version"], given["platform"] = given["package_name"], "amd64", "1.2.3", "linux"
	for _, own := range []string{"id", "ids", "package_name", "formats", "bindir", "mtime"} { // goreleaser's alone
		delete(given, own)
	}
	text, err := yaml.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range formats {
		parsed, err := nfpm.Parse(strings.NewReader(string(text)))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		info, err := parsed.Get(format.(string))
		if err != nil {
			t.Fatal(err)
		}
		packager, err := nfpm.Get(format.(string))
		if err != nil {
			t.Fatal(err)
		}
		info = nfpm.WithDefaults(info)
		if err := nfpm.Validate(info); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, packager.ConventionalFileName(info))
		out, err := os.Create(file)
		if err == nil {
			err = packager.Package(info, out)
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
		tool := map[string][]string{"deb": {"dpkg-deb", "--contents", file}, "rpm": {"rpm", "--nosignature", "-qlvp", file}}[format.(string)]
		path, err := exec.LookPath(tool[0])
		if err != nil {
			t.Fatal(err)
		}
		listed, err := exec.Command(path, tool[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", file, err, listed)
		}
		for _, want := range []string{"-rwxr-xr-x", "/usr/bin/simulate", "/usr/bin/kubectl-faultline -> /usr/bin/simulate", "/usr/bin/kubectl_complete-faultline -> /usr/bin/simulate",
			"/usr/share/doc/faultline/copyright", "/usr/share/bash-completion/completions/simulate", "/usr/share/zsh/vendor-completions/_simulate", "/usr/share/fish/vendor_completions.d/simulate.fish"} {
			if !strings.Contains(strings.ReplaceAll(string(listed), "-> ./usr", "-> /usr"), want) {
				t.Errorf("%s lacks %s:\n%s", filepath.Base(file), want, listed)
			}
		}
	}
	if len(formats) != 2 {
		t.Errorf("the formats are %v", formats)
	}
}

// What reviewers of krew's index ask for: https://krew.sigs.k8s.io/docs/developer-guide/develop/best-practices and naming-guide.
func TestKrewManifest(t *testing.T) {
	config := readReleaser(t)
	if len(config.Krews) != 1 {
		t.Fatalf("there are %d manifests", len(config.Krews))
	}
	plugin := config.Krews[0]
	if short := plugin.ShortDescription; short == "" || len(short) > 50 || strings.HasSuffix(short, ".") || strings.Contains(strings.ToLower(short), "kubectl") {
		t.Errorf("the short description, %q, has more than 50 characters, ends with a dot, or names kubectl", short)
	}
	for _, line := range strings.Split(plugin.Description+plugin.Caveats, "\n") {
		if len(line) > 80 {
			t.Errorf("a line has more than 80 characters: %s", line)
		}
	}
	if plugin.Homepage == "" || !strings.Contains(plugin.Caveats, "rbac") {
		t.Errorf("the caveats do not say which rights are needed: %s", plugin.Caveats)
	}
}
