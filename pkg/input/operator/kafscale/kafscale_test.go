package kafscale

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// installChartByName returns the objects that the chart installs, by name.
func installChartByName(t *testing.T, opts Options, values ...string) (map[string]*appsv1.Deployment, []string) {
	t.Helper()
	result, err := operator.Install([]operator.Operator{New(withValues(opts, values...))})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*appsv1.Deployment{}
	for _, obj := range result.Objects {
		found[obj.GetName()] = obj.Object.(*appsv1.Deployment)
	}
	return found, result.Notes
}

func withValues(opts Options, values ...string) Options {
	for _, value := range values {
		opts.Values = append(opts.Values, Document{Name: "values.yaml", Data: []byte(value)})
	}
	return opts
}

// expandByName returns the objects that the operator creates for the cluster, by kind and name.
func expandByName(t *testing.T, opts Options, text string) (map[string]manifest.Object, []string) {
	t.Helper()
	result, err := tryExpand(t, opts, text)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]manifest.Object{}
	for _, obj := range result.Objects {
		found[kindOf(obj.Object)+" "+obj.GetName()] = obj
	}
	return found, result.Notes
}

func tryExpand(t *testing.T, opts Options, text string) (*operator.Result, error) {
	t.Helper()
	set, err := manifest.Decode("main.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return operator.Expand([]operator.Operator{New(opts)}, set.Ignored)
}

func kindOf(obj any) string {
	switch obj.(type) {
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *appsv1.Deployment:
		return "Deployment"
	case *v1.Service:
		return "Service"
	case *batchv1.CronJob:
		return "CronJob"
	case *autoscalingv2.HorizontalPodAutoscaler:
		return "HorizontalPodAutoscaler"
	}
	return "PodDisruptionBudget"
}

const (
	enabled = "proxy: {enabled: true}"
	main    = `{apiVersion: kafscale.io/v1alpha1, kind: KafscaleCluster, metadata: {name: main, namespace: kafka}, spec: {brokers: {}, s3: {bucket: b, region: r}}}`
	managed = "operator: {etcdEndpoints: []}"
)

// As in test/chart/proxy-antiaffinity_test.sh of KafScale/platform: by default one soft term over hosts with the labels of the pods,
// whatever they are; an affinity in the values replaces it.
func TestProxyKeepsApart(t *testing.T) {
	own := func(name, release string) map[string]string {
		return map[string]string{nameLabel: name, instanceLabel: release, componentLabel: "proxy"}
	}
	drifted := map[string]string{nameLabel: "kafscale-proxy", componentLabel: "proxy"}
	for name, test := range map[string]struct {
		opts     Options
		values   []string
		selector map[string]string // the selector of the only term; nil means no rule
		works    bool
	}{
		"default":                              {Options{Release: "rel"}, nil, own("kafscale-proxy", "rel"), true},
		"nameOverride":                         {Options{Release: "rel"}, []string{"nameOverride: foo"}, own("foo-proxy", "rel"), true},
		"fullnameOverride":                     {Options{Release: "rel"}, []string{"fullnameOverride: bar"}, own("kafscale-proxy", "rel"), true},
		"both":                                 {Options{Release: "rel"}, []string{"nameOverride: foo\nfullnameOverride: bar"}, own("foo-proxy", "rel"), true},
		"before":                               {Options{Release: "rel", Revision: Before}, nil, nil, false},
		"drifted, default":                     {Options{Release: "rel", Revision: Drifted}, nil, drifted, true},
		"drifted, nameOverride":                {Options{Release: "rel", Revision: Drifted}, []string{"nameOverride: foo"}, drifted, false},
		"drifted, fullnameOverride":            {Options{Release: "rel", Revision: Drifted}, []string{"fullnameOverride: bar"}, drifted, true},
		"drifted, node affinity of the values": {Options{Release: "rel", Revision: Drifted}, []string{"proxy: {affinity: {nodeAffinity: {}}}"}, drifted, true},
		"affinity of the values":               {Options{Release: "rel"}, []string{"proxy: {affinity: {nodeAffinity: {}}}"}, nil, false},
		"empty affinity of the values":         {Options{Release: "rel"}, []string{"proxy: {affinity: {}}"}, own("kafscale-proxy", "rel"), true},
	} {
		t.Run(name, func(t *testing.T) {
			found, notes := installChartByName(t, test.opts, append([]string{enabled}, test.values...)...)
			var d *appsv1.Deployment
			for at, candidate := range found {
				if strings.HasSuffix(at, "-proxy") {
					d = candidate
				}
			}
			if diff := cmp.Diff(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels); diff != "" {
				t.Errorf("the Deployment does not select its pods:\n%s", diff)
			}
			affinity := d.Spec.Template.Spec.Affinity
			if test.selector == nil {
				if affinity != nil && affinity.PodAntiAffinity != nil {
					t.Errorf("it has %v", affinity.PodAntiAffinity)
				}
				return
			}
			checkSoft(t, affinity, test.selector)
			works := true
			for key, value := range test.selector {
				works = works && d.Spec.Template.Labels[key] == value
			}
			if works != test.works {
				t.Errorf("matches its own pods: %v", works)
			}
			if warned := slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, "keeps none of them apart") }); warned == works {
				t.Errorf("warned of an inert rule: %v\n%v", warned, notes)
			}
		})
	}
}

