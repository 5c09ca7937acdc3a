package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"
)

// upstreamCase is a case of upstream's scheduler_perf, with the fields from which scenarios are made:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/test/integration/scheduler_perf/scheduler_perf.go
type upstreamCase struct {
	Name                   string
	DefaultPodTemplatePath string
	FeatureGates           map[string]bool
	WorkloadTemplate       []upstreamOp
	Workloads              []upstreamWorkload
	version, file          string // of Kubernetes, and below scheduler_perf there
	folder                 string // on this machine
}

type upstreamOp struct {
	Opcode, CountParam, Prefix, Namespace, NamespacePrefix, Mode string
	NodeTemplatePath, PodTemplatePath, TemplatePath              string
	PersistentVolumeTemplatePath                                 string
	Count, IntervalMilliseconds                                  int
	CollectMetrics                                               bool
	TemplatePaths                                                []string
	TemplateParams                                               map[string]any
	CreatePodsOp                                                 *upstreamOp
	LabelNodePrepareStrategy                                     struct{ LabelValues []string }
}

type upstreamWorkload struct {
	Name      string
	Params    map[string]any
	Threshold any // a number, or one for each allocator of devices
}

// threshold returns the number of pods per second that upstream's own machines must reach, or 0 for none.
func (w *upstreamWorkload) threshold() float64 {
	switch of := w.Threshold.(type) {
	case float64:
		return of
	case map[string]any:
		pods, _ := of["dra"].(float64)
		return pods
	}
	return 0
}

// readUpstream reads all cases of the release of Kubernetes that the module requires.
func readUpstream(t *testing.T) []upstreamCase {
	t.Helper()
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(module)), " ")
	root := filepath.Join(dir, "test/integration/scheduler_perf")
	var all []upstreamCase
	err = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "performance-config.yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var cases []upstreamCase
		if err := yaml.Unmarshal(data, &cases); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for i := range cases {
			cases[i].version, cases[i].folder = version, filepath.Dir(path)
			if cases[i].file, err = filepath.Rel(root, path); err != nil {
				return err
			}
		}
		all = append(all, cases...)
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("no cases in %s: %v", root, err)
	}
	return all
}

// perfScenario writes a case as a scenario.
type perfScenario struct {
	t         *testing.T
	of        *upstreamCase
	params    map[string]any
	threshold float64

	synthetic, objects, steps []any
	namespaces                map[string]bool   // and other objects that are made once
	jobs                      map[string]string // the last one, by namespace
	churn                     int               // pods that come while the measured ones do
	churned                   []any
	claims                    int // of devices, which pods are made for
}

// number returns the value of a parameter or, without one, the number itself.
func (s *perfScenario) number(count int, param string) int {
	if param == "" {
		return count
	}
	n, is := s.params[strings.TrimPrefix(param, "$")].(float64)
	if !is {
		s.t.Fatalf("%s: no number %s in %v", s.of.Name, param, s.params)
	}
	return int(n)
}

