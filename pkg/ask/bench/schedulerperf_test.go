package bench

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/internal/golden"
	"github.com/faultline/faultline/pkg/loader"
)

const perfFolder = "../../../scenarios/scheduler_perf"

// perfCase is a case of upstream's scheduler_perf that is a scenario here: in a small size, which make test runs, and in the sizes for
// which upstream has a threshold.
type perfCase struct {
	description string
	small       map[string]any // parameters in place of those of the first workload that has a threshold
	waiting     func(s *perfScenario) int
}

// countGatedPods and churnedPods return the number of pods without a node at the end.
func countGatedPods(s *perfScenario) int { return s.number(0, "gatedPods") }
func churnedPods(of int) func(*perfScenario) int {
	return func(s *perfScenario) int { return of * s.churn }
}

// smallSize returns the parameters of a small size.
func smallSize(nodes, init, measured float64) map[string]any {
	return map[string]any{"initNodes": nodes, "initPods": init, "measurePods": measured}
}

func smallSizeByNamespace(nodes, namespaces, init, measured float64) map[string]any {
	return map[string]any{"initNodes": nodes, "initNamespaces": namespaces, "initPodsPerNamespace": init, "measurePods": measured}
}

func smallSizeWithDevices(init, measured float64) map[string]any {
	return map[string]any{"nodesWithDRA": 20.0, "initClaims": init, "initPods": init, "classes": 5.0, "measurePods": measured}
}

var perfCases = map[string]perfCase{
	"SchedulingBasic":                                       {"Pods without any rule.", smallSize(500, 100, 400), nil},
	"SchedulingDaemonset":                                   {"Pods that must be on one node by its name, as those of a DaemonSet.", smallSize(500, 0, 500), nil},
	"SchedulingWhileGated":                                  {"Pods beside many that are held by a gate, after others were deleted.", map[string]any{"gatedPods": 100.0, "deletingPods": 200.0, "measurePods": 400.0}, countGatedPods},
	"SchedulingPodAntiAffinity":                             {"Pods that must be on different nodes.", smallSize(500, 100, 400), nil},
	"SchedulingPodMatchingAntiAffinity":                     {"Pods without a rule that must not be beside those that have one.", smallSize(500, 100, 400), nil},
	"SchedulingPodAffinity":                                 {"Pods that must be in the zone of others.", smallSize(500, 100, 400), nil},
	"SchedulingPreferredPodAffinity":                        {"Pods that are better on the nodes of others.", smallSize(500, 100, 400), nil},
	"SchedulingPreferredPodAntiAffinity":                    {"Pods that are better on different nodes.", smallSize(500, 100, 400), nil},
	"SchedulingNodeAffinity":                                {"Pods that must be in one of two zones.", smallSize(500, 100, 400), nil},
	"MixedSchedulingBasePod":                                {"Pods without any rule, beside pods with all kinds of affinity.", smallSize(500, 20, 400), nil},
	"TopologySpreading":                                     {"Pods that must be spread over three zones, with a skew of at most 5.", smallSize(500, 100, 400), nil},
	"PreferredTopologySpreading":                            {"Pods that are better spread over three zones.", smallSize(500, 100, 400), nil},
	"DefaultTopologySpreading":                              {"Pods of a Service, spread by default.", smallSize(500, 100, 400), nil},
	"SchedulingWithNodeInclusionPolicy":                     {"Pods that must be on different nodes by a spread, which counts only nodes without a taint.", map[string]any{"taintNodes": 100.0, "normalNodes": 400.0, "measurePods": 400.0}, nil},
	"SchedulingSecrets":                                     {"Pods with a Secret as a volume.", smallSize(500, 100, 400), nil},
	"SchedulingCSIPVs":                                      {"Pods with a volume each, bound before they are scheduled. No node has a limit of volumes here.", smallSize(500, 100, 400), nil},
	"PreemptionAsync":                                       {"Pods that fit, while others come that preempt four pods each.", smallSize(120, 480, 100), churnedPods(4)},
	"Unschedulable":                                         {"Pods that fit, while others come that fit nowhere.", smallSize(500, 10, 400), churnedPods(1)},
	"SchedulingWithResourceClaimTemplate":                   {"Pods with a claim on a device each, by a template.", smallSizeWithDevices(100, 60), nil},
	"ExtendedResource":                                      {"Pods that get a device by an extended resource of one of many classes.", smallSizeWithDevices(100, 60), nil},
	"SchedulingRequiredPodAntiAffinityWithNSSelector":       {"Pods that must be on different nodes, over namespaces by their labels.", smallSizeByNamespace(500, 10, 10, 200), nil},
	"SchedulingPreferredAntiAffinityWithNSSelector":         {"Pods that are better on different nodes, over namespaces by their labels.", smallSizeByNamespace(500, 10, 10, 200), nil},
	"SchedulingRequiredPodAffinityWithNSSelector":           {"Pods that must be in the zone of others, over namespaces by their labels.", smallSizeByNamespace(500, 10, 10, 200), nil},
	"SchedulingPreferredAffinityWithNSSelector":             {"Pods that are better on the nodes of others, over namespaces by their labels.", smallSizeByNamespace(500, 10, 10, 200), nil},
	"SchedulingGatedPodsWithPodAffinityImpactForThroughput": {"Pods on a node of one name, beside gated ones with affinity to them.", map[string]any{"gatedPods": 100.0, "measurePods": 400.0}, countGatedPods},
}

