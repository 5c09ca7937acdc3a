package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const checksums = `1111111111111111111111111111111111111111111111111111111111111111  simulate_1.2.3_darwin_amd64.tar.gz
2222222222222222222222222222222222222222222222222222222222222222  simulate_1.2.3_darwin_arm64.tar.gz
3333333333333333333333333333333333333333333333333333333333333333  simulate_1.2.3_linux_amd64.tar.gz
4444444444444444444444444444444444444444444444444444444444444444  simulate_1.2.3_linux_arm64.tar.gz
5555555555555555555555555555555555555555555555555555555555555555  simulate_1.2.3_windows_amd64.zip
6666666666666666666666666666666666666666666666666666666666666666  simulate_1.2.3_site.tar.gz
7777777777777777777777777777777777777777777777777777777777777777  faultline_1.2.3_linux_amd64.deb
`

// asHomebrew evaluates a formula as Homebrew does on each platform, as far as classes, blocks and their calls go, and prints what is installed.
const asHomebrew = `
class Formula
  class << self
    def desc(text) raise "desc has #{text.size} characters" if text.size > 80 || text =~ /^(An?|The) |\.$/ end
    def homepage(_) end
    def license(_) end
    def version(v = nil) v ? @version = v : @version end
    def on_macos() @os = "macos"; yield end
    def on_linux() @os = "linux"; yield end
    def on_arm() @cpu = "arm"; yield end
    def on_intel() @cpu = "intel"; yield end
    def url(u) @url = u end
    def sha256(sum) puts [@os, @cpu, @url, sum].join(" ") end
    def test(&block) puts "tests" if block end
  end
end
eval(File.read(ARGV[0]), TOPLEVEL_BINDING, ARGV[0])
raise "no install" unless Faultline.method_defined?(:install)
`

func TestFormula(t *testing.T) {
	dir := t.TempDir()
	sums, file := filepath.Join(dir, "checksums.txt"), filepath.Join(dir, "faultline.rb")
	if err := os.WriteFile(sums, []byte(checksums), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{sums, file}); err != nil {
		t.Fatal(err)
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(ruby, "-wc", file).CombinedOutput(); err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("%v: %s", err, out)
	}
	out, err := exec.Command(ruby, "-e", asHomebrew, file).CombinedOutput()
	const at = "https://github.com/faultline/faultline/releases/download/v1.2.3/simulate_1.2.3_"
	want := "macos arm " + at + "darwin_arm64.tar.gz " + strings.Repeat("2", 64) + "\nmacos intel " + at + "darwin_amd64.tar.gz " + strings.Repeat("1", 64) +
		"\nlinux arm " + at + "linux_arm64.tar.gz " + strings.Repeat("4", 64) + "\nlinux intel " + at + "linux_amd64.tar.gz " + strings.Repeat("3", 64) + "\ntests\n"
	if err != nil || string(out) != want {
		t.Errorf("%v:\n%s\nwant:\n%s", err, out, want)
	}
}

func TestFormulaNeedsEveryPlatform(t *testing.T) {
	_, err := formula(strings.Replace(checksums, "linux_arm64", "linux_s390x", 1))
	if err == nil || err.Error() != "there is no simulate_VERSION_linux_arm64.tar.gz" {
		t.Errorf("error %v", err)
	}
}
