package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/world"
)

// failureCase is a recorded case in which nodes fail; see testdata/groundtruth/failures. It was recorded with a node eviction rate of 100
// per second and tolerations of 2 s, so only what does not depend on timing is compared.
type failureCase struct {
	Steps []failureStep
}

type failureStep struct {
	Name   string
	Fresh  bool
	File   string
	Do     []map[string]any
	Expect struct {
		Pending     map[string]int
		Placements  []distribution
		Messages    []string
		Terminating []recordedCounts
		NotReady    []recordedCounts
		Jobs        []struct {
			Value map[string]jobStatus
		}
		Drain []struct {
			Value struct {
				Left    int
				Refused []string
			}
		}
	}
}

// recordedCounts holds numbers of pods by app and node.
type recordedCounts struct {
	Value map[string]map[string]int
	Seen  int
}

type jobStatus struct {
	Active, Failed, Terminating int32
	Conditions                  []string
}

func loadFailure(t *testing.T, dir string) *failureCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c failureCase
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// stepOf turns a recorded action into a step.
func stepOf(t *testing.T, do map[string]any) scenario.Step {
	t.Helper()
	step := scenario.Step{}
	nodes := func(value any) scenario.Nodes {
		if selector, ok := value.(string); ok {
			return scenario.Nodes{Selector: selector}
		}
		var names []string
		for _, name := range value.([]any) {
			names = append(names, name.(string))
		}
		return scenario.Nodes{Names: names}
	}
	target := func(value any) scenario.Target { return scenario.Target{Target: value.(string)} }
	for _, verb := range slices.Sorted(maps.Keys(do)) {
		switch verb {
		case "mode", "images", "replicas", "with":
		case "fail_nodes":
			step.Fail = &scenario.Fail{Nodes: nodes(do[verb]), Mode: do["mode"].(string)}
		case "restore":
			step.Restore = &scenario.NodesInTurn{Nodes: nodes(do[verb])}
		case "drain":
			step.Drain = &scenario.Drain{Nodes: nodes(do[verb])}
		case "rollout_restart":
			step.Rollout = &scenario.Rollout{Target: target(do[verb]), Restart: true}
		case "rollout":
			step.Rollout = &scenario.Rollout{Target: target(do[verb]), Restart: do["images"] == nil}
			if images, given := do["images"].(map[string]any); given {
				step.Rollout.Images = map[string]string{}
				for container, image := range images {
					step.Rollout.Images[container] = image.(string)
				}
			}
		case "cordon":
			step.Cordon = &scenario.NodesInTurn{Nodes: nodes(do[verb])}
		case "uncordon":
			step.Uncordon = &scenario.NodesInTurn{Nodes: nodes(do[verb])}
		case "scale":
			step.Scale = &scenario.Scale{Target: target(do[verb]), Replicas: int32(do["replicas"].(float64))}
		case "patch":
			patch, err := json.Marshal(do["with"])
			if err != nil {
				t.Fatal(err)
			}
			step.Patch = &scenario.Patch{Target: target(do[verb]), Patch: runtime.RawExtension{Raw: patch}}
		case "delete":
			step.Delete = &scenario.Delete{}
			for _, name := range do[verb].([]any) {
				step.Delete.Targets = append(step.Delete.Targets, name.(string))
			}
		default:
			t.Fatalf("unknown action %s", verb)
		}
	}
	return step
}

func failureScenario(t *testing.T, dir string, c *failureCase, ties string, seed uint64) *scenario.Scenario {
	t.Helper()
	file := &scenario.File{Ties: ties, Seed: &seed, Cluster: []scenario.Source{{Files: []string{filepath.Join(dir, "nodes.yaml")}}}}
	for _, recorded := range c.Steps {
		step := scenario.Step{}
		switch {
		case recorded.File != "":
			step = scenario.Step{Fresh: recorded.Fresh, Apply: &scenario.Source{Files: []string{filepath.Join(dir, recorded.File)}}}
		case len(recorded.Do) == 1:
			step = stepOf(t, recorded.Do[0])
		default:
			t.Fatalf("step %s has %d actions", recorded.Name, len(recorded.Do))
		}
		step.Name = recorded.Name
		file.Steps = append(file.Steps, step)
	}
	s, err := loader.New(dir, file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// byAppAndNode counts the pods for which of returns true.
func byAppAndNode(state *cluster.State, of func(*v1.Pod) bool) map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, pod := range state.Pods {
		if app := pod.Labels["app"]; of(pod) {
			if all[app] == nil {
				all[app] = map[string]int{}
			}
			all[app][pod.Spec.NodeName]++
		}
	}
	return all
}

// placedOn counts the pods of each node that are not being deleted.
func placedOn(state *cluster.State) map[string]int {
	placed := map[string]int{}
	for _, nodes := range byAppAndNode(state, func(p *v1.Pod) bool { return controller.IsPodActive(p) && p.Spec.NodeName != "" }) {
		for node, pods := range nodes {
			placed[node] += pods
		}
	}
	return placed
}

// formatByZone formats the pods per node so that equal nodes of a zone can stand for each other: n-a1 and n-a2 are n-a.
func formatByZone(nodes map[string]int) string { return fmt.Sprint(byZone(nodes)) }

// formatZones is like alike, but for zones as well.
func formatZones(nodes map[string]int) string {
	return fmt.Sprint(slices.SortedFunc(maps.Values(byZone(nodes)), slices.Compare))
}

func byZone(nodes map[string]int) map[string][]int {
	zones := map[string][]int{}
	for node, pods := range nodes {
		zone := strings.TrimRight(node, "0123456789")
		zones[zone] = append(zones[zone], pods)
	}
	for _, pods := range zones {
		slices.Sort(pods)
	}
	return zones
}

func alikeApps(apps map[string]map[string]int) string {
	all := map[string]string{}
	for app, nodes := range apps {
		all[app] = formatByZone(nodes)
	}
	return fmt.Sprint(all)
}

// When nodes fail and come back, every step has the pending pods, messages, Terminating pods and unready pods of a real control plane, and
// one of its placements; equal nodes of a zone are ties.
func TestFailuresComeOutAsRecorded(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "groundtruth", "failures", "f*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded failures: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c := loadFailure(t, dir)
			result := runCase(t, failureScenario(t, dir, c, "upstream", 1))
			for i := range result.Steps {
				compareFailure(t, &result.Steps[i], &c.Steps[i])
			}
		})
	}
}

