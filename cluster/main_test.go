package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

var update = flag.Bool("update", false, "write the documented output anew")

// asProgram has the test's own program be simulate-cluster or kubectl: a process can have one API server.
const asProgram = "FAULTLINE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "simulate":
		os.Exit(app.MainWithCluster(serve, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	case "kubectl":
		if err := kubectl.NewDefaultKubectlCommand().Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// repo is the top of the repository, in which the commands run.
const repo = ".."

// testCluster is a cluster that runs in a process of its own.
type testCluster struct{ kubeconfig string }

// start runs simulate cluster with the arguments until the test ends.
func start(t *testing.T, args ...string) testCluster {
	t.Helper()
	c := testCluster{filepath.Join(t.TempDir(), "kubeconfig")}
	cmd := program(t.Context(), "simulate", append([]string{"cluster", "--kubeconfig-file", c.kubeconfig}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Errorf("the cluster ended with %v: %s", err, said.String())
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if want := "export KUBECONFIG=" + c.kubeconfig + "\n"; line != want {
		t.Fatalf("the cluster printed %q, %v: %s", line, err, said.String())
	}
	return c
}

// run runs a command line of kubectl or simulate, and returns what it prints.
func (c testCluster) run(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	cmd := program(t.Context(), words[0], words[1:]...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+c.kubeconfig)
	out, _ := cmd.CombinedOutput() // a refusal is an answer
	return string(out)
}

// program returns a command that runs one of the programs that the test's own program can be.
func program(ctx context.Context, name string, args ...string) *exec.Cmd {
	own, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(ctx, own, args...)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), asProgram+"="+name)
	return cmd
}

var (
	// example is a command of docs/cluster.md with what it prints.
	example = regexp.MustCompile("(?ms)^\\$ ((?:kubectl|simulate) [^\n]*)\n(.*?)(^\\$ |^```)")
	// age is a length of time since something happened, in kubectl's words.
	age = regexp.MustCompile(`(\b|<)(\d+(ms|s|m)\d*s?|invalid>)(\s)`)
)

// What docs/cluster.md shows is what kubectl prints, but for ages: the walkthrough with kubectl, on the cluster that simulate cluster runs.
func TestDocument(t *testing.T) {
	file := filepath.Join(repo, "docs/cluster.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, c := string(data), start(t)
	for at := 0; ; {
		found := example.FindStringSubmatchIndex(text[at:])
		if found == nil {
			if at == 0 {
				t.Errorf("%s shows no command", file)
			}
			break
		}
		line, want := text[at+found[2]:at+found[3]], text[at+found[4]:at+found[5]]
		got := c.run(t, line)
		got = strings.ReplaceAll(got, c.kubeconfig, "faultline.kubeconfig")
		if *update {
			text = text[:at+found[4]] + got + text[at+found[5]:]
			at += found[4] + len(got)
			continue
		}
		if diff := gocmp.Diff(withoutAges(want), withoutAges(got)); diff != "" {
			t.Errorf("$ %s (-documented +printed):\n%s", line, diff)
		}
		at += found[5]
	}
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutAges replaces ages, and the spaces that align columns, which depend on them.
func withoutAges(text string) string {
	text = age.ReplaceAllString(text, "AGE$4")
	return regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ")
}

// A scenario and the same commands of kubectl end with the same pods on the same nodes.
func TestIsTheScenario(t *testing.T) {
	s, err := loader.Load(filepath.Join(repo, "scenarios/kind-walkthrough"), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := simulation.Run(t.Context(), s, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := start(t)
	for _, step := range result.Steps {
		var spec = s.Steps[slices.IndexFunc(result.Steps, func(other simulation.Step) bool { return other.Name == step.Name })]
		if spec.Fresh {
			c.run(t, "kubectl delete deployments --all")
		}
		for _, file := range spec.Apply.Files {
			c.run(t, "kubectl apply -f "+filepath.Join("scenarios/kind-walkthrough", file))
		}
		var pods v1.PodList
		if err := json.Unmarshal([]byte(c.run(t, "kubectl get pods -o json")), &pods); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(placements(step.State.Pods), placements(pointers(pods.Items))); diff != "" {
			t.Errorf("%s (-scenario +kubectl):\n%s", step.Name, diff)
		}
	}
}

func pointers(pods []v1.Pod) []*v1.Pod {
	all := make([]*v1.Pod, len(pods))
	for i := range pods {
		all[i] = &pods[i]
	}
	return all
}

// placements returns the node and the phase of each pod of the namespace default, sorted. Names are chance in both.
func placements(pods []*v1.Pod) []string {
	var all []string
	for _, pod := range pods {
		if pod.Namespace == v1.NamespaceDefault && pod.DeletionTimestamp == nil {
			all = append(all, fmt.Sprintf("%s on %s", pod.Status.Phase, cmp.Or(pod.Spec.NodeName, "no node")))
		}
	}
	slices.Sort(all)
	return all
}

// A command after -- runs with the cluster, and its exit code is the program's.
func TestCommand(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"--nodes", "2", "--", "sh", "-c", "test -s $KUBECONFIG && stat -c %a $KUBECONFIG"}, 0, "600\n"},
		{[]string{"--", "sh", "-c", "exit 7"}, 7, ""},
		{[]string{"--"}, 2, "simulate: error: nothing follows --; give a command, such as: -- kubectl get nodes\nsimulate: hint: see 'simulate cluster --help'\n"},
		{[]string{"scenarios/karmada"}, 2, ""},
	} {
		cmd := program(t.Context(), "simulate", append([]string{"cluster"}, test.args...)...)
		out, _ := cmd.CombinedOutput() // the code says it
		if code := cmd.ProcessState.ExitCode(); code != test.code || test.out != "" && string(out) != test.out {
			t.Errorf("%q: code %d, want %d; printed %q", test.args, code, test.code, out)
		}
	}
}

// The port that another server has is an error that names it.
func TestPortInUse(t *testing.T) {
	c := start(t)
	config, err := os.ReadFile(c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindSubmatch(config)[1]
	out, _ := program(t.Context(), "simulate", "cluster", "--port", string(port)).CombinedOutput()
	if want := fmt.Sprintf("simulate: error: listen tcp 127.0.0.1:%s: bind: address already in use: name another port with --port\n", port); string(out) != want {
		t.Errorf("printed %q, want %q", out, want)
	}
}