// leftOutWorkloads has the workloads with a threshold that are no scenarios, by a pattern for CASE/WORKLOAD. docs/performance.md lists the reasons.
var leftOutWorkloads = []string{
	`SchedulingWithMixedChurn/.*`, `SchedulingDeletedPodsWithFinalizers/.*`, `SchedulingInTreePVs/.*`, `SchedulingMigratedInTreePVs/.*`, `NodeDeclaredFeaturesEnabled/.*`,
	`SchedulingWithExtendedResource/.*`, `ExtendedResourceScoring/.*`, `SchedulingWithResourceClaimTemplate/(empty|half|full|selector_empty|match_empty)_500nodes`,
	`.*_AsyncAPICallsEnabled`, `.*_AsyncPreemptionEnabled`, `.*_NodeDeclaredFeaturesDisabled`,
}

// scenario returns the case as a scenario, with the parameters of a workload, some of which small replaces.
func (c perfCase) scenario(t *testing.T, of *upstreamCase, w *upstreamWorkload, name string, small map[string]any) string {
	s := &perfScenario{t: t, of: of, params: maps.Clone(w.Params), threshold: w.threshold(), namespaces: map[string]bool{}, jobs: map[string]string{}}
	maps.Copy(s.params, small)
	for i := range of.WorkloadTemplate {
		s.addOperation(i, &of.WorkloadTemplate[i])
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# %s/%s of upstream's scheduler_perf", of.Name, w.Name)
	if small != nil {
		text.WriteString(", in a size that takes less than a second")
	}
	text.WriteString(". Generated from upstream's files by make generate.\n" +
		"# Upstream's pods have no owner. Jobs make them here, because those of a Deployment would be spread by default besides.\n")
	if s.churn > 0 {
		fmt.Fprintf(&text, "# Upstream makes a pod every %d ms, without an end. Here there are as many as in the time that the threshold, %g pods/s, allows.\n", s.interval(), s.threshold)
	}
	fmt.Fprintf(&text, "# https://github.com/kubernetes/kubernetes/blob/%s/test/integration/scheduler_perf/%s\n", of.version, of.file)
	fmt.Fprintf(&text, "apiVersion: faultline/v1alpha1\nkind: Scenario\nmetadata: {name: %s}\ndescription: %s\n", flowYAML(name), flowYAML(c.description))
	if of.FeatureGates["DRAExtendedResource"] {
		text.WriteString("scheduler: {featureGates: {DRAExtendedResource: true}}\n")
	}
	text.WriteString("cluster:\n")
	for _, source := range s.synthetic {
		fmt.Fprintf(&text, "- synthetic: %s\n", flowYAML(toPlainValue(source)))
	}
	text.WriteString("- objects:\n")
	for _, object := range s.objects {
		fmt.Fprintf(&text, "  - %s\n", flowYAML(toPlainValue(object)))
	}
	text.WriteString("steps:\n")
	for i, step := range s.steps {
		s.writeStep(&text, toPlainValue(step).(map[string]any), i == len(s.steps)-1, c.waiting)
	}
	return text.String()
}

// writeStep writes a step, with an object on each line.
func (s *perfScenario) writeStep(text *strings.Builder, step map[string]any, last bool, waiting func(*perfScenario) int) {
	fmt.Fprintf(text, "- name: %s\n", step["name"])
	if applied, is := step["apply"].(map[string]any); is {
		text.WriteString("  apply:\n    objects:\n")
		for _, line := range withAnchor(applied["objects"].([]any)) {
			fmt.Fprintf(text, "    - %s\n", line)
		}
	} else {
		fmt.Fprintf(text, "  delete: %s\n", flowYAML(step["delete"]))
	}
	pending := 0
	if waiting != nil && (last || s.churn == 0) {
		pending = waiting(s)
	}
	fmt.Fprintf(text, "  expect: {pending: %d}\n", pending)
}

// withAnchor writes the objects of a step. It writes the pods' template once, with an anchor, if all of them share it.
func withAnchor(objects []any) (lines []string) {
	template := func(object any) string { return flowYAML(object.(map[string]any)["spec"].(map[string]any)["template"]) }
	shared := len(objects) > 1 && !slices.ContainsFunc(objects, func(object any) bool { return template(object) != template(objects[0]) })
	for i, object := range objects {
		line := flowYAML(object)
		switch {
		case shared && i == 0:
			line = strings.Replace(line, template(object), "&pod "+template(object), 1)
		case shared:
			line = strings.Replace(line, template(object), "*pod", 1)
		}
		lines = append(lines, line)
	}
	return lines
}

// interval returns the time between two pods that churn, in ms.
func (s *perfScenario) interval() int {
	for i := range s.of.WorkloadTemplate {
		if op := &s.of.WorkloadTemplate[i]; op.Opcode == "churn" {
			return op.IntervalMilliseconds
		}
	}
	return 0
}

// Every workload of upstream that has a threshold is a scenario, generated from upstream's files, or is left out by name. Each case runs in a
// small size as the scenario expects.
func TestSchedulerPerf(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	found, want := map[string]bool{}, map[string]bool{}
	for _, of := range readUpstream(t) {
		c, is := perfCases[of.Name]
		for i := range of.Workloads {
			w := &of.Workloads[i]
			if w.threshold() == 0 {
				continue
			}
			if slices.ContainsFunc(leftOutWorkloads, func(pattern string) bool {
				return regexp.MustCompile("^" + pattern + "$").MatchString(of.Name + "/" + w.Name)
			}) {
				continue
			}
			if !is {
				t.Errorf("%s/%s has a threshold of %g and is neither a scenario nor left out", of.Name, w.Name, w.threshold())
				continue
			}
			file := strings.ReplaceAll(w.Name, "/", "_") + ".yaml"
			if !found[of.Name] {
				golden.Compare(t, filepath.Join(perfFolder, of.Name, loader.FileName), c.scenario(t, &of, w, of.Name, c.small))
				want[filepath.Join(of.Name, loader.FileName)] = true
			}
			golden.Compare(t, filepath.Join(perfFolder, of.Name, file), c.scenario(t, &of, w, of.Name+"_"+strings.TrimSuffix(file, ".yaml"), nil))
			found[of.Name], want[filepath.Join(of.Name, file)] = true, true
			if row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %s \| %s \|.*\| %g \|$`, of.Name, w.Name, w.threshold())); !row.Match(docs) {
				t.Errorf("docs/performance.md has no row for %s", row)
			}
		}
	}
	for name := range perfCases {
		if !found[name] {
			t.Errorf("upstream has no case %s with a threshold", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(perfFolder, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name, _ := filepath.Rel(perfFolder, file); !want[name] {
			t.Errorf("%s is of no workload of upstream", file)
		}
	}
}

// Each case loads in every size, and expects something of each step; simulate test scenarios checks the small ones.
func TestSchedulerPerfLoads(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(perfFolder, "*", "*.yaml"))
	if err != nil || len(files) < 2*len(perfCases) {
		t.Fatalf("%d files of %d cases: %v", len(files), len(perfCases), err)
	}
	for _, file := range files {
		loaded, err := loader.Load(file, loader.Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, step := range loaded.Steps {
			if step.Expect == nil {
				t.Errorf("%s: %s expects nothing", file, step.Name)
			}
		}
	}
}
