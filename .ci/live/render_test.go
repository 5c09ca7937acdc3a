//go:build live

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// renders are the commands whose output the gate compares in testdata/monorepo.
var renders = []string{"helm template shop charts/shop", "kustomize build apps/search/overlays/eu", "kustomize build apps/search/overlays/us"}

// buildTools builds simulate, helm and kustomize, and puts their folder first in the PATH.
func buildTools(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	for _, build := range [][]string{
		{"build", "-o", folder + "/", "helm.sh/helm/v3/cmd/helm", "sigs.k8s.io/kustomize/kustomize/v5"},
		{"build", "-C", "../..", "-o", folder + "/", "./cmd/simulate"},
	} {
		if out, err := exec.Command("go", build...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(build, " "), err, out)
		}
	}
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", folder)
}

// edit is an edit of a file: the text old becomes new. With an empty old, new is the file.
type edit struct{ file, old, new string }

// change is an edit of testdata/monorepo. want is the first line of the gate on it, and exit its status.
type change struct {
	name string
	edit
	exit int
	want string
}

// Pull requests in a repository with a chart and an application with overlays, as the real helm and kustomize render them.
func TestPullRequests(t *testing.T) {
	buildTools(t)
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			repo := commit(t, "testdata/monorepo")
			c.apply(t, repo)
			first, exit, problems := runGate(t, repo, renders...)
			if first != c.want || exit != c.exit {
				t.Errorf("got  %d %s\nwant %d %s\n%s", exit, first, c.exit, c.want, problems)
			}
		})
	}
}

