// Package chart checks the Helm chart by Helm's own code, and what it renders by simulate lint.
package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

const (
	repo   = "../../.."
	folder = repo + "/deploy/chart"
)

// everything are the values with all that is off by default.
const everything = `
watch: {levels: [zone, node], extraArgs: ["--worst=3"]}
review: {timeZone: Europe/Berlin, extraArgs: ["--prices=/config/prices.yaml"]}
volumes: [{name: config, configMap: {name: config}}]
volumeMounts: [{name: config, mountPath: /config}]
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
imagePullSecrets: [{name: registry}]
tolerations: [{key: dedicated, operator: Exists}]
nodeSelector: {pool: general}
podLabels: {team: platform}
podAnnotations: {note: "1"}
priorityClassName: high
`

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the documents of the chart with these values, by kind/name.
func render(t *testing.T, release, text string) (objects map[string][]byte, manifest string, err error) {
	t.Helper()
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := load(t)
	to, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: release, Namespace: "watching", IsInstall: true}, nil)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Render(c, to)
	if err != nil {
		return nil, "", err
	}
	objects = map[string][]byte{}
	for name, file := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		manifest += "---\n" + file + "\n"
		for _, document := range strings.Split("\n"+file, "\n---") {
			var head struct {
				Kind     string
				Metadata struct{ Name, Namespace string }
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			if head.Kind == "" {
				continue
			}
			if cluster := strings.HasPrefix(head.Kind, "ClusterRole"); (head.Metadata.Namespace != "watching") != cluster {
				t.Errorf("%s %s is in the namespace %q", head.Kind, head.Metadata.Name, head.Metadata.Namespace)
			}
			objects[head.Kind+"/"+head.Metadata.Name] = []byte(document)
		}
	}
	return objects, manifest, nil
}

func decode[T any](t *testing.T, objects map[string][]byte, name string) *T {
	t.Helper()
	object := new(T)
	if objects[name] == nil {
		t.Fatalf("there is no %s among %v", name, keys(objects))
	}
	if err := yaml.UnmarshalStrict(objects[name], object); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, objects[name])
	}
	return object
}

func keys(objects map[string][]byte) (all []string) {
	for name := range objects {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func TestLint(t *testing.T) {
	for name, values := range map[string]string{"default": "", "everything": everything} {
		given, err := chartutil.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, message := range lint.All(folder, given, "watching", true).Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, message)
			}
		}
	}
}

func TestRender(t *testing.T) {
	plain, _, err := render(t, "faultline", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ClusterRole/faultline", "ClusterRoleBinding/faultline", "CronJob/faultline-review", "Deployment/faultline", "Service/faultline", "ServiceAccount/faultline"}
	if got := keys(plain); !slices.Equal(got, want) {
		t.Errorf("by default it has %v, want %v", got, want)
	}
	all, _, err := render(t, "prod", everything)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"ClusterRole/prod-faultline", "ClusterRoleBinding/prod-faultline", "ConfigMap/prod-faultline-dashboard", "CronJob/prod-faultline-review", "Deployment/prod-faultline",
		"PrometheusRule/prod-faultline", "Service/prod-faultline", "ServiceAccount/prod-faultline", "ServiceMonitor/prod-faultline"}
	if got := keys(all); !slices.Equal(got, want) {
		t.Errorf("with everything it has %v, want %v", got, want)
	}
	deployment, service, review := decode[appsv1.Deployment](t, all, "Deployment/prod-faultline"), decode[v1.Service](t, all, "Service/prod-faultline"), decode[batchv1.CronJob](t, all, "CronJob/prod-faultline-review")
	selector, pod := labels.SelectorFromSet(service.Spec.Selector), deployment.Spec.Template
	if !selector.Matches(labels.Set(pod.Labels)) || selector.Matches(labels.Set(review.Spec.JobTemplate.Spec.Template.Labels)) {
		t.Errorf("the Service selects %v, the watch has %v, the review %v", service.Spec.Selector, pod.Labels, review.Spec.JobTemplate.Spec.Template.Labels)
	}
	for key, value := range deployment.Spec.Selector.MatchLabels {
		if pod.Labels[key] != value {
			t.Errorf("the Deployment does not select its pods, which have %v", pod.Labels)
		}
	}
	var monitor struct {
		Spec struct {
			Selector struct{ MatchLabels map[string]string }
		}
	}
	if err := yaml.Unmarshal(all["ServiceMonitor/prod-faultline"], &monitor); err != nil || !labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)) {
		t.Errorf("the ServiceMonitor selects %v, and the Service has %v: %v", monitor.Spec.Selector.MatchLabels, service.Labels, err)
	}
	for _, spec := range []v1.PodSpec{pod.Spec, review.Spec.JobTemplate.Spec.Template.Spec} {
		c := spec.Containers[0]
		if spec.ServiceAccountName != "prod-faultline" || spec.NodeSelector["pool"] != "general" || len(spec.Tolerations) != 1 || len(spec.Volumes) != 1 || len(c.VolumeMounts) != 1 ||
			spec.PriorityClassName != "high" || len(spec.ImagePullSecrets) != 1 || !*spec.SecurityContext.RunAsNonRoot || !*c.SecurityContext.ReadOnlyRootFilesystem || c.Image != "ghcr.io/faultline/simulate:latest" {
			t.Errorf("a pod is %+v", spec)
		}
	}
	if got := pod.Spec.Containers[0].Args; !slices.Equal(got, []string{"watch", "--live", "--every=5m", "--metrics=0.0.0.0:9464", "--level=zone", "--level=node", "--worst=3"}) {
		t.Errorf("the watch runs %v", got)
	}
	if got := review.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args; !slices.Equal(got, []string{"review", "--live", "--prices=/config/prices.yaml"}) || review.Spec.Schedule != "0 6 * * 1" || *review.Spec.TimeZone != "Europe/Berlin" {
		t.Errorf("the review runs %v at %s", got, review.Spec.Schedule)
	}
	// The files that kubectl apply -k deploy has, too.
	var files [2]rbacv1.ClusterRole
	for i, data := range [][]byte{all["ClusterRole/prod-faultline"], readFile(t, "files/clusterrole.yaml")} {
		if err := yaml.Unmarshal(data, &files[i]); err != nil {
			t.Fatal(err)
		}
	}
	if len(files[0].Rules) == 0 || !reflect.DeepEqual(files[0].Rules, files[1].Rules) {
		t.Errorf("the ClusterRole is another than that of simulate rbac: %v", files[0].Rules)
	}
	var rules [2]struct{ Spec any }
	for i, data := range [][]byte{all["PrometheusRule/prod-faultline"], readFile(t, "files/prometheusrule.yaml")} {
		if err := yaml.Unmarshal(data, &rules[i]); err != nil {
			t.Fatal(err)
		}
	}
	if rules[0].Spec == nil || !reflect.DeepEqual(rules[0], rules[1]) {
		t.Errorf("the alerts are %v", rules[0])
	}
	if got := decode[v1.ConfigMap](t, all, "ConfigMap/prod-faultline-dashboard"); got.Data["dashboard.json"] != string(readFile(t, "files/dashboard.json")) || got.Labels["grafana_dashboard"] != "1" {
		t.Error("the dashboard is another")
	}
	if none, _, err := render(t, "faultline", "{watch: {enabled: false}, review: {enabled: false}, rbac: {create: false}, serviceAccount: {create: false}, dashboard: {enabled: true}}"); err != nil || len(none) != 0 {
		t.Errorf("with all off it has %v: %v", keys(none), err)
	}
}

