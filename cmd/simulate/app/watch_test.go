package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

// spoken is a standard error that can be read while it is written.
type spoken struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *spoken) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(data)
}

func (l *spoken) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// until waits until the text has a match.
func (l *spoken) until(t *testing.T, pattern string) []string {
	t.Helper()
	for range 1500 {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(l.String()); found != nil {
			return found
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("no %s in:\n%s", pattern, l)
	return nil
}

const watchedDump = `apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: a, topology.kubernetes.io/zone: east}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: b, labels: {kubernetes.io/hostname: b, topology.kubernetes.io/zone: west}}
status: {allocatable: {cpu: "1", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 500m}}}]}
`

// Four replicas of half a CPU are on nodes of 4 CPUs and of 1. Zone west has room for two at most, so that some of those that zone east
// loses do not come back. A look at the broken file fails: it keeps the figures, and is counted.
func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(watchedDump)
	ctx, stop := context.WithCancel(context.Background())
	var out bytes.Buffer
	said, ended := &spoken{}, make(chan int)
	go func() {
		ended <- execute(ctx, inmemory.StartProgram, command.OwnName, []string{"watch", file, "--every", "1s", "--metrics", "127.0.0.1:0", "--level", "zone"}, nil, &out, said)
	}()
	address := said.until(t, `metrics are at (http://\S+/metrics)`)[1]
	said.until(t, `2 nodes and 4 pods, 0 Pending; \d pods? would not come back if topology.kubernetes.io/zone=east failed`)
	get := func() string {
		answer, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, want := range []string{
		`faultline_failure_pods_not_back{domain="east",level="zone"} [1-4]`, `faultline_workload_pods_not_back{level="zone",namespace="default",workload="deployment/web"} [1-4]`,
		`faultline_workload_room_replicas{namespace="default",workload="deployment/web"} 6`, `faultline_lint_findings{check="budget-missing",severity="warning"} 1`,
	} {
		if !regexp.MustCompile(want).MatchString(get()) {
			t.Errorf("no %s in:\n%s", want, get())
		}
	}
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "rebound.example" // a name that was made to stand for this machine
	if answer, err := http.DefaultClient.Do(request); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("by another name: %+v, %v", answer, err)
	}
	write("kind: [")
	said.until(t, `the look failed: .*dump.yaml`)
	if got := get(); !strings.Contains(got, `workload="deployment/web"`) || !regexp.MustCompile(`faultline_failed_looks_total [1-9]`).MatchString(got) {
		t.Errorf("after a look that failed:\n%s", got)
	}
	stop()
	if code := <-ended; code != 0 || out.Len() > 0 {
		t.Errorf("exit code %d, standard output %q", code, out.String())
	}
}

// The commands of the keys for k9s and of the Job before a sync exist, with their flags.
func TestDeployedCommands(t *testing.T) {
	check := func(where string, args []string) {
		root, _ := newProgram(command.OwnName, command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, inmemory.StartProgram)
		cmd, rest, err := root.Find(args)
		if err = errors.Join(err, cmd.ParseFlags(rest)); err != nil || cmd == root {
			t.Errorf("%s: %q: %v", where, args, err)
		}
	}
	read := func(name string, into any) {
		data, err := os.ReadFile(filepath.Join("../../../deploy", name))
		if err == nil {
			err = yaml.UnmarshalStrict(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var k9s struct {
		Plugins map[string]struct {
			ShortCut, Description, Command string
			Background                     bool
			Scopes, Args                   []string
		}
	}
	read("k9s/plugins.yaml", &k9s)
	keys := map[string]bool{}
	for name, plugin := range k9s.Plugins {
		keys[plugin.ShortCut] = true
		line, is := strings.CutPrefix(plugin.Args[1], "kubectl faultline ")
		line, shown := strings.CutSuffix(line, " 2>&1 | less -RK")
		if !is || !shown || plugin.Command != "bash" || plugin.Args[0] != "-c" || plugin.Description == "" || len(plugin.Scopes) == 0 {
			t.Errorf("%s is %+v", name, plugin)
		}
		check(name, strings.Fields(strings.ReplaceAll(line, `"`, "")))
	}
	if len(keys) != 6 {
		t.Errorf("there are %d keys for k9s, want 6", len(keys))
	}
	var job batchv1.Job
	read("gitops/presync.yaml", &job)
	spec, asked := job.Spec.Template.Spec, 0
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		if strings.Contains(c.Image, "faultline") {
			check(c.Name, c.Args)
			asked++
		}
	}
	if asked != 2 || job.Annotations["argocd.argoproj.io/hook"] != "PreSync" {
		t.Errorf("the Job before a sync asks %d times, and has %v", asked, job.Annotations)
	}
}

// The deployment grants the rights that simulate rbac prints, and runs a command that exists.
func TestDeploy(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("../../../deploy", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var out bytes.Buffer
	if code := execute(context.Background(), inmemory.StartProgram, command.OwnName, []string{"rbac"}, nil, &out, io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if diff := cmp.Diff(out.String(), string(read("chart/files/clusterrole.yaml"))); diff != "" {
		t.Errorf("clusterrole.yaml (-simulate rbac +deploy):\n%s", diff)
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(read("kustomization.yaml"), &kustomization); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../deploy/*.yaml")
	ofChart, _ := filepath.Glob("../../../deploy/chart/files/*.yaml") // the pattern is valid
	if err != nil || len(files)+len(ofChart) != len(kustomization.Resources)+1 {
		t.Errorf("%d files of %v, %v", len(files), kustomization.Resources, err)
	}
	for _, name := range kustomization.Resources {
		read(name)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(read("deployment.yaml"), &deployment); err != nil {
		t.Fatal(err)
	}
	var service v1.Service
	if err := yaml.UnmarshalStrict(read("service.yaml"), &service); err != nil {
		t.Fatal(err)
	}
	root, _ := newProgram(command.OwnName, command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, inmemory.StartProgram)
	cmd, rest, err := root.Find(deployment.Spec.Template.Spec.Containers[0].Args)
	if err = errors.Join(err, cmd.ParseFlags(rest)); err != nil || cmd.Name() != "watch" {
		t.Errorf("%s: %v", cmd.Name(), err)
	}
	if port := deployment.Spec.Template.Spec.Containers[0].Ports[0]; !strings.HasSuffix(cmd.Flags().Lookup("metrics").Value.String(), ":9464") || port.ContainerPort != service.Spec.Ports[0].Port {
		t.Errorf("the metrics are at another port than the Service's")
	}
}