// commit returns a new repository whose only commit has the files of the folders.
func commit(t *testing.T, folders ...string) string {
	t.Helper()
	repo := t.TempDir()
	for _, folder := range folders {
		if err := os.CopyFS(repo, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repo, "init", "-q", "-b", "main")
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-qm", "base")
	return repo
}

// runGate compares the working tree of a repository with its commit. It returns the first line of the comment, the exit status and what the gate
// writes to standard error.
func runGate(t *testing.T, repo string, renders ...string) (first string, exit int, problems string) {
	t.Helper()
	args := []string{"gate", "--base", "HEAD", "--cluster", "nodes.yaml"}
	for _, render := range renders {
		args = append(args, "--render", render)
	}
	gate := exec.Command("simulate", args...)
	gate.Dir = repo
	var stderr strings.Builder
	gate.Stderr = &stderr
	out, _ := gate.Output()
	if lines := strings.Count(string(out), "\n"); lines > 200 {
		t.Errorf("the comment has %d lines", lines)
	}
	first, _, _ = strings.Cut(string(out), "\n")
	return first, gate.ProcessState.ExitCode(), stderr.String()
}

func (e edit) apply(t *testing.T, repo string) {
	t.Helper()
	file := filepath.Join(repo, e.file)
	text := e.new
	if e.old != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), e.old) {
			t.Fatalf("%s has no %q", e.file, e.old)
		}
		text = strings.Replace(string(data), e.old, e.new, 1)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, folder string, args ...string) {
	t.Helper()
	program := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	program.Dir = folder
	if out, err := program.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

var changes = []change{
	{name: "documentation", edit: edit{"README.md", "The chart", "The only chart"},
		want: "✅ nothing is worse than in the base"},
	{name: "image", edit: edit{"charts/shop/values.yaml", `tag: "1.0"`, `tag: "1.1"`},
		want: "✅ nothing is worse than in the base; a rollout replaces the pods of shop-web"},
	{name: "one more replica", edit: edit{"charts/shop/values.yaml", "replicas: 3\n  cpu: 500m", "replicas: 4\n  cpu: 500m"},
		want: "✅ nothing is worse than in the base; declared: shop-web: 3 replicas → 4 replicas"},
	{name: "selector with a typo", edit: edit{"apps/search/base/search.yaml", "{pool: general}", "{pool: compute}"}, exit: 3,
		want: "❌ eu/search: 3 of 3 pods Pending, no node has pool=compute; us/search: 3 of 3 pods Pending, no node has pool=compute"},
	{name: "request larger than any node", edit: edit{"charts/shop/values.yaml", "cpu: 500m", "cpu: \"20\""}, exit: 3,
		want: "❌ shop-web: 3 of 3 pods Pending, 20 cpu asked and at most 8 free on 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{name: "budget that allows no eviction", edit: edit{"charts/shop/values.yaml", "minAvailable: 2", "minAvailable: 3"}, exit: 3,
		want: "❌ shop-web: drains never end, its budget allows 0 evictions"},
	{name: "immutable selector", edit: edit{"charts/shop/templates/web.yaml", "    matchLabels: {app: web}\n  template:\n    metadata:\n      labels: {app: web}", "    matchLabels: {app: web, part: front}\n  template:\n    metadata:\n      labels: {app: web, part: front}"}, exit: 3,
		want: "❌ shop-web: spec.selector: field is immutable; delete it first, or give it another name"},
	{name: "immutable claim", edit: edit{"charts/shop/values.yaml", "storageClass: fast", "storageClass: slow"}, exit: 3,
		want: "❌ shop-db: spec.volumeClaimTemplates: field is immutable; delete it first, or give it another name"},
	{name: "rule dropped", edit: edit{"apps/search/base/search.yaml", "      topologySpreadConstraints:\n      - maxSkew: 1\n        topologyKey: topology.kubernetes.io/zone\n        whenUnsatisfiable: DoNotSchedule\n        labelSelector: {matchLabels: {app: search}}\n", "      priorityClassName: \"\"\n"},
		want: "⚠️ eu/search: drops spread over topology.kubernetes.io/zone, maxSkew 1, DoNotSchedule; us/search: drops spread over topology.kubernetes.io/zone, maxSkew 1, DoNotSchedule"},
	{name: "autoscaler's maximum", edit: edit{"charts/shop/values.yaml", "maxReplicas: 6", "maxReplicas: 400"},
		want: "⚠️ shop-api: at its autoscaler's maximum of 400, 6 before, 352 pods are Pending, 1 cpu asked and at most 0 free on 6 nodes, untolerated taint pool=db:NoSchedule on 3 nodes"},
	{name: "one replica left", edit: edit{"apps/search/base/search.yaml", "replicas: 3", "replicas: 1"}, exit: 3,
		want: "❌ eu/search: 1 replica is left of 3; us/search: 1 replica is left of 3"},
	{name: "only one zone", edit: edit{"apps/search/base/search.yaml", "{pool: general}", "{pool: general, topology.kubernetes.io/zone: eu-a}"}, exit: 3,
		want: "❌ eu/search: a zone takes 3 of 3 (1 if spread evenly); us/search: a zone takes 3 of 3 (1 if spread evenly)"},
	{name: "anti-affinity with more replicas than zones", edit: edit{"charts/shop/values.yaml", "db:\n  replicas: 3", "db:\n  replicas: 4"}, exit: 3,
		want: "❌ shop-db: 1 of 4 pods Pending, anti-affinity over topology.kubernetes.io/zone keeps it off 3 nodes, 6 nodes lack pool=db"},
	{name: "fewer nodes", edit: edit{"nodes.yaml", "pool: db}}\nspec: {taints: [{key: pool, value: db, effect: NoSchedule}]}", "pool: old}}\nspec: {taints: [{key: pool, value: db, effect: NoSchedule}]}"}, exit: 3,
		want: "❌ shop-db: 1 of 3 pods Pending, anti-affinity over topology.kubernetes.io/zone keeps it off 2 nodes, 7 nodes lack pool=db"},
	{name: "new application without a node", edit: edit{"charts/shop/templates/batch.yaml", "", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: batch}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: batch}}\n  template:\n    metadata: {labels: {app: batch}}\n    spec:\n      nodeSelector: {pool: batch}\n      containers: [{name: c, image: i, resources: {requests: {cpu: 100m, memory: 64Mi}}}]\n"}, exit: 3,
		want: "❌ batch: 2 of 2 pods Pending, no node has pool=batch"},
	{name: "renamed", edit: edit{"charts/shop/templates/web.yaml", "name: {{ .Release.Name }}-web\n  labels", "name: {{ .Release.Name }}-front\n  labels"},
		want: "⚠️ shop-front: a rollout leaves its pods skewed by 2 over topology.kubernetes.io/zone in 25 of 40 runs with random ties, though maxSkew is 1"},
	{name: "template that does not render", edit: edit{"charts/shop/templates/web.yaml", "{{ .Values.web.replicas }}", "{{ .Values.web.replicas"}, exit: 2,
		want: "❌ `helm template shop charts/shop`: cannot be rendered: exit status 1: Error: parse error at (shop/templates/web.yaml:8): function \"selector\" not defined"},
	{name: "service without pods", edit: edit{"charts/shop/templates/web.yaml", "  selector: {app: web}\n", "  selector: {app: wbe}\n"},
		want: "⚠️ service/shop-web: no pod has the labels app=wbe, so that the Service leads nowhere; did you mean \"web\"?"},
}