// object renders a template for the object with that index.
func (s *perfScenario) object(path string, index int, given map[string]any) map[string]any {
	s.t.Helper()
	params := map[string]any{"Index": index}
	for key, value := range given {
		if text, is := value.(string); is && strings.HasPrefix(text, "$") {
			name, byDefault, _ := strings.Cut(text[1:], "|")
			if value = s.params[name]; value == nil && byDefault != "" {
				value = byDefault
			}
		}
		params[key] = value
	}
	whole := func(of any) int {
		n, err := strconv.ParseFloat(fmt.Sprint(of), 64)
		if err != nil {
			s.t.Fatal(err)
		}
		return int(n)
	}
	text, err := template.New(filepath.Base(path)).Funcs(template.FuncMap{
		"Mod": func(a, b any) int { return whole(a) % whole(b) }, "Int": whole,
		"JSON": func(of any) (string, error) { data, err := json.Marshal(of); return string(data), err },
	}).ParseFiles(filepath.Join(s.of.folder, path))
	if err != nil {
		s.t.Fatal(err)
	}
	var rendered bytes.Buffer
	if err := text.Execute(&rendered, params); err != nil {
		s.t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(rendered.Bytes(), &object); err != nil {
		s.t.Fatal(err)
	}
	return object
}

// typedObject converts an object to its type.
func typedObject[T any](s *perfScenario, object map[string]any) (typed T) {
	data, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(data, &typed)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return typed
}

// addOperation adds the effect of an operation.
func (s *perfScenario) addOperation(i int, op *upstreamOp) {
	switch op.Opcode {
	case "createNodes":
		s.addNodes(op)
	case "createNamespaces":
		for n := range s.number(op.Count, op.CountParam) {
			labels := map[string]any(nil)
			if op.Prefix != "sched" { // upstream's have a template
				labels = map[string]any{"team": "devops"}
			}
			s.addNamespace(fmt.Sprintf("%s-%d", op.Prefix, n), labels)
		}
	case "createAny":
		s.addObjects(op)
	case "allocResourceClaims": // by pods, since a claim without any is allocated to none
		if s.claims > 0 {
			s.apply("init-claims", s.podJobs("init", "claims", s.claims, func(int) map[string]any {
				return s.object("templates/pod-with-claim-template.yaml", 0, nil)
			}))
		}
	case "churn":
		s.churn = int(math.Ceil(float64(s.number(0, "measurePods")) / s.threshold * 1000 / float64(op.IntervalMilliseconds)))
		s.churned = s.podJobs("churn", "churn", s.churn, func(int) map[string]any { return s.object(op.TemplatePaths[0], 0, nil) })
	case "createPods":
		namespace, name := op.Namespace, fmt.Sprintf("init-%d", i)
		if namespace == "" {
			namespace = fmt.Sprintf("namespace-%d", i)
		}
		if op.CollectMetrics {
			name = "measured"
		}
		objects := s.podsOf(namespace, name, op)
		if op.CollectMetrics {
			objects = append(slices.Clip(s.churned), objects...)
		}
		if len(objects) > 0 {
			s.apply(name, objects)
			s.jobs[namespace] = name
		}
	case "createPodSets":
		var objects []any
		for n := range s.number(op.Count, op.CountParam) {
			objects = append(objects, s.podsOf(fmt.Sprintf("%s-%d", op.NamespacePrefix, n), "init", op.CreatePodsOp)...)
		}
		s.apply("init", objects)
	case "deletePods":
		s.steps = append(s.steps, map[string]any{"name": "delete-pods", "delete": map[string]any{"namespace": op.Namespace, "targets": []any{"job/" + s.jobs[op.Namespace]}}})
	case "barrier":
	default:
		s.t.Fatalf("%s: unknown operation %s", s.of.Name, op.Opcode)
	}
}

func (s *perfScenario) apply(name string, objects []any) {
	s.steps = append(s.steps, map[string]any{"name": name, "apply": map[string]any{"objects": objects}})
}

// addNamespace adds a namespace, unless it was added before.
func (s *perfScenario) addNamespace(name string, labels map[string]any) {
	if s.namespaces[name] {
		return
	}
	s.namespaces[name] = true
	metadata := map[string]any{"name": name}
	if labels != nil {
		metadata["labels"] = labels
	}
	s.objects = append(s.objects, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

// addNodes adds a group of nodes, or the one node that pods ask for by name.
func (s *perfScenario) addNodes(op *upstreamOp) {
	count := s.number(op.Count, op.CountParam)
	if count == 0 {
		return
	}
	path := op.NodeTemplatePath
	if path == "" {
		path = "../templates/node-default.yaml" // upstream's default has the same
		if _, err := os.Stat(filepath.Join(s.of.folder, path)); err != nil {
			path = "../../templates/node-default.yaml"
		}
	}
	node := typedObject[v1.Node](s, s.object(path, 0, nil))
	if node.Name == "scheduler-perf-node" {
		node.Status.Allocatable = node.Status.Capacity
		s.objects = append(s.objects, map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": node.Name, "labels": node.Labels},
			"status": map[string]any{"capacity": node.Status.Capacity, "allocatable": node.Status.Allocatable, "conditions": node.Status.Conditions}})
		return
	}
	capacity := node.Status.Capacity
	group := map[string]any{"name": strings.TrimSuffix(node.GenerateName+strings.TrimSuffix(node.Name, "0"), "-"), "total": count,
		"cpu": capacity.Cpu().Value(), "memory": capacity.Memory().String(), "pods": capacity.Pods().Value()}
	if len(node.Spec.Taints) > 0 {
		group["taints"] = node.Spec.Taints
	}
	source := map[string]any{"nodeGroups": []any{group}}
	var zones []any
	for _, zone := range op.LabelNodePrepareStrategy.LabelValues {
		zones = append(zones, map[string]any{"name": zone})
	}
	if zones != nil {
		source["zones"] = zones
	}
	s.synthetic = append(s.synthetic, source)
}

// addObjects adds objects of any kind. A slice of devices becomes devices of the last node group, whose nodes publish slices by themselves.
func (s *perfScenario) addObjects(op *upstreamOp) {
	for i := range s.number(max(1, op.Count), op.CountParam) {
		object := s.object(op.TemplatePath, i, op.TemplateParams)
		switch object["kind"] {
		case "ResourceSlice":
			slice := typedObject[resourcev1.ResourceSlice](s, object)
			last := s.synthetic[len(s.synthetic)-1].(map[string]any)
			last["nodeGroups"].([]any)[0].(map[string]any)["devices"] = []any{map[string]any{"class": slice.Spec.Driver, "count": len(slice.Spec.Devices)}}
			return
		case "ResourceClaim":
			s.claims++
			continue
		case "DeviceClass":
			object["apiVersion"] = "resource.k8s.io/v1"
		case "ResourceClaimTemplate":
			if s.claims > 0 {
				s.inNamespace("init", object)
			}
			s.inNamespace(op.Namespace, object)
			continue
		case "Service":
			object["metadata"] = map[string]any{"name": "service"}
			s.inNamespace(op.Namespace, object)
			continue
		}
		s.objects = append(s.objects, object)
	}
}

func (s *perfScenario) inNamespace(namespace string, object map[string]any) {
	s.addNamespace(namespace, nil)
	placed := maps.Clone(object)
	placed["metadata"] = maps.Clone(object["metadata"].(map[string]any))
	placed["metadata"].(map[string]any)["namespace"] = namespace
	s.objects = append(s.objects, placed)
}

func (s *perfScenario) podsOf(namespace, name string, op *upstreamOp) []any {
	path := op.PodTemplatePath
	if path == "" {
		path = s.of.DefaultPodTemplatePath
	}
	if path == "" {
		path = "../templates/pod-default.yaml"
	}
	if op.PersistentVolumeTemplatePath != "" && !s.namespaces["immediate"] {
		s.namespaces["immediate"] = true
		s.objects = append(s.objects, map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": map[string]any{"name": "immediate"},
			"provisioner": "ebs.csi.aws.com", "volumeBindingMode": "Immediate"})
	}
	return s.podJobs(namespace, name, s.number(op.Count, op.CountParam), func(i int) map[string]any {
		pod := s.object(path, i, op.TemplateParams)
		if op.PersistentVolumeTemplatePath != "" {
			addVolume(pod)
		}
		return pod
	})
}

// addVolume gives the pod a claim of its own, bound before the pod is scheduled.
func addVolume(pod map[string]any) {
	pod["spec"].(map[string]any)["volumes"] = []any{map[string]any{"name": "vol", "ephemeral": map[string]any{"volumeClaimTemplate": map[string]any{"spec": map[string]any{
		"accessModes": []any{"ReadOnlyMany"}, "storageClassName": "immediate", "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}}}}}}
}

// podJobs returns Jobs for that many pods, one Job for each template.
func (s *perfScenario) podJobs(namespace, name string, count int, pod func(i int) map[string]any) (jobs []any) {
	if count == 0 {
		return nil
	}
	s.addNamespace(namespace, nil)
	numbers, templates := map[string]int{}, map[string]map[string]any{}
	var order []string
	for i := range count {
		made := s.jobTemplate(pod(i))
		if i == 1 && numbers[flowYAML(toPlainValue(made))] == 1 { // a template without an index makes equal pods
			numbers[order[0]] = count
			break
		}
		key := flowYAML(toPlainValue(made))
		if numbers[key] == 0 {
			order = append(order, key)
			templates[key] = made
		}
		numbers[key]++
	}
	for i, key := range order {
		job := name
		if len(order) > 1 {
			job = fmt.Sprintf("%s-%d", name, i)
		}
		jobs = append(jobs, map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": job, "namespace": namespace},
			"spec": map[string]any{"parallelism": numbers[key], "completions": numbers[key], "template": templates[key]}})
	}
	return jobs
}

// jobTemplate returns a Job's template for a pod.
func (s *perfScenario) jobTemplate(pod map[string]any) map[string]any {
	spec := toPlainValue(typedObject[v1.Pod](s, pod).Spec).(map[string]any) // with upstream's spelling of fields, which it reads in any case
	for _, container := range spec["containers"].([]any) {
		if fields := container.(map[string]any); fmt.Sprint(fields["resources"]) == "map[]" {
			delete(fields, "resources")
		}
	}
	spec["restartPolicy"] = "Never"
	if priority, is := spec["priority"]; is { // a pod's priority is that of its class
		delete(spec, "priority")
		spec["priorityClassName"] = s.priorityClass(priority)
	}
	made := map[string]any{"spec": spec}
	if labels := pod["metadata"].(map[string]any)["labels"]; labels != nil {
		made["metadata"] = map[string]any{"labels": labels}
	}
	return made
}

func (s *perfScenario) priorityClass(value any) string {
	name := fmt.Sprintf("priority-%.0f", value)
	if !s.namespaces[name] {
		s.namespaces[name] = true
		s.objects = append(s.objects, map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": map[string]any{"name": name}, "value": value})
	}
	return name
}

var plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9./_-]*$`)

// flowYAML writes a value in YAML's flow style, with quotes only where YAML needs them.
func flowYAML(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var fields []string
		for _, key := range slices.SortedFunc(maps.Keys(v), byImportance) {
			fields = append(fields, key+": "+flowYAML(v[key]))
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, flowYAML(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		if plainText.MatchString(v) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(v)) {
			return v
		}
	}
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// byImportance orders the keys of an object: what identifies it first, and templates last.
func byImportance(a, b string) int {
	rank := func(key string) int {
		first := []string{"apiVersion", "kind", "metadata", "name", "namespace"}
		if at := slices.Index(first, key); at >= 0 {
			return at
		}
		if key == "template" {
			return len(first) + 1
		}
		return len(first)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// toPlainValue converts typed values to maps and lists.
func toPlainValue(value any) (made any) {
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	if err != nil {
		panic(err)
	}
	return made
}
