// Command formula writes the Homebrew formula of a release, from the release's checksums.
//
//	formula CHECKSUMS FILE
package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "formula: error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments; give CHECKSUMS FILE", len(args))
	}
	checksums, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	text, err := formula(string(checksums))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[1], []byte(text), 0o644)
}

// archive is a line of checksums.txt about an archive of the program for a platform that Homebrew has.
var archive = regexp.MustCompile(`(?m)^([0-9a-f]{64})  (simulate_(\S+)_(darwin|linux)_(amd64|arm64)\.tar\.gz)$`)

// formula returns the formula for the archives of the checksums.
func formula(checksums string) (string, error) {
	sums, version := map[string]string{}, ""
	for _, found := range archive.FindAllStringSubmatch(checksums, -1) {
		sums[found[4]+"_"+found[5]], version = found[1], found[3]
	}
	var out strings.Builder
	fmt.Fprintf(&out, `class Faultline < Formula
  desc "Place pods by the real kube-scheduler in memory, and see what a failure takes"
  homepage "https://github.com/faultline/faultline"
  version "%s"
  license "Apache-2.0"

`, version)
	for _, system := range []struct{ block, os string }{{"on_macos", "darwin"}, {"on_linux", "linux"}} {
		fmt.Fprintf(&out, "  %s do\n", system.block)
		for _, cpu := range []struct{ block, arch string }{{"on_arm", "arm64"}, {"on_intel", "amd64"}} {
			platform := system.os + "_" + cpu.arch
			if sums[platform] == "" {
				return "", fmt.Errorf("there is no simulate_VERSION_%s.tar.gz", platform)
			}
			fmt.Fprintf(&out, "    %s do\n      url \"https://github.com/faultline/faultline/releases/download/v%s/simulate_%s_%s.tar.gz\"\n      sha256 \"%s\"\n    end\n",
				cpu.block, version, version, platform, sums[platform])
		}
		out.WriteString("  end\n\n")
	}
	out.WriteString(`  def install
    bin.install "simulate"
    bin.install_symlink bin/"simulate" => "kubectl-faultline"
    bin.install_symlink bin/"simulate" => "kubectl_complete-faultline"
    generate_completions_from_executable(bin/"simulate", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/simulate version")
    assert_match "pods", shell_output("#{bin}/simulate run --quiet")
  end
end
`)
	return out.String(), nil
}
