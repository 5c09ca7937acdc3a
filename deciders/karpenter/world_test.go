package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/deciders/kit"
)

// object is an object as JSON has it.
type object = map[string]any

// world plays simulate: a small cluster with an API server, ReplicaSets and DaemonSets, and a scheduler that is just good enough for the cases.
type world struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	objects map[string]object
	changed map[string]bool
	now     time.Time
	seed    uint64
	memory  json.RawMessage
	spread  bool // the scheduler spreads all pods over the zones by default, as a hard rule
	again   time.Time
	made    int

	calls  []string // one line each
	events []string
}

func newWorld(t *testing.T, seed uint64, args ...string) *world {
	t.Helper()
	ctx, prices, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDecider(ctx, prices)
	if err != nil {
		t.Fatal(err)
	}
	asked, ask := io.Pipe()
	said, say := io.Pipe()
	go func() { _ = say.CloseWithError(kit.Serve(ctx, asked, say, d)) }()
	t.Cleanup(func() { _ = ask.Close() })
	return &world{
		t: t, in: ask, out: bufio.NewReader(said), objects: map[string]object{}, changed: map[string]bool{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), seed: seed,
	}
}

// ask asks the decider, answers its calls, and returns its answer.
func (w *world) ask(request object) object {
	w.t.Helper()
	line, err := json.Marshal(request)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		if _, err := w.in.Write(append(line, '\n')); err != nil {
			w.t.Fatal(err)
		}
		answer, err := w.out.ReadBytes('\n')
		if err != nil {
			w.t.Fatal(err)
		}
		said := object{}
		if err := json.Unmarshal(answer, &said); err != nil {
			w.t.Fatal(err)
		}
		if said["error"] != nil {
			w.t.Fatalf("the decider says: %v", said["error"])
		}
		reply := w.answerCall(said)
		if reply == nil {
			return said
		}
		if line, err = json.Marshal(reply); err != nil {
			w.t.Fatal(err)
		}
	}
}

func key(o object) string {
	return path(o, "kind") + " " + path(o, "namespace") + "/" + path(o, "name")
}
func keyOf(o object) string {
	return path(o, "kind") + " " + path(o, "metadata", "namespace") + "/" + path(o, "metadata", "name")
}

func path(o object, names ...string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(o, names...)
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// answerCall does what a call asks for; nil: the line is no call.
func (w *world) answerCall(said object) object {
	switch {
	case said["create"] != nil:
		made := said["create"].(object)
		w.calls = append(w.calls, strings.TrimSpace(fmt.Sprintf("create %s %s", keyOf(made), path(said, "explain"))))
		if made["kind"] == "Node" {
			_ = unstructured.SetNestedSlice(made, []any{object{"type": "Ready", "status": "True"}}, "status", "conditions")
		}
		w.put(made)
		return object{"stored": made}
	case said["patch"] != nil:
		patch := said["patch"].(object)
		of := w.objects[key(patch)]
		if of == nil {
			return object{"refused": object{"code": 404, "reason": "NotFound", "message": key(patch) + " not found"}}
		}
		merge := patch["merge"].(object)
		describe, _ := json.Marshal(merge)
		w.calls = append(w.calls, fmt.Sprintf("patch %s %s %s", key(patch), path(patch, "subresource"), describe))
		of = mergePatch(of, merge).(object)
		w.put(of)
		return w.collect(of)
	case said["delete"] != nil:
		ref := said["delete"].(object)
		w.calls = append(w.calls, strings.TrimSpace(fmt.Sprintf("delete %s %s", key(ref), path(said, "explain"))))
		of := w.objects[key(ref)]
		if of == nil {
			return object{"refused": object{"code": 404, "reason": "NotFound", "message": key(ref) + " not found"}}
		}
		of = mergePatch(of, object{"metadata": object{"deletionTimestamp": w.now.Format(time.RFC3339)}}).(object)
		w.put(of)
		return w.collect(of)
	case said["evict"] != nil:
		ref := said["evict"].(object)
		w.calls = append(w.calls, "evict "+key(ref))
		pod := w.objects[key(ref)]
		for _, budget := range w.all("PodDisruptionBudget") {
			if matches(budget, pod) && path(budget, "status", "disruptionsAllowed") == "0" {
				return object{"refused": object{"code": 429, "reason": "TooManyRequests", "message": "Cannot evict pod as it would violate the pod's disruption budget."}}
			}
		}
		w.remove(key(ref))
		return object{"stored": object{}}
	}
	return nil
}

// collect removes the object if it is deleted and no finalizer holds it.
func (w *world) collect(of object) object {
	finalizers, _, _ := unstructured.NestedSlice(of, "metadata", "finalizers")
	if path(of, "metadata", "deletionTimestamp") != "" && len(finalizers) == 0 {
		w.remove(keyOf(of))
		return object{"stored": object{}}
	}
	return object{"stored": of}
}

func mergePatch(into, patch any) any {
	changes, ok := patch.(object)
	if !ok {
		return patch
	}
	merged, _ := into.(object)
	merged = (&unstructured.Unstructured{Object: merged}).DeepCopy().Object
	if merged == nil {
		merged = object{}
	}
	for name, value := range changes {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = mergePatch(merged[name], value)
		}
	}
	return merged
}

