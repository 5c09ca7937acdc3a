package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"github.com/faultline/faultline/cmd/simulate/app"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
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

// run runs a command line of kubectl, simulate or helm, and returns what it prints.
func (c testCluster) run(t *testing.T, line string) string {
	t.Helper()
	return c.runWords(t, strings.Fields(line)...)
}

// runWords does what run does with a command line whose words may have spaces.
func (c testCluster) runWords(t *testing.T, words ...string) string {
	t.Helper()
	cmd := program(t.Context(), words[0], words[1:]...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+c.kubeconfig)
	out, _ := cmd.CombinedOutput() // a refusal is an answer
	return string(out)
}

// program returns a command that runs one of the programs that the test's own program can be, or helm, which buildHelm has built.
func program(ctx context.Context, name string, args ...string) *exec.Cmd {
	file := name
	if name != "helm" {
		own, err := os.Executable()
		if err != nil {
			panic(err)
		}
		file = own
	}
	cmd := exec.CommandContext(ctx, file, args...)
	cmd.Dir = repo
	cmd.Env = append(os.Environ(), asProgram+"="+name, "KUBECTL_EXTERNAL_DIFF=diff -U0")
	return cmd
}

var (
	// example is a command with what it prints.
	example = regexp.MustCompile("(?ms)^\\$ ((?:kubectl|simulate|helm) [^\n]*)\n(.*?)(^\\$ |^```)")
	// headOfDiff is a line with which kubectl diff names a temporary file.
	headOfDiff = regexp.MustCompile(`(?m)^(diff|---|\+\+\+) .*\n`)
	// age is a length of time since something happened, in kubectl's words.
	age = regexp.MustCompile(`(\b|<)(\d+(ms|s|m)\d*s?|invalid>)(\s)`)
)

// What documents and transcripts show is what kubectl prints, but for ages; -update writes it anew.
func TestTranscripts(t *testing.T) {
	for file, args := range map[string][]string{
		"docs/cluster.md": nil, "cluster/testdata/transcripts.md": {"--nodes", "3", "--zones", "3"}, "cluster/testdata/stand.md": {"--nodes", "3", "--zones", "3", "--time", "stand"},
	} {
		t.Run(file, func(t *testing.T) {
			comparable := withoutAges
			if slices.Contains(args, "stand") {
				comparable = func(text string) string { return text } // every second is known
			}
			checkTranscript(t, file, start(t, args...), comparable)
		})
	}
}