// checkSoft checks that there is exactly one soft term, of weight 100 and over hosts, and no required one.
func checkSoft(t *testing.T, affinity *v1.Affinity, selector map[string]string) {
	t.Helper()
	if affinity == nil || affinity.PodAntiAffinity == nil {
		t.Fatal("there is no anti-affinity")
	}
	want := &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{operator.HostAffinityTerm(100, selector)}}
	if diff := cmp.Diff(want, affinity.PodAntiAffinity); diff != "" {
		t.Errorf("anti-affinity (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 58)
	for values, test := range map[string]struct{ release, name, podName string }{
		"":                      {"rel", "rel-kafscale-proxy", "kafscale-proxy"},
		"{}":                    {"kafscale", "kafscale-proxy", "kafscale-proxy"},
		"nameOverride: foo":     {"rel", "rel-foo-proxy", "foo-proxy"},
		"fullnameOverride: bar": {"rel", "bar-proxy", "kafscale-proxy"},
		"{nameOverride: foo, fullnameOverride: bar}": {"rel", "bar-proxy", "foo-proxy"},
		"fullnameOverride: " + long:                  {"rel", long + "-prox", "kafscale-proxy"},
	} {
		found, _ := installChartByName(t, Options{Release: test.release, Namespace: "kafka"}, enabled, values)
		d := found[test.name]
		if d == nil {
			t.Errorf("%s: there is no %s among %v", values, test.name, slices.Sorted(maps.Keys(found)))
			continue
		}
		labels := d.Spec.Template.Labels
		if d.Namespace != "kafka" || labels[nameLabel] != test.podName || labels[instanceLabel] != test.release || *d.Spec.Replicas != 2 {
			t.Errorf("%s: %s in %s has the pod labels %v", values, d.Name, d.Namespace, labels)
		}
		if d.Labels[nameLabel] == labels[nameLabel] {
			t.Errorf("%s: the Deployment has the name of its pods, %s", values, d.Labels[nameLabel])
		}
	}
}

func TestWorkloadsOfTheChart(t *testing.T) {
	found, _ := installChartByName(t, Options{Release: "kafscale"}, "{}")
	if diff := cmp.Diff([]string{"kafscale-console", "kafscale-operator"}, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("default (-want +got):\n%s", diff)
	}
	found, _ = installChartByName(t, Options{}, `{console: {enabled: false}, mcp: {enabled: true}, operator: {replicaCount: 2, nodeSelector: {a: b}}}`)
	if diff := cmp.Diff([]string{"kafscale-mcp", "kafscale-operator"}, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("chosen (-want +got):\n%s", diff)
	}
	if found["kafscale-mcp"].Namespace != "kafscale-mcp" || *found["kafscale-operator"].Spec.Replicas != 2 {
		t.Error("mcp is elsewhere, or the operator has other replicas")
	}
	if diff := cmp.Diff([]operator.Origin{{Field: "nodeSelector", Level: "chart values"}}, operator.OriginsOf(found["kafscale-operator"])); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
	if New(Options{}).Install != nil {
		t.Error("a chart is installed though none of its options are given")
	}
}

// As in pkg/operator/antiaffinity_test.go of KafScale/platform: the selector is the labels of the template, for brokers and etcd.
func TestOperatorKeepsApart(t *testing.T) {
	found, _ := expandByName(t, withValues(Options{}, managed), main)
	for _, name := range []string{"broker", "etcd"} {
		set := found["StatefulSet main-"+name].Object.(*appsv1.StatefulSet)
		labels := map[string]string{"app": "kafscale-" + name, "cluster": "main"}
		checkSoft(t, set.Spec.Template.Spec.Affinity, labels)
		if diff := cmp.Diff(labels, set.Spec.Template.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", name, diff)
		}
		if *set.Spec.Replicas != 3 || set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement || set.Namespace != "kafka" {
			t.Errorf("%s: %d replicas, %s, in %s", name, *set.Spec.Replicas, set.Spec.PodManagementPolicy, set.Namespace)
		}
	}
}

func TestEtcdIsManagedOrNot(t *testing.T) {
	given := strings.Replace(main, "spec: {", `spec: {etcd: {endpoints: ["http://other:2379"]}, `, 1)
	blank := strings.Replace(main, "spec: {", `spec: {etcd: {endpoints: [" "]}, `, 1)
	for name, test := range map[string]struct {
		values, resource string
		managed          bool
	}{
		"chart as it is":           {"{}", main, false},
		"value emptied":            {managed, main, true},
		"value removed":            {"operator: {etcdEndpoints: null}", main, true},
		"endpoints in resource":    {managed, given, false},
		"blank ones in resource":   {managed, blank, true},
		"endpoints in both places": {"{}", given, false},
	} {
		found, notes := expandByName(t, withValues(Options{}, test.values), test.resource)
		if _, made := found["StatefulSet main-etcd"]; made != test.managed {
			t.Errorf("%s: there is an etcd: %v", name, made)
		}
		if len(found) != map[bool]int{false: 4, true: 11}[test.managed] {
			t.Errorf("%s: made %v", name, slices.Sorted(maps.Keys(found)))
		}
		if told := slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, "makes no etcd") }); told != (!test.managed && test.resource == main) {
			t.Errorf("%s: told that there is none: %v", name, told)
		}
	}
}