func compareFailure(t *testing.T, step *Step, recorded *failureStep) {
	t.Helper()
	want := &recorded.Expect
	if pending := fmt.Sprint(len(step.Pending)); want.Pending[pending] == 0 {
		t.Errorf("%s: %s pods pending, want %v", step.Name, pending, want.Pending)
	}
	// A real scheduler does not retry a pod because a node was cordoned, so its message is older after a drain.
	if got := messages(step); (recorded.Do == nil || recorded.Do[0]["drain"] == nil) && !slices.Equal(got, slices.Sorted(slices.Values(want.Messages))) {
		t.Errorf("%s: messages\n got %q\nwant %q", step.Name, got, want.Messages)
	}
	placed := placedOn(step.State)
	look := formatByZone
	if len(recorded.Do) > 0 && recorded.Do[0]["rollout_restart"] != nil {
		look = formatZones // chance decides which of equal pods goes first, and so which of equal zones gets the last new one
	}
	if !slices.ContainsFunc(want.Placements, func(d distribution) bool { return look(d.Nodes) == look(placed) }) {
		t.Errorf("%s: placement %v was never seen; seen were %v", step.Name, placed, want.Placements)
	}
	ending := byAppAndNode(step.State, func(p *v1.Pod) bool { return p.DeletionTimestamp != nil })
	if !wasRecorded(want.Terminating, ending) {
		t.Errorf("%s: Terminating %v was never seen; seen were %v", step.Name, ending, want.Terminating)
	}
	unready := byAppAndNode(step.State, func(p *v1.Pod) bool {
		return controller.IsPodActive(p) && p.Spec.NodeName != "" && !slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
		})
	})
	if !wasRecorded(want.NotReady, unready) {
		t.Errorf("%s: not ready %v was never seen; seen were %v", step.Name, unready, want.NotReady)
	}
	for _, jobs := range want.Jobs {
		for _, job := range step.State.Jobs {
			got := jobStatus{Active: job.Status.Active, Failed: job.Status.Failed, Terminating: ptr.Deref(job.Status.Terminating, 0), Conditions: []string{}}
			for _, c := range job.Status.Conditions {
				got.Conditions = append(got.Conditions, string(c.Type)+"/"+c.Reason)
			}
			if want := jobs.Value[job.Name]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: job %s is %v, want %v", step.Name, job.Name, got, want)
			}
		}
	}
	for _, drain := range want.Drain {
		for _, refused := range drain.Value.Refused {
			says := func(pod world.BlockedPod) bool { return strings.Contains(pod.Reason, refused) }
			if !slices.ContainsFunc(step.Drained, func(d world.DrainedNode) bool { return slices.ContainsFunc(d.Refused, says) }) {
				t.Errorf("%s: no pod stays because of %q: %+v", step.Name, refused, step.Drained)
			}
		}
	}
}

// wasRecorded reports whether got was recorded, or nothing was recorded and got is empty.
func wasRecorded(seen []recordedCounts, got map[string]map[string]int) bool {
	if len(seen) == 0 {
		return len(got) == 0
	}
	return slices.ContainsFunc(seen, func(c recordedCounts) bool { return alikeApps(c.Value) == alikeApps(got) })
}

// A thousand seeds reach every placement that was recorded while nodes fail and come back.
func TestRandomTiesReachEveryFailure(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join("testdata", "groundtruth", "failures", "f*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recorded failures: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			c := loadFailure(t, dir)
			var wanted []outcomeSeen
			for i, step := range c.Steps {
				for _, seen := range step.Expect.Placements {
					// In one of five runs a node's pods had ended before its taints were gone, and their successors went to another node.
					if strings.HasPrefix(filepath.Base(dir), "f09") && step.Do != nil && seen.Seen == 1 {
						continue
					}
					wanted = append(wanted, outcomeSeen{i, step.Name, formatByZone(seen.Nodes), seen.Seen})
				}
			}
			reachAll(t, wanted, func(seed uint64) []string {
				var outcomes []string
				for _, step := range runCase(t, failureScenario(t, dir, c, "random", seed)).Steps {
					outcomes = append(outcomes, formatByZone(placedOn(step.State)))
				}
				return outcomes
			})
		})
	}
}