// checkTranscript runs the commands that a file shows. What they print is what the file shows, where both are made comparable.
func checkTranscript(t *testing.T, file string, c testCluster, comparable func(string) string) {
	t.Helper()
	path := filepath.Join(repo, file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for at := 0; ; {
		found := example.FindStringSubmatchIndex(text[at:])
		if found == nil {
			if at == 0 {
				t.Errorf("%s shows no command", file)
			}
			break
		}
		line, from, to := text[at+found[2]:at+found[3]], at+found[4], at+found[5]
		got := headOfDiff.ReplaceAllString(c.run(t, line), "")
		if *update {
			text, to = text[:from]+got+text[to:], from+len(got)
		} else if diff := gocmp.Diff(comparable(text[from:to]), comparable(got)); diff != "" {
			t.Errorf("$ %s (-documented +printed):\n%s", line, diff)
		}
		at = to
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutAges replaces ages, and the spaces that align columns, which depend on them.
func withoutAges(text string) string {
	text = age.ReplaceAllString(text, "AGE$4")
	return regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ")
}

// A command after -- runs with the cluster, and its exit code is the program's.
func TestCommand(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{"--nodes", "3", "--", "sh", "-c", "test -s $KUBECONFIG && stat -c %a $KUBECONFIG"}, 0, "600\n"},
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

// A pod of a dump that lacks the pod's Job runs on: the garbage collector does not hear of a Job that it could not find.
func TestDumpWithoutOwners(t *testing.T) {
	c := start(t, "cluster/testdata/orphans.yaml")
	c.run(t, "kubectl create deployment web --image=pause")
	c.run(t, "kubectl wait --for=condition=Ready pod --all --timeout=5s")
	time.Sleep(time.Second) // in which the garbage collector deletes such a pod
	if got := c.run(t, "kubectl get pod job-x -o custom-columns=PHASE:.status.phase,NODE:.spec.nodeName --no-headers"); got != "Running   node-1\n" {
		t.Errorf("%q", got)
	}
	c.run(t, "kubectl delete pod job-x")
	if got := c.run(t, "kubectl get pods -o name"); strings.Contains(got, "job-x\n") || strings.Count(got, "pod/") != 2 {
		t.Errorf("after its deletion another pod takes its place: %q", got)
	}
}

// A fork goes on from the cluster as it is, with the same names, UIDs and versions, and what happens in one does not happen in the other. So does
// a cluster that was saved, by a command or at its end. A fork ends with its cluster: b with the first a.
func TestForkAndSave(t *testing.T) {
	folder := t.TempDir()
	saved, atEnd := filepath.Join(folder, "saved"), filepath.Join(folder, "at-end")
	const pods = "get pods -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,VERSION:.metadata.resourceVersion,NODE:.spec.nodeName"
	script := strings.Join([]string{
		"set -e", "exec 2>&1",
		"kubectl() { " + asProgram + "=kubectl $SELF \"$@\"; }", "simulate() { " + asProgram + "=simulate $SELF \"$@\"; }",
		"kubectl create deployment web --image=pause --replicas=4 > /dev/null",
		"simulate advance 1h > /dev/null",
		"kubectl " + pods + " > before",
		"simulate fork a > /dev/null", "simulate fork b --context a > /dev/null",
		"for c in a b; do kubectl --context $c " + pods + " | diff before -; done",
		"kubectl --context a get pods --no-headers | awk '{ print $2, $5 }' | uniq -c",
		"simulate fail zone/zone-1 --context a",
		"kubectl --context a get nodes --no-headers | awk '{ print $2 }' | sort | uniq -c",
		"kubectl get nodes --no-headers | awk '{ print $2 }' | sort | uniq -c",
		"kubectl --context b " + pods + " | diff before -",
		"simulate save " + saved,
		"simulate fork a", // goes on from here, where no zone has failed
		"kubectl --context a " + pods + " | diff before -",
		"simulate fork faultline || true", "simulate fork X_ || true",
		"simulate why pod/nope || true", "simulate why deploy/web | grep -c '^Pod default/web-'",
		"kubectl config get-contexts -o name",
	}, "\n")
	for _, args := range [][]string{{"--nodes", "3", "--zones", "3", "--save", atEnd}, {"--load", saved}, {"--load", atEnd}} {
		if args[0] == "--load" {
			script = "exec 2>&1\nkubectl() { " + asProgram + "=kubectl $SELF \"$@\"; }\nkubectl " + pods + " | diff before - && kubectl delete pod --all > /dev/null && kubectl get pods -o name | wc -l"
		}
		cmd := program(t.Context(), "simulate", append([]string{"cluster"}, append(args, "--", "bash", "-c", script)...)...)
		cmd.Env = append(cmd.Env, "SELF="+os.Args[0])
		cmd.Dir = folder
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		want := "4\n"
		if args[0] != "--load" {
			want = fmt.Sprintf(`      4 1/1 60m
a: unreachable: zone-1-node-1
      1 NotReady
      2 Ready
      3 Ready
faultline: saved in %s
faultline: fork a; use it with --context a
simulate: error: faultline: name: faultline is this cluster; give another name
simulate: error: faultline: name: "X_": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
simulate: error: faultline: the scheduler considered no pod nope in namespace default in any step, or at any other pod; give a step that places pods
4
a
faultline
`, saved)
		}
		if diff := gocmp.Diff(want, string(out)); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s%s", args, err, diff, said.String())
		}
	}
	for _, file := range []string{saved, atEnd} {
		if info, err := os.Stat(file); err != nil {
			t.Error(err)
		} else if info.Mode() != 0o600 {
			t.Errorf("%s: %v", file, info.Mode())
		}
	}
}

// What is wrong with a request of the cluster's own is said in one line, and changes nothing.
func TestOwnRequests(t *testing.T) {
	c, file := start(t, "--nodes", "3"), filepath.Join(t.TempDir(), "body")
	for _, test := range []struct{ verb, body, want string }{
		{"steps", "fail: [", "Error from server (BadRequest): error converting YAML to JSON: yaml: line 1: did not find expected node content\n"},
		{"steps", `{"fail":{"names":["nope"]}}`, "Error from server (BadRequest): there is no Node nope; there are zone-1-node-1, zone-2-node-1, zone-3-node-1\n"},
		{"steps", `{"apply":{"files":["/etc/passwd"]}}`, "Error from server (BadRequest): step: must have one of scaleBy, trigger, finish, addNodes, removeNodes, replaceNodes, fail or restore; kubectl does the rest\n"},
		{"steps", `{"fail":{"names":["zone-1-node-1"],"mode":"slowly"}}`, `Error from server (BadRequest): step: fail.mode: "slowly" is not a failure mode; use unreachable, out-of-service or deleted` + "\n"},
		{"steps", strings.Repeat("a", 2<<20), "Error from server (BadRequest): http: request body too large\n"},
		{"advance", `{"by":"-5m"}`, "Error from server (BadRequest): by: -5m0s: give a length of time above 0, such as 10m\n"},
		{"advance", `{"by":"10m"}`, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","message":"advance 10m0s","code":200}` + "\n"},
	} {
		if err := os.WriteFile(file, []byte(test.body), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.run(t, "kubectl create --raw "+inmemory.APIPath+test.verb+" -f "+file); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s %.80s: %q, want %q", test.verb, test.body, got, test.want)
		}
	}
	if got := c.run(t, "kubectl get nodes --no-headers"); strings.Contains(got, "NotReady") {
		t.Error(got)
	}
}
