package simulation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/cluster/alike"
	"github.com/faultline/faultline/pkg/expect"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/report/run"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
)

// wholeCase is a case in testdata/groundtruth/whole. It says, step by step, what a real control plane v1.37.1 did with devices, gangs,
// quotas, storage, extenders, foreign schedulers and admission. As in the cases of failures, the node eviction rate was 100 per second and
// tolerations were 2 s.
type wholeCase struct {
	Case string
	// Gang means that the feature gate GenericWorkload was on.
	Gang bool
	// Scheduler is the file of the scheduler's configuration.
	Scheduler string
	Steps     []wholeStep
}

type wholeStep struct {
	Name, File string
	Do         []map[string]any
	Expect     struct {
		Pending                              map[string]int
		ByApp                                []struct{ Apps counts }
		MessagesByApp, Terminating, NotReady values[counts]
		Devices                              values[map[string][]string]
		FailedCreate, RefusedObjects         values[[]string]
		Groups                               values[map[string][]string]
		QuotaUsed                            values[map[string]map[string]string]
		Capacities                           values[map[string]string]
		Nominated                            values[[][2]string] // app and node
	}
}

// counts are numbers of pods by app, and by node or message.
type counts map[string]map[string]int

func (c counts) add(app, of string) {
	if c[app] == nil {
		c[app] = map[string]int{}
	}
	c[app][of]++
}

// totals are the numbers of pods by app.
func (c counts) totals() map[string]int {
	totals := map[string]int{}
	for app, pods := range c {
		for _, n := range pods {
			totals[app] += n
		}
	}
	return totals
}

// values are the values that were seen in the repetitions of a recording.
type values[T any] []struct{ Value T }

// recordingHas reports whether one of the values looks like got. Without values, got must look like the zero value.
func recordingHas[T, U any](seen values[T], got T, look func(T) U) bool {
	if len(seen) == 0 {
		var nothing T
		return cmp.Equal(look(nothing), look(got), cmpopts.EquateEmpty())
	}
	return slices.ContainsFunc(seen, func(one struct{ Value T }) bool { return cmp.Equal(look(one.Value), look(got), cmpopts.EquateEmpty()) })
}

func identity[T any](value T) T { return value }

// differing lists by case and step what differs from the recordings; step "" is the whole case. Remove an entry once it agrees.
var differing = map[string]map[string]string{
	// One recording in three ends before the StatefulSet has its last pod again.
	"d02-storage-capacity-zone": {"05-zone-a-back": "reach"},
	// One recording in three ends before the volume is bound, which the real controller checks every 15 s.
	"d04-rwop": {"01-one-of-two": "reach"},
}

// endless lists the steps in which a pod is evicted and replaced every few seconds without end. Which state a recording shows is then
// chance, in a real control plane, too. The test does not check which outcomes seeds reach for these cases.
var endless = map[string]string{"a14-dra-driver-taints": "03-rule-with-seconds"}

// Every step of every case has the recorded result: how many pods are Pending and why, where the pods are, which are Terminating or not
// ready, which devices they have, which requests were refused, the status of pod groups, the usage of quotas, the remaining storage, and
// the nominated nodes. Nodes that look alike can stand for each other. If chance decides, one of twenty seeds has the recorded result, and
// four hundred seeds reach every recorded placement.
func TestWholeClustersComeOutAsRecorded(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "groundtruth", "whole", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for step, differs := range replay(t, dir) {
				got[step] = strings.Join(slices.Sorted(maps.Keys(differs)), ", ")
				if differing[name][step] != got[step] {
					for what, how := range differs {
						t.Errorf("%s: %s: %s", step, what, how)
					}
				}
			}
			if diff := cmp.Diff(differing[name], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what differs (-listed +got):\n%s", diff)
			}
		})
	}
}