func TestEtcd(t *testing.T) {
	for name, test := range map[string]struct {
		values   string
		replicas int32
		claims   int
		requests string
	}{
		"by default":    {managed, 3, 1, "0"},
		"five":          {"operator: {etcdEndpoints: [], etcdReplicas: 5}", 5, 1, "0"},
		"text":          {`operator: {etcdEndpoints: [], etcdReplicas: "5"}`, 5, 1, "0"},
		"no number":     {"operator: {etcdEndpoints: [], etcdReplicas: many}", 3, 1, "0"},
		"less than one": {"operator: {etcdEndpoints: [], etcdReplicas: 0}", 3, 1, "0"},
		"in memory":     {"operator: {etcdEndpoints: [], etcdStorageMemory: true}", 3, 0, "4Gi"},
	} {
		found, _ := expandByName(t, withValues(Options{}, test.values), main)
		set := found["StatefulSet main-etcd"].Object.(*appsv1.StatefulSet)
		pod := set.Spec.Template.Spec
		if *set.Spec.Replicas != test.replicas || len(set.Spec.VolumeClaimTemplates) != test.claims || pod.Containers[0].Resources.Requests.Memory().String() != test.requests {
			t.Errorf("%s: %d replicas, %d claims, memory %s", name, *set.Spec.Replicas, len(set.Spec.VolumeClaimTemplates), pod.Containers[0].Resources.Requests.Memory())
		}
		if len(pod.InitContainers) != 2 || len(pod.Volumes) != 2-test.claims {
			t.Errorf("%s: %d init containers, %d volumes", name, len(pod.InitContainers), len(pod.Volumes))
		}
	}
	found, _ := expandByName(t, withValues(Options{}, managed, "operator: {etcdStorageSize: 20Gi, etcdStorageClass: fast}"), main)
	claim := found["StatefulSet main-etcd"].Object.(*appsv1.StatefulSet).Spec.VolumeClaimTemplates[0].Spec
	if claim.Resources.Requests.Storage().String() != "20Gi" || *claim.StorageClassName != "fast" {
		t.Errorf("the claim is of %s, class %s", claim.Resources.Requests.Storage(), *claim.StorageClassName)
	}
}

