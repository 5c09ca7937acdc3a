package sched

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/placement"
)

// testExtender is an extender over HTTP. It never answers a verb without a prepared answer.
type testExtender struct {
	*httptest.Server
	filter     func(extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult
	prioritize func(extenderv1.ExtenderArgs) extenderv1.HostPriorityList
	preempt    func(extenderv1.ExtenderPreemptionArgs) extenderv1.ExtenderPreemptionResult

	mu    sync.Mutex
	calls []string // PATH POD
}

func serve(t *testing.T, s *testExtender) *testExtender {
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *testExtender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	var args extenderv1.ExtenderArgs
	var preemption extenderv1.ExtenderPreemptionArgs
	read := func(into any) {
		if err := json.Unmarshal(body, into); err != nil {
			panic(err)
		}
	}
	var answer any
	switch {
	case r.URL.Path == "/filter" && s.filter != nil:
		read(&args)
		answer = s.filter(args)
	case r.URL.Path == "/prioritize" && s.prioritize != nil:
		read(&args)
		answer = s.prioritize(args)
	case r.URL.Path == "/preempt" && s.preempt != nil:
		read(&preemption)
		args.Pod = preemption.Pod
		answer = s.preempt(preemption)
	default:
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, r.URL.Path+" "+args.Pod.Name)
	s.mu.Unlock()
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

// config returns a configuration with the server as an extender and the given further fields.
func (s *testExtender) config(t *testing.T, more string) *Config {
	t.Helper()
	config, err := LoadConfig(ConfigOptions{}, "test.yaml", []byte(head+"extenders: [{urlPrefix: "+s.URL+", "+more+"}]"))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func engineOf(t *testing.T, config *Config, ties Ties) *Engine {
	t.Helper()
	engine, err := NewEngine(config, ties)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

// filterWithMessages returns a filter that keeps the nodes without a message.
func filterWithMessages(messages, unresolvable map[string]string) func(extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
	return func(args extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
		result := extenderv1.ExtenderFilterResult{Nodes: &v1.NodeList{}, FailedNodes: messages, FailedAndUnresolvableNodes: unresolvable}
		for _, node := range args.Nodes.Items {
			if messages[node.Name] == "" && unresolvable[node.Name] == "" {
				result.Nodes.Items = append(result.Nodes.Items, node)
			}
		}
		return result
	}
}

// The control plane's taint is the scheduler's own matter: the extender sees w1 to w3, and refuses w1 and w2.
func TestExtendersFilter(t *testing.T) {
	s := serve(t, &testExtender{filter: filterWithMessages(map[string]string{"w1": "no licence"}, map[string]string{"w2": "no such rack"})})
	_, pods := replicas("web", 1, nil)
	state := walkthrough().With(pods[0])
	engine := engineOf(t, s.config(t, "filterVerb: filter, bindVerb: bind"), Ties{})
	engine.Record = func(*v1.Pod) *placement.Depth { return &placement.Depth{} }
	result, err := engine.Place(t.Context(), state, pods)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"web-0": "w3"}, outcome(result)); diff != "" {
		t.Errorf("placed (-want +got):\n%s", diff)
	}
	at := s.URL + "/filter"
	placed := result.Placed[0]
	if diff := cmp.Diff(map[string]int{"TaintToleration": 1, at: 2}, placed.Filtered); diff != "" {
		t.Errorf("filtered (-want +got):\n%s", diff)
	}
	want := []placement.Refusal{
		{Plugin: "TaintToleration", Message: "node(s) had untolerated taint(s)", Count: 1, Nodes: []string{"affinity-control-plane"}},
		{Plugin: at, Message: "no licence", Count: 1, Nodes: []string{"w1"}},
		{Plugin: at, Message: "no such rack", Count: 1, Nodes: []string{"w2"}},
	}
	if diff := cmp.Diff(want, placed.Cycle.Refusals); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if got := placed.Cycle.Filters[len(placed.Cycle.Filters)-1]; got != at {
		t.Errorf("the last filter is %s, want %s", got, at)
	}
	if diff := cmp.Diff([]string{"/filter web-0"}, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A Pending pod's message has the extender's words, and its reasons the extender's URL.
func TestExtendersRefuseEverything(t *testing.T) {
	s := serve(t, &testExtender{filter: filterWithMessages(map[string]string{"w1": "no licence", "w2": "no licence", "w3": "no licence"}, nil)})
	_, pods := replicas("web", 2, nil)
	result, err := engineOf(t, s.config(t, "filterVerb: filter"), Ties{}).Place(t.Context(), walkthrough().With(pods[0], pods[1]), pods)
	if err != nil {
		t.Fatal(err)
	}
	for _, pending := range result.Pending {
		const want = "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 no licence. preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod."
		if diff := cmp.Diff(want, pending.Message); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		reasons := []placement.Reason{
			{Plugin: "TaintToleration", Message: "node(s) had untolerated taint(s)", Nodes: 1},
			{Plugin: s.URL + "/filter", Message: "no licence", Nodes: 3},
		}
		if diff := cmp.Diff(reasons, pending.Reasons); diff != "" {
			t.Errorf("reasons (-want +got):\n%s", diff)
		}
	}
	// Nobody knows which fields of a pod an extender reads, so it is called for each pod.
	if diff := cmp.Diff([]string{"/filter web-0", "/filter web-1"}, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// The workers are equal to the plugins. The extender gives w1 and w3 9 points each, and w2 none: with its weight of 2, this makes 9 × 2 ×
// 10 = 180 points. Upstream chooses randomly between w1 and w3; the engine applies its rule for ties.
func TestExtendersPrioritize(t *testing.T) {
	s := serve(t, &testExtender{prioritize: func(extenderv1.ExtenderArgs) extenderv1.HostPriorityList {
		return extenderv1.HostPriorityList{{Host: "w3", Score: 9}, {Host: "w1", Score: 9}}
	}})
	config := s.config(t, "prioritizeVerb: prioritize, weight: 2")
	_, pods := replicas("web", 1, nil)
	state := walkthrough().With(pods[0])
	at := s.URL + "/prioritize"
	for range 20 {
		result, err := engineOf(t, config, Ties{}).Place(t.Context(), state, pods)
		if err != nil {
			t.Fatal(err)
		}
		placed := result.Placed[0]
		last := placed.Scores[len(placed.Scores)-1]
		if placed.Node != "w1" || placed.Ties != 2 || placed.Margin != 180 || placed.Without != 3 || last != (placement.Score{Plugin: at, Weighted: 180, Ahead: 180}) {
			t.Fatalf("web-0 is on %s, %d ties, margin %d, by %+v; want w1, 2, 180, by 180 points of %s", placed.Node, placed.Ties, placed.Margin, last, at)
		}
		if diff := cmp.Diff([]string{at}, placed.Deciders); diff != "" {
			t.Fatalf("deciders (-want +got):\n%s", diff)
		}
	}
	drawn := map[string]bool{}
	for seed := range uint64(20) {
		result, err := engineOf(t, config, Ties{Random: true, Seed: seed}).Place(t.Context(), state, pods)
		if err != nil {
			t.Fatal(err)
		}
		drawn[result.Placed[0].Node] = true
	}
	if diff := cmp.Diff(map[string]bool{"w1": true, "w3": true}, drawn); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
	without := engineOf(t, config.WithScoreWeight(v1.DefaultSchedulerName, at, 0), Ties{})
	result, err := without.Place(t.Context(), state, pods)
	if err != nil {
		t.Fatal(err)
	}
	if placed := result.Placed[0]; placed.Ties != 3 {
		t.Errorf("without the extender's weight, %d nodes tie, want 3", placed.Ties)
	}
}

// In TestPreemptionTakesTheLeastNeeded the victim is low-5 on w3. The extender leaves w2 alone.
func TestExtendersChooseVictims(t *testing.T) {
	s := serve(t, &testExtender{preempt: func(args extenderv1.ExtenderPreemptionArgs) extenderv1.ExtenderPreemptionResult {
		victims := &extenderv1.MetaVictims{}
		for _, pod := range args.NodeNameToVictims["w2"].Pods {
			victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
		}
		return extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"w2": victims}}
	}})
	pod := highPriorityPod("4")
	result, err := engineOf(t, s.config(t, "preemptVerb: preempt"), Ties{}).Place(t.Context(), fullCluster(t).With(pod), []*v1.Pod{pod})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Preempted) != 1 || result.Preempted[0].Victim.Name != "low-3" || outcome(result)["high-0"] != "w2" {
		t.Errorf("%d preempted, placed %v; want low-3, and high-0 on w2", len(result.Preempted), describePlacements(result))
	}
}

// extenderAdvice is the end of an extender's error.
const extenderAdvice = "make it ignorable in the scheduler configuration, or leave extenders out with --no-extenders"

func TestExtendersThatDoNotAnswer(t *testing.T) {
	down := serve(t, &testExtender{})
	down.Close()
	slow := serve(t, &testExtender{})
	nonsense := serve(t, &testExtender{filter: func(extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
		return extenderv1.ExtenderFilterResult{Error: "I am confused"}
	}})
	for name, c := range map[string]struct {
		of             *testExtender
		more, verb, by string
	}{
		"down, filter":     {down, "filterVerb: filter", "filter", "connection refused"},
		"down, prioritize": {down, "prioritizeVerb: prioritize, weight: 1", "prioritize", "connection refused"},
		"down, preempt":    {down, "preemptVerb: preempt", "preempt", "connection refused"},
		"slow, filter":     {slow, "filterVerb: filter, httpTimeout: 50ms", "filter", "it does not answer within its httpTimeout of 50ms"},
		"nonsense, filter": {nonsense, "filterVerb: filter", "filter", "I am confused"},
		"slow, prioritize": {slow, "prioritizeVerb: prioritize, weight: 1, httpTimeout: 50ms", "prioritize", "it does not answer within its httpTimeout of 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := highPriorityPod("4")
			state := fullCluster(t).With(pod)
			if !strings.Contains(c.more, "preempt") {
				state = walkthrough().With(pod)
			}
			_, err := engineOf(t, c.of.config(t, c.more), Ties{}).Place(t.Context(), state, []*v1.Pod{pod})
			prefix, advice := "scheduling pod default/high-0: extender "+c.of.URL+"/"+c.verb+": ", "; start it, "+extenderAdvice
			if c.of == nonsense {
				advice = "; mend it, " + extenderAdvice
			}
			if err == nil || !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), c.by) || !strings.HasSuffix(err.Error(), advice) {
				t.Errorf("error %v, want %s…%s%s", err, prefix, c.by, advice)
			}
			result, err := engineOf(t, c.of.config(t, c.more+", ignorable: true"), Ties{}).Place(t.Context(), state, []*v1.Pod{pod})
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Placed) != 1 || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], c.by) ||
				!strings.HasSuffix(result.Notes[0], "; it is ignorable, and pods were scheduled without its answer") {
				t.Errorf("an ignorable extender: placed %v with notes %q", describePlacements(result), result.Notes)
			}
		})
	}
}