// replay returns by step which results differ from the recording, and how.
func replay(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c wholeCase
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	w := newWhole(t, dir, &c)
	first, err := w.run("upstream", 1)
	if err != nil {
		return map[string]map[string]string{"": {"error": err.Error()}}
	}
	differs := map[string]map[string]string{}
	for i, got := range first {
		if how := w.compare(i, got); len(how) > 0 && c.Steps[i].Name != endless[c.Case] {
			differs[c.Steps[i].Name] = how
		}
	}
	for seed := uint64(1); seed <= 20 && len(differs) > 0; seed++ {
		steps, err := w.run("random", seed)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range steps {
			if name := c.Steps[i].Name; differs[name] != nil && len(w.compare(i, got)) == 0 {
				delete(differs, name)
			}
		}
	}
	if len(differs) > 0 || endless[c.Case] != "" {
		return differs // what differs would differ with every seed
	}
	var wanted []simulation.OutcomeSeen
	for i, step := range c.Steps {
		for _, seen := range step.Expect.ByApp {
			wanted = append(wanted, simulation.OutcomeSeen{Step: i, Name: step.Name, Outcome: w.placed(seen.Apps)})
		}
	}
	for _, o := range simulation.Unreached(wanted, 400, func(seed uint64) []string {
		steps, err := w.run("random", seed)
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []string
		for _, step := range steps {
			outcomes = append(outcomes, w.placed(step.placed))
		}
		return outcomes
	}) {
		differs[o.Name] = map[string]string{"reach": "no seed has " + o.Outcome}
	}
	return differs
}

// whole is a case and its scenario.
type whole struct {
	*wholeCase
	load func(ties string, seed uint64) (*scenario.Scenario, error)
	// ends has the index of the scenario's step with which each step of the case ends.
	ends []int
	// looks describe nodes by name (see [whole.learnAppsAndLooks]). apps has the app of each bare pod.
	looks, apps map[string]string
	// refused has the requests that were refused up to each step: a real controller tries again after up to 16 minutes.
	refused []map[string]bool
}

func newWhole(t *testing.T, dir string, c *wholeCase) *whole {
	t.Helper()
	w := &whole{wholeCase: c, looks: map[string]string{}, apps: map[string]string{}}
	file := scenario.File{Cluster: []scenario.Source{{Files: []string{filepath.Join(dir, "nodes.yaml")}}}}
	if c.Gang {
		file.Scheduler.FeatureGates = map[string]bool{"GenericWorkload": true}
	}
	if c.Scheduler != "" {
		file.Scheduler.Inline = &runtime.RawExtension{Raw: extended(t, filepath.Join(dir, c.Scheduler))}
	}
	refused := map[string]bool{}
	for _, step := range c.Steps {
		var actions []scenario.Step
		if step.File != "" {
			actions = append(actions, scenario.Step{Apply: &scenario.Source{Files: []string{filepath.Join(dir, step.File)}}})
		}
		for _, do := range step.Do {
			if do["sleep"] != nil {
				continue // in which time a real control plane settled
			}
			actions = append(actions, simulation.StepOf(t, do))
		}
		for i := range actions {
			actions[i].Name = fmt.Sprintf("%s.%d", step.Name, i)
		}
		file.Steps = append(file.Steps, actions...)
		w.ends = append(w.ends, len(file.Steps))
		for _, all := range []values[[]string]{step.Expect.FailedCreate, step.Expect.RefusedObjects} {
			for _, one := range all {
				for _, message := range one.Value {
					refused[withoutGeneratedNames(quoted.ReplaceAllString(message, ""))] = true
				}
			}
		}
		w.refused = append(w.refused, maps.Clone(refused))
	}
	w.load = func(ties string, seed uint64) (*scenario.Scenario, error) {
		file.Ties, file.Seed = ties, &seed
		return loader.New(filepath.Base(dir), &file)
	}
	return w
}