// The pods of all three CronJobs have etcd's labels; those of maintenance have more.
func TestPodsOfCronJobsHaveTheLabelsOfEtcd(t *testing.T) {
	found, _ := expandByName(t, withValues(Options{}, managed), main)
	want := map[string]map[string]string{
		"etcd-snapshot":          {"app": "kafscale-etcd", "cluster": "main"},
		"etcd-maintenance":       {"app": "kafscale-etcd", "cluster": "main", componentLabel: "etcd-maintenance", "kafscale.io/etcd-task": "maintenance"},
		"etcd-maintenance-check": {"app": "kafscale-etcd", "cluster": "main", componentLabel: "etcd-maintenance", "kafscale.io/etcd-task": "maintenance-check"},
	}
	for name, labels := range want {
		template := found["CronJob main-"+name].Object.(*batchv1.CronJob).Spec.JobTemplate.Spec.Template
		if diff := cmp.Diff(labels, template.Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if template.Spec.Affinity != nil {
			t.Errorf("%s has a rule", name)
		}
	}
}

func TestBrokersAndLfsProxy(t *testing.T) {
	found, notes := expandByName(t, Options{}, `
apiVersion: kafscale.io/v1alpha1
kind: KafscaleCluster
metadata: {name: main}
spec:
  brokers: {replicas: 5, resources: {requests: {cpu: 1}}, nodeSelector: {a: b}}
  s3: {bucket: b, region: r}
  lfsProxy: {enabled: true, http: {enabled: true}}
  ui: {enabled: false}
`)
	set := found["StatefulSet main-broker"].Object.(*appsv1.StatefulSet)
	if resources := set.Spec.Template.Spec.Containers[0].Resources; len(resources.Requests) > 0 || *set.Spec.Replicas != 5 || set.Namespace != "default" {
		t.Errorf("requests %v, %d replicas, in %s", resources.Requests, *set.Spec.Replicas, set.Namespace)
	}
	hpa := found["HorizontalPodAutoscaler main-broker"].Object.(*autoscalingv2.HorizontalPodAutoscaler)
	if *hpa.Spec.MinReplicas != 5 || hpa.Spec.MaxReplicas != 20 {
		t.Errorf("from %d to %d replicas", *hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas)
	}
	lfs := found["Deployment main-lfs-proxy"].Object.(*appsv1.Deployment)
	if *lfs.Spec.Replicas != 2 || lfs.Spec.Template.Spec.Affinity != nil || lfs.Spec.Template.Labels["app"] != "kafscale-lfs-proxy" {
		t.Errorf("%d replicas, affinity %v, labels %v", *lfs.Spec.Replicas, lfs.Spec.Template.Spec.Affinity, lfs.Spec.Template.Labels)
	}
	want := []string{`unknown field "spec.brokers.nodeSelector"`, "spec.brokers.resources has no effect", "makes no etcd", "assumed: the image of the lfs-proxy"}
	if len(notes) != len(want) {
		t.Fatalf("notes %q", notes)
	}
	for i := range want {
		if !strings.Contains(notes[i], want[i]) {
			t.Errorf("note %d: %s, want %s", i, notes[i], want[i])
		}
	}
}

func TestWrongResources(t *testing.T) {
	for text, want := range map[string][]string{
		`spec: {}`: {"spec.s3.bucket: missing", "spec.s3.region: missing", "spec.brokers: missing"},
		`spec: {brokers: {replicas: 0}, s3: {bucket: b}, lfsProxy: {replicas: -1}}`: {
			"spec.s3.region: missing", "spec.brokers.replicas: 0 is less than 1", "spec.lfsProxy.replicas: -1 is less than 0"},
		`status: {}`: {"spec: missing; give at least s3.bucket, s3.region and brokers"},
		`spec: {brokers: {replicas: many}, s3: {bucket: 1, region: r}}`: {
			`spec.brokers.replicas: Invalid value: "many": a string where a whole number is wanted`,
			"spec.s3.bucket: Invalid value: 1: a number where a string is wanted; put it in quotes"},
	} {
		_, err := tryExpand(t, Options{}, "apiVersion: kafscale.io/v1alpha1\nkind: KafscaleCluster\nmetadata: {name: main}\n"+text)
		if err == nil {
			t.Errorf("%s: nothing is wrong", text)
			continue
		}
		var lines []string
		for _, line := range want {
			lines = append(lines, "main.yaml: KafscaleCluster default/main: "+line)
		}
		if diff := cmp.Diff(lines, strings.Split(err.Error(), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for version, want := range map[string]string{
		"kafscale.io/v1":                    "apiVersion: unknown version v1 of KafscaleCluster: use kafscale.io/v1alpha1",
		"kafscale.novatechflow.io/v1alpha1": "use apiVersion: kafscale.io/v1alpha1",
	} {
		if _, err := tryExpand(t, Options{}, strings.Replace(main, "kafscale.io/v1alpha1", version, 1)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestWrongValues(t *testing.T) {
	opts := withValues(Options{}, "proxy: {replicaCount: two, affinity: [], whatever: 1}", "a: [", "operator: {etcdStorageSize: big}", "# nothing\n")
	want := []string{
		`values.yaml: proxy.affinity: Invalid value: []: a list where an object is wanted`,
		`values.yaml: proxy.replicaCount: Invalid value: "two": a string where a whole number is wanted`,
		`values.yaml: line 1: not valid YAML: `,
		`values.yaml: operator.etcdStorageSize: "big" is not a quantity; give, for example, 10Gi`,
	}
	err := opts.Validate()
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	got := strings.Split(err.Error(), "\n")
	slices.Sort(got[:2])
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%v", len(got), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%s\nwant %s", got[i], want[i])
		}
	}
	if _, err := tryExpand(t, opts, main); err == nil {
		t.Error("wrong values expand")
	}
	_, notes := installChartByName(t, Options{}, "proxy: {enabled: true, affinity: {podAffinty: {}}}")
	if len(notes) != 1 || !strings.Contains(notes[0], `unknown field "proxy.affinity.podAffinty"; did you mean`) {
		t.Errorf("notes %q", notes)
	}
}

// Helm drops values that would decide where pods go but that no template reads; the user is warned here.
func TestDroppedValues(t *testing.T) {
	_, notes := installChartByName(t, Options{}, "topologySpreadConstraints: []\nproxy: {enabled: true, topologySpreadConstraints: [{maxSkew: 1}], replicas: 3, image: {digest: d}}\n")
	var got []string
	for _, note := range notes {
		_, said, _ := strings.Cut(note, "values.yaml: ")
		got = append(got, said)
	}
	slices.Sort(got)
	const dropped = ": the chart has no such value, and Helm drops it without a word"
	want := []string{"proxy.replicas" + dropped, "proxy.topologySpreadConstraints" + dropped, "topologySpreadConstraints" + dropped}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An affinity without anti-affinity removes the rule that keeps the proxies apart, and its origin says so.
func TestAffinityReplacesTheDefault(t *testing.T) {
	const node = "proxy: {enabled: true, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}]}]}}}}"
	for revision, want := range map[Revision]string{Fixed: "dropped by chart values", Drifted: "chart values", Before: ""} {
		found, _ := installChartByName(t, Options{Revision: revision}, node)
		got := found["kafscale-proxy"].GetAnnotations()[operator.OriginAnnotation+"affinity.podAntiAffinity"]
		if got != want {
			t.Errorf("%s: %q, want %q", revision, got, want)
		}
	}
}

func TestOver(t *testing.T) {
	file := withValues(Options{Release: "file", Namespace: "kafka", Revision: Drifted}, "nameOverride: file", "proxy: {replicaCount: 3}")
	got := file.OverriddenBy(withValues(Options{Release: "flag"}, "nameOverride: flag"))
	v, _, err := mergeValues(got.Values)
	if err != nil {
		t.Fatal(err)
	}
	if got.Release != "flag" || got.Namespace != "kafka" || got.Revision != Drifted || v.NameOverride != "flag" || v.Proxy.ReplicaCount != 3 {
		t.Errorf("got %+v, %+v", got, v)
	}
}