func requesting(resourceName v1.ResourceName) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers = []v1.Container{{Name: "c", Image: "pause", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{resourceName: resource.MustParse("1")}, Limits: v1.ResourceList{resourceName: resource.MustParse("1")},
		}}}
	}
}

// The extender manages example.com/gpu, which no node lists, and puts all pods that request it on w3. It is not called for other pods,
// whose answers are kept.
func TestExtendersOfManagedResources(t *testing.T) {
	s := serve(t, &testExtender{filter: filterWithMessages(map[string]string{"w1": "no GPU", "w2": "no GPU"}, nil)})
	config := s.config(t, "filterVerb: filter, managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]")
	var objs []cluster.Object
	for i := range 4 {
		objs = append(objs, newAppPod("web", fmt.Sprintf("web-%d", i)), newAppPod("train", fmt.Sprintf("train-%d", i), requesting("example.com/gpu")))
	}
	got := placeBothWays(t, config, withObjects(walkthrough().Objects()...), withObjects(objs...))
	for pod, on := range got {
		if strings.HasPrefix(pod, "train") && on != "w3" {
			t.Errorf("%s is on %s, want w3", pod, on)
		}
	}
	for _, call := range s.calls {
		if strings.Contains(call, "web") {
			t.Errorf("the extender was asked: %s", call)
		}
	}
	if len(s.calls) != 8 { // by each of the two ways
		t.Errorf("%d calls, want 8", len(s.calls))
	}
}