// The schema of the values names what is wrong with them.
func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"{wacth: {}}":                         "wacth",
		"{watch: {every: often}}":             "watch.every",
		"{image: {pullPolicy: Sometimes}}":    "image.pullPolicy",
		"{serviceMonitor: {enabled: \"on\"}}": "serviceMonitor.enabled",
	} {
		if _, _, err := render(t, "faultline", text); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "/", "."), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// The chart has nothing that simulate lint calls an error, and its pods fit on the smallest nodes.
func TestSimulateLint(t *testing.T) {
	program := filepath.Join(t.TempDir(), "simulate")
	build := exec.Command("go", "build", "-o", program, "./cmd/simulate")
	build.Dir = repo
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, manifest, err := render(t, "faultline", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"lint", "--fail-on", "error"}, {"run", "--trigger", "all"}} {
		command := exec.Command(program, append(args, "-f", "-", "--nodes", "2", "--zones", "1", "--cpu", "2", "--memory", "4Gi")...)
		command.Stdin = strings.NewReader(manifest)
		if out, err := command.CombinedOutput(); err != nil || args[0] == "run" && !strings.Contains(string(out), "0 pending") && !strings.HasPrefix(string(out), "Yes") {
			t.Errorf("simulate %v: %v\n%s", args, err, out)
		}
	}
}

// Without Helm, kustomize makes the same of the same files.
func TestKustomization(t *testing.T) {
	out, err := exec.Command("go", "tool", "kustomize", "build", repo+"/deploy").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all, _, err := render(t, "faultline", everything)
	if err != nil {
		t.Fatal(err)
	}
	built := map[string][]byte{}
	for _, document := range strings.Split(string(out), "\n---\n") {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			t.Fatal(err)
		}
		built[head.Kind+"/"+head.Metadata.Name] = []byte(document)
	}
	want := append(keys(all), "Namespace/faultline")
	want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, "CronJob/") })
	slices.Sort(want)
	if got := keys(built); !slices.Equal(got, want) {
		t.Errorf("kustomize makes %v, and Helm %v", got, want)
	}
	helm, plain := decode[appsv1.Deployment](t, all, "Deployment/faultline").Spec.Template.Spec.Containers[0], decode[appsv1.Deployment](t, built, "Deployment/faultline").Spec.Template.Spec.Containers[0]
	if !slices.Equal(plain.Args, helm.Args[:len(plain.Args)]) || !reflect.DeepEqual(plain.Resources, helm.Resources) || !reflect.DeepEqual(plain.SecurityContext, helm.SecurityContext) || !reflect.DeepEqual(plain.Ports, helm.Ports) {
		t.Errorf("kustomize runs %+v, and Helm %+v", plain, helm)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