func (w *world) put(o object) {
	metadata := o["metadata"].(object)
	if metadata["creationTimestamp"] == nil {
		w.made++
		metadata["creationTimestamp"] = w.now.Format(time.RFC3339)
		uid := fnv.New64a()
		_, _ = fmt.Fprint(uid, w.seed, keyOf(o))
		metadata["uid"] = fmt.Sprintf("%016x-%04d", uid.Sum64(), w.made)
	}
	w.objects[keyOf(o)] = o
	w.changed[keyOf(o)] = true
}

func (w *world) remove(name string) {
	if w.objects[name] != nil {
		delete(w.objects, name)
		w.changed[name] = true
	}
}

// readObjects reads the objects of a file.
func readObjects(t *testing.T, file string) []object {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for _, document := range strings.Split(string(content), "\n---\n") {
		o := object{}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(o) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// apply admits the objects of a file, and applies them.
func (w *world) apply(file string) {
	w.t.Helper()
	var all []any
	for _, o := range readObjects(w.t, file) {
		all = append(all, o)
	}
	said := w.ask(object{"admit": object{"objects": all}})["admit"].(object)
	if said["problems"] != nil {
		w.t.Fatalf("%s: %v", file, said["problems"])
	}
	for _, o := range said["objects"].([]any) {
		w.put(o.(object))
	}
}

func (w *world) all(kind string) []object {
	var found []object
	for _, o := range w.objects {
		if o["kind"] == kind {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(keyOf(a), keyOf(b)) })
	return found
}

// settle lets the controllers make pods and the scheduler bind them.
func (w *world) settle() {
	for _, set := range w.all("DaemonSet") {
		for _, node := range w.all("Node") {
			w.makePod(set, "DaemonSet", path(set, "metadata", "name")+"-"+path(node, "metadata", "name"), path(node, "metadata", "name"))
		}
	}
	for _, deployment := range w.all("Deployment") {
		replicas := 1
		if said, ok := deployment["spec"].(object)["replicas"].(float64); ok {
			replicas = int(said)
		}
		pods := slices.DeleteFunc(w.all("Pod"), func(pod object) bool {
			return path(pod, "metadata", "ownerName") != path(deployment, "metadata", "name")
		})
		for i := len(pods); i < replicas; i++ {
			w.made++
			w.makePod(deployment, "ReplicaSet", fmt.Sprintf("%s-%03d", path(deployment, "metadata", "name"), w.made), "")
		}
		// The pods that the ReplicaSet deletes are drawn.
		slices.SortFunc(pods, func(a, b object) int {
			return cmp.Compare(path(a, "metadata", "uid"), path(b, "metadata", "uid"))
		})
		for i := replicas; i < len(pods); i++ {
			w.remove(keyOf(pods[i]))
		}
	}
	for _, budget := range w.all("PodDisruptionBudget") {
		if path(budget, "status", "disruptionsAllowed") == "" {
			w.put(mergePatch(budget, object{"status": object{"disruptionsAllowed": float64(0)}}).(object))
		}
	}
	for _, pod := range w.all("Pod") {
		if path(pod, "spec", "nodeName") != "" {
			continue
		}
		if node := w.place(pod); node != "" {
			w.put(mergePatch(pod, object{"spec": object{"nodeName": node}, "status": object{"phase": "Running", "conditions": nil}}).(object))
		} else if path(pod, "status", "conditions") == "" {
			w.put(mergePatch(pod, object{"status": object{"phase": "Pending", "conditions": []any{object{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}}}}).(object))
		}
	}
}

func (w *world) makePod(owner object, kind, name, node string) {
	template, _, _ := unstructured.NestedMap(owner, "spec", "template")
	pod := (&unstructured.Unstructured{Object: template}).DeepCopy().Object
	pod["apiVersion"], pod["kind"] = "v1", "Pod"
	metadata := pod["metadata"].(object)
	metadata["name"], metadata["namespace"], metadata["ownerName"] = name, path(owner, "metadata", "namespace"), path(owner, "metadata", "name")
	metadata["ownerReferences"] = []any{object{"apiVersion": "apps/v1", "kind": kind, "name": path(owner, "metadata", "name"), "controller": true, "uid": path(owner, "metadata", "uid")}}
	if w.objects[keyOf(pod)] != nil {
		return
	}
	if node != "" {
		pod["spec"].(object)["nodeName"] = node
		pod["status"] = object{"phase": "Running"}
	}
	w.put(pod)
}

// place returns the node with the fewest pods on which the pod fits.
func (w *world) place(pod object) string {
	best, fewest := "", 0
	for _, node := range w.all("Node") {
		name := path(node, "metadata", "name")
		if path(node, "metadata", "deletionTimestamp") != "" || !tolerates(pod, node) || !selects(pod, node) || !w.spreads(pod, node) {
			continue
		}
		cpu, count := requested(pod, "cpu"), 0
		memory := requested(pod, "memory")
		for _, other := range w.all("Pod") {
			if path(other, "spec", "nodeName") == name {
				count++
				cpu.Add(requested(other, "cpu"))
				memory.Add(requested(other, "memory"))
			}
		}
		if cpu.Cmp(resource.MustParse(path(node, "status", "allocatable", "cpu"))) > 0 || memory.Cmp(resource.MustParse(path(node, "status", "allocatable", "memory"))) > 0 {
			continue
		}
		if best == "" || count < fewest {
			best, fewest = name, count
		}
	}
	return best
}

func requested(pod object, name string) resource.Quantity {
	containers, _, _ := unstructured.NestedSlice(pod, "spec", "containers")
	total := resource.Quantity{}
	for _, container := range containers {
		if value := path(container.(object), "resources", "requests", name); value != "" {
			total.Add(resource.MustParse(value))
		}
	}
	return total
}

func tolerates(pod, node object) bool {
	taints, _, _ := unstructured.NestedSlice(node, "spec", "taints")
	tolerations, _, _ := unstructured.NestedSlice(pod, "spec", "tolerations")
	for _, taint := range taints {
		if !slices.ContainsFunc(tolerations, func(t any) bool { return path(t.(object), "key") == path(taint.(object), "key") }) {
			return false
		}
	}
	return true
}

func selects(pod, node object) bool {
	selector, _, _ := unstructured.NestedStringMap(pod, "spec", "nodeSelector")
	labels, _, _ := unstructured.NestedStringMap(node, "metadata", "labels")
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// spreads: the pod keeps its hard spread constraints of skew 1.
func (w *world) spreads(pod, node object) bool {
	constraints, _, _ := unstructured.NestedSlice(pod, "spec", "topologySpreadConstraints")
	if w.spread {
		constraints = append(constraints, object{"topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"})
	}
	for _, constraint := range constraints {
		topology := path(constraint.(object), "topologyKey")
		if path(constraint.(object), "whenUnsatisfiable") != "DoNotSchedule" {
			continue
		}
		counts := map[string]int{}
		domains := map[string]string{}
		for _, n := range w.all("Node") {
			labels, _, _ := unstructured.NestedStringMap(n, "metadata", "labels")
			domains[path(n, "metadata", "name")] = labels[topology]
			counts[labels[topology]] += 0
		}
		for _, other := range w.all("Pod") {
			if on := path(other, "spec", "nodeName"); on != "" && path(other, "metadata", "labels", "app") == path(pod, "metadata", "labels", "app") {
				counts[domains[on]]++
			}
		}
		for _, count := range counts {
			if counts[domains[path(node, "metadata", "name")]] > count {
				return false
			}
		}
	}
	return true
}

func matches(budget, pod object) bool {
	selector, _, _ := unstructured.NestedStringMap(budget, "spec", "selector", "matchLabels")
	labels, _, _ := unstructured.NestedStringMap(pod, "metadata", "labels")
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// run lets time pass until nothing moves any more, or for at most the time given.
func (w *world) run(most time.Duration) {
	w.t.Helper()
	end := w.now.Add(most)
	for round := 0; ; round++ {
		if round > 2000 {
			w.t.Fatal("the world does not come to rest")
		}
		w.settle()
		if len(w.changed) == 0 {
			if w.again.IsZero() || w.again.After(end) {
				return
			}
			w.now = w.again
		}
		w.decide()
	}
}

func (w *world) decide() {
	w.t.Helper()
	var set, gone []any
	for _, name := range sorted(w.changed) {
		if o := w.objects[name]; o != nil {
			set = append(set, o)
			continue
		}
		kind, rest, _ := strings.Cut(name, " ")
		namespace, object, _ := strings.Cut(rest, "/")
		version := map[string]string{"Pod": "v1", "Node": "v1", "NodeClaim": "karpenter.sh/v1"}[kind]
		gone = append(gone, map[string]any{"apiVersion": version, "kind": kind, "namespace": namespace, "name": object})
	}
	w.changed = map[string]bool{}
	w.ask(object{"state": object{"set": set, "delete": gone}})
	said := w.ask(object{"decide": object{"now": w.now.Format(time.RFC3339), "seed": w.seed, "memory": w.memory}})["decide"].(object)
	w.memory, _ = json.Marshal(said["memory"])
	w.again = time.Time{}
	if again := path(said, "again"); again != "" {
		w.again, _ = time.Parse(time.RFC3339, again)
		if !w.again.After(w.now) {
			w.t.Fatalf("at %s Karpenter wants to be asked again at %s", w.now, w.again)
		}
	}
	events, _ := said["events"].([]any)
	for _, event := range events {
		e := event.(object)
		w.events = append(w.events, fmt.Sprintf("%s %s/%s %s: %s", w.now.Format("15:04:05"), strings.ToLower(path(e, "object", "kind")), path(e, "object", "name"), path(e, "reason"), path(e, "message")))
	}
}

// nodes describes Karpenter's nodes as observed.json does.
func (w *world) nodes() []string {
	var described []string
	for _, node := range w.all("Node") {
		labels, _, _ := unstructured.NestedStringMap(node, "metadata", "labels")
		if labels["karpenter.sh/nodepool"] == "" {
			continue
		}
		pods := 0
		for _, pod := range w.all("Pod") {
			if path(pod, "spec", "nodeName") == path(node, "metadata", "name") {
				pods++
			}
		}
		described = append(described, fmt.Sprintf("%s/%s/%s/%s pods=%d", labels["karpenter.sh/nodepool"], labels["node.kubernetes.io/instance-type"],
			labels["topology.kubernetes.io/zone"], labels["karpenter.sh/capacity-type"], pods))
	}
	slices.Sort(described)
	return described
}

func (w *world) pending() int {
	pending := 0
	for _, pod := range w.all("Pod") {
		if path(pod, "spec", "nodeName") == "" {
			pending++
		}
	}
	return pending
}

func (w *world) count(prefix string) int {
	return len(slices.DeleteFunc(slices.Clone(w.calls), func(call string) bool { return !strings.HasPrefix(call, prefix) }))
}

// recordedCase is the file case.json of a recorded case.
type recordedCase struct {
	Env         map[string]string
	SchedConfig string `json:"sched_config"`
	Steps       []struct {
		Apply, Scale, Patch string
		Replicas            int
		With                object
	}
}

func readCase(t *testing.T, name string) recordedCase {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "recorded", name, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read recordedCase
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// args are the flags for the environment that Karpenter had.
func (c recordedCase) args() []string {
	args := []string{}
	for _, name := range sorted(c.Env) {
		args = append(args, "--"+strings.ReplaceAll(strings.ToLower(name), "_", "-")+"="+c.Env[name])
	}
	return args
}

// play does the steps of a recorded case.
func play(t *testing.T, name string, seed uint64) *world {
	t.Helper()
	recorded := readCase(t, name)
	w := newWorld(t, seed, recorded.args()...)
	w.spread = recorded.SchedConfig != ""
	for _, step := range recorded.Steps {
		switch {
		case step.Apply != "":
			w.apply(filepath.Join("testdata", "recorded", name, step.Apply))
		case step.Scale != "":
			namespace, name, _ := strings.Cut(step.Scale, "/")
			w.put(mergePatch(w.objects["Deployment "+namespace+"/"+name], object{"spec": object{"replicas": float64(step.Replicas)}}).(object))
		case step.Patch != "":
			kind, name, _ := strings.Cut(step.Patch, "/")
			w.put(mergePatch(w.objects[kind+" /"+name], step.With).(object))
		}
		w.run(10 * time.Minute)
		w.now = w.now.Add(10 * time.Second)
	}
	return w
}