// An extender without nodeCacheCapable sends nodes back, and upstream scores these as if they had no pods. So w1, which has all other pods,
// is as good as any node, and the first.
func TestNodesFromExtendersHaveNoPods(t *testing.T) {
	s := serve(t, &testExtender{filter: filterWithMessages(nil, nil)})
	state := walkthrough()
	for i := range 4 {
		state = state.With(running(newAppPod("low", fmt.Sprintf("low-%d", i)), "w1"))
	}
	pod := newAppPod("web", "web-0")
	for more, want := range map[string]string{"filterVerb: filter": "w1", "preemptVerb: preempt": "w2"} {
		result, err := engineOf(t, s.config(t, more), Ties{}).Place(t.Context(), state.With(pod), []*v1.Pod{pod})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"web-0": want}, outcome(result)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", more, diff)
		}
	}
}

func TestExtenderNotes(t *testing.T) {
	const extenders = head + `extenders:
- {urlPrefix: http://a.example/x, filterVerb: f, prioritizeVerb: p, weight: 1, preemptVerb: e, bindVerb: b, nodeCacheCapable: true}
- {urlPrefix: http://b.example, bindVerb: '', ignorable: true, tlsConfig: {insecure: true}}
`
	config, err := LoadConfig(ConfigOptions{}, "test.yaml", []byte(extenders))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"The extender http://a.example/x is asked over HTTP (filter, prioritize, preempt); bind is not called.",
		"The extender http://a.example/x keeps nodes of its own (nodeCacheCapable) and gets only their names: it answers for the cluster that it watches.",
		"The extender http://b.example is not asked anything.",
	}
	if diff := cmp.Diff(want, config.Notes(3)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	config, err = LoadConfig(ConfigOptions{NoExtenders: true}, "test.yaml", []byte(extenders+"- {urlPrefix: https://c.example, enableHTTPS: true, tlsConfig: {caFile: /nowhere/ca.crt}}"))
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"Nothing is asked of the scheduler configuration's extenders (--no-extenders): http://a.example/x, http://b.example, https://c.example."}
	if diff := cmp.Diff(want, config.Notes(3)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if encoded, err := config.Encode(); err != nil || strings.Contains(string(encoded), "example") {
		t.Errorf("the configuration still has extenders (%v):\n%s", err, encoded)
	}
}
