// Package e2e runs specs of upstream's end-to-end suite against a cluster in memory. docs/cluster.md says what the other specs do.
package e2e

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/e2e/apps"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/scheduling"
)

// specs are the full texts of the specs, one a line.
//
//go:embed specs.txt
var specs string

// results are how the specs ended, by their texts.
var results = map[string]types.SpecState{}

var _ = ginkgo.ReportAfterEach(func(spec ginkgo.SpecReport) { results[spec.FullText()] = spec.State })

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runTests starts a cluster, points the suite to it, and runs the tests.
func runTests(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	stop, err := startCluster(filepath.Join(dir, "simulate-cluster"), kubeconfig)
	if err != nil {
		return 0, err
	}
	defer stop()
	settings := [][2]string{
		{"kubeconfig", kubeconfig}, {"provider", "skeleton"}, {"num-nodes", "4"}, {"minStartupPods", "0"}, {"allowed-not-ready-nodes", "0"},
		// The cluster has no pods of a system to wait for.
		{"system-pods-startup-timeout", "5s"}, {"system-daemonsets-startup-timeout", "5s"}, {"node-schedulable-timeout", "20s"},
		{"report-dir", ""}, {"disable-log-dump", "true"}, {"dump-logs-on-failure", "false"}, {"ginkgo.no-color", "true"},
	}
	for spec := range strings.Lines(specs) {
		// A focus is compared with the suite's name, a space, and the spec's text.
		settings = append(settings, [2]string{"ginkgo.focus", " " + regexp.QuoteMeta(strings.TrimSpace(spec)) + "$"})
	}
	for _, setting := range settings {
		if err := flag.Set(setting[0], setting[1]); err != nil {
			return 0, err
		}
	}
	framework.AfterReadingAllFlags(&framework.TestContext)
	return m.Run(), nil
}

// startCluster builds the program and starts a cluster of four nodes, whose kubeconfig it writes.
func startCluster(program, kubeconfig string) (stop func(), err error) {
	build := exec.Command("go", "build", "-C", "../../cluster", "-o", program, "-ldflags",
		"-s -w -X k8s.io/component-base/version.gitVersion=v1.37.1 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37", ".")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	cluster := exec.Command(program, "cluster", "--rbac", "--time", "real", "--job-duration", "0", "cluster.yaml", "--kubeconfig-file", kubeconfig)
	cluster.Stderr = os.Stderr
	out, err := cluster.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cluster.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		if err := cluster.Process.Signal(os.Interrupt); err == nil {
			_ = cluster.Wait()
		}
	}
	if !bufio.NewScanner(out).Scan() { // the first line says that the cluster is ready
		stop()
		return nil, fmt.Errorf("%s ended before it was ready", program)
	}
	return stop, nil
}

// Each spec passes, of those that pass on a real control plane whose nodes run no container.
func TestSpecs(t *testing.T) {
	e2e.RunE2ETests(t)
	for spec := range strings.Lines(specs) {
		if text := strings.TrimSpace(spec); results[text] != types.SpecStatePassed {
			t.Errorf("%s: %s", text, results[text])
		}
	}
}