// extended returns the configuration with the address of an extender that refuses every node without a reason.
func extended(t *testing.T, config string) []byte {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = extenderv1.HostPriorityList{}
		if r.URL.Path == "/filter" {
			answer = extenderv1.ExtenderFilterResult{Nodes: &v1.NodeList{}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			panic(err)
		}
	}))
	t.Cleanup(server.Close)
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	data, err = yaml.YAMLToJSON([]byte(strings.ReplaceAll(string(data), "http://127.0.0.1:18898", server.URL)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wholeState is a step of a report in the form of the recorded steps.
type wholeState struct {
	pending                                int
	placed, messages, terminating, unready counts
	devices, groups                        map[string][]string
	refused                                []string
	used                                   map[string]map[string]string
	left                                   map[string]string
	nominated                              [][2]string
}

// run returns the state after each step.
func (w *whole) run(ties string, seed uint64) ([]*wholeState, error) {
	s, err := w.load(ties, seed)
	if err != nil {
		return nil, err
	}
	w.learnAppsAndLooks(s)
	result, err := simulation.Run(context.Background(), s, simulation.Options{})
	if err != nil {
		return nil, err
	}
	r := run.New(result, make([][]expect.Judged, len(result.Steps)), "")
	var states []*wholeState
	begin := 0
	for _, end := range w.ends {
		state := w.state(&r.Steps[end-1])
		for _, step := range r.Steps[begin:end] {
			for _, refused := range step.Refused {
				state.refused = append(state.refused, withoutGeneratedNames(refused.Message))
			}
		}
		states = append(states, state)
		begin = end
	}
	return states, nil
}

// learnAppsAndLooks notes the app of each bare pod and the look of each node in the scenario. A node's look is its labels, size, taints and devices, and
// the objects that name it.
func (w *whole) learnAppsAndLooks(s *scenario.Scenario) {
	objects := slices.Clone(s.Cluster)
	for _, step := range s.Steps {
		objects = append(objects, step.Objects...)
	}
	for _, obj := range objects {
		if pod, is := obj.(*v1.Pod); is && pod.Labels["app"] != "" {
			w.apps[pod.Name] = pod.Labels["app"]
		}
		node, is := obj.(*v1.Node)
		if !is {
			continue
		}
		labels := maps.Clone(node.Labels)
		delete(labels, v1.LabelHostname)
		look := []any{labels, node.Status.Allocatable, node.Spec}
		for _, other := range s.Cluster {
			if slice, is := other.(*resourcev1.ResourceSlice); is && slice.Spec.NodeName != nil && *slice.Spec.NodeName == node.Name {
				look = append(look, slice.Spec)
			}
			switch kind := cluster.KindOf(other); kind {
			case "CSINode", "CSIStorageCapacity", "PersistentVolume":
				if strings.Contains(alike.EncodeJSON(other), node.Name) {
					look = append(look, other)
				}
			}
		}
		w.looks[node.Name] = strings.NewReplacer(`"`+node.Name+`"`, `"*"`, "-"+node.Name, "-*", node.Name+"-", "*-").Replace(alike.EncodeJSON(look))
	}
}

func (w *whole) state(step *run.Step) *wholeState {
	s := &wholeState{
		placed: counts{}, messages: counts{}, terminating: counts{}, unready: counts{},
		devices: map[string][]string{}, groups: map[string][]string{}, used: map[string]map[string]string{}, left: map[string]string{},
	}
	for _, pod := range step.Pods {
		app := pod.Workload[strings.LastIndex(pod.Workload, "/")+1:]
		if app == "" {
			app = w.apps[pod.Name]
		}
		if app == "" {
			app = pod.Name
		}
		if pod.Nominated != "" {
			s.nominated = append(s.nominated, [2]string{app, pod.Nominated})
		}
		switch {
		case pod.Status == "Terminating":
			s.terminating.add(app, pod.Node)
			continue
		case pod.Node == "":
			s.pending++
			s.placed.add(app, pendingNode)
			s.messages.add(app, pod.Message)
			continue
		}
		s.placed.add(app, pod.Node)
		if strings.HasPrefix(pod.Ready, "0/") {
			s.unready.add(app, pod.Node)
		}
		var devices []string
		for _, claim := range pod.Claims {
			for _, device := range claim.Devices {
				_, device, _ = strings.Cut(device, "/") // the driver
				devices = append(devices, device)
			}
		}
		if len(devices) > 0 {
			s.devices[app] = append(s.devices[app], strings.Join(devices, " "))
		}
	}
	for _, group := range step.PodGroups {
		s.groups[group.Name] = nil
		for _, c := range group.Conditions {
			s.groups[group.Name] = append(s.groups[group.Name], fmt.Sprintf("%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	for _, quota := range step.Quotas {
		used := map[string]string{}
		for _, resource := range quota.Resources {
			used[resource.Name] = resource.Used
		}
		s.used[quota.Namespace+"/"+quota.Name] = used
	}
	for _, capacity := range step.StorageCapacities {
		s.left[capacity.Name] = capacity.Capacity
	}
	return s
}

// pendingNode stands for the node of a pod without a node.
const pendingNode = "(pending)"

// compare returns how the state differs from the recorded step.
func (w *whole) compare(i int, got *wholeState) map[string]string {
	want, differs := &w.Steps[i].Expect, map[string]string{}
	hold := func(agrees bool, what string, want, got any) {
		if !agrees {
			differs[what] = fmt.Sprintf("\n got %v\nwant %v", got, want)
		}
	}
	hold(want.Pending[fmt.Sprint(got.pending)] > 0, "pending", want.Pending, got.pending)
	hold(recordingHas(want.MessagesByApp, got.messages, withoutRandomParts), "messages", want.MessagesByApp, got.messages)
	hold(slices.ContainsFunc(want.ByApp, func(seen struct{ Apps counts }) bool { return w.placed(seen.Apps) == w.placed(got.placed) }), "placements", want.ByApp, got.placed)
	hold(recordingHas(want.Terminating, got.terminating, counts.totals), "terminating", want.Terminating, got.terminating)
	hold(recordingHas(want.NotReady, got.unready, counts.totals), "notReady", want.NotReady, got.unready)
	if want.Devices != nil && differs["placements"] == "" {
		hold(recordingHas(want.Devices, got.devices, w.devices), "devices", want.Devices, got.devices)
	}
	for _, refused := range got.refused {
		hold(w.refused[i][refused], "refused", slices.Sorted(maps.Keys(w.refused[i])), refused)
	}
	hold(want.RefusedObjects == nil || len(got.refused) > 0, "refused", want.RefusedObjects, "nothing")
	hold(recordingHas(want.Groups, got.groups, identity), "groups", want.Groups, got.groups)
	hold(recordingHas(want.QuotaUsed, got.used, identity), "quotaUsed", want.QuotaUsed, got.used)
	hold(want.Capacities == nil || recordingHas(want.Capacities, got.left, identity), "capacities", want.Capacities, got.left)
	hold(recordingHas(want.Nominated, got.nominated, identity), "nominated", want.Nominated, got.nominated)
	return differs
}

// placed describes the pods on each node. Nodes that look alike can stand for each other.
func (w *whole) placed(apps counts) string {
	nodes, pending := map[string]map[string]int{}, map[string]int{}
	for app, pods := range apps {
		for node, n := range pods {
			if node == pendingNode {
				pending[app] = n
				continue
			}
			if nodes[node] == nil {
				nodes[node] = map[string]int{}
			}
			nodes[node][app] = n
		}
	}
	var all []string
	for node, on := range nodes {
		all = append(all, fmt.Sprint(w.firstLookalike(node), on))
	}
	slices.Sort(all)
	return fmt.Sprint(all, pending)
}

// devices describes the devices of each pod, by app. Nodes that look alike can stand for each other.
func (w *whole) devices(apps map[string][]string) map[string][]string {
	all := map[string][]string{}
	for app, pods := range apps {
		for _, devices := range pods {
			var on []string
			for device := range strings.FieldsSeq(devices) {
				pool, _, _ := strings.Cut(device, "/")
				on = append(on, w.firstLookalike(pool))
			}
			slices.Sort(on)
			all[app] = append(all[app], strings.Join(on, " "))
		}
		slices.Sort(all[app])
	}
	return all
}

// firstLookalike returns the first node that looks like the given one.
func (w *whole) firstLookalike(node string) string {
	first := node
	for other, look := range w.looks {
		if look == w.looks[node] {
			first = min(first, other)
		}
	}
	return first
}

// These match the random parts of messages: the ends of generated names, and the device that a claim's expression tries first.
var (
	quoted       = regexp.MustCompile(`^(\(combined from similar events\): |[A-Za-z]+/[a-z0-9.-]+: )`)
	generated    = regexp.MustCompile(`(pods?|Pod) "([a-z0-9.-]+-)[a-z0-9]{5}"`)
	hashed       = regexp.MustCompile(`"([a-z0-9-]+-)[a-z0-9]{6,10}-"`)
	generatedFor = regexp.MustCompile(`resourceclaims\.resource\.k8s\.io "([a-z0-9-]+?)-[a-z0-9]{5}-([a-z0-9]+)-(?:[a-z0-9]{5})?"`)
	claimOfPod   = regexp.MustCompile(`claim ([a-z0-9-]+)/([a-z0-9-]+?)-[a-z0-9]{5}-([a-z0-9]+)-[a-z0-9]{5}:`)
	deviceTried  = regexp.MustCompile(`on device \S+: CEL`)
)

// withoutGeneratedNames returns a refusal's message without its random parts.
func withoutGeneratedNames(message string) string {
	message = generatedFor.ReplaceAllString(message, `resourceclaims.resource.k8s.io "$1-POD-$2-"`)
	return hashed.ReplaceAllString(generated.ReplaceAllString(message, `$1 "$2"`), `"${1}HASH-"`)
}

// withoutRandomParts returns messages of pods without their random parts.
func withoutRandomParts(messages counts) counts {
	all := counts{}
	for app, of := range messages {
		all[app] = map[string]int{}
		for message, n := range of {
			message = claimOfPod.ReplaceAllString(message, "claim $1/$2-POD-$3:")
			all[app][deviceTried.ReplaceAllString(message, "on device DEVICE: CEL")] += n
		}
	}
	return all
}
