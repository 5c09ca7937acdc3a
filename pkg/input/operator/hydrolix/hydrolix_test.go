package hydrolix

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// smallProfile has three components, so that a test can list everything that is created.
const smallProfile = `
label: app
weight: 60
scaleProfiles: [eval, prod]
services:
  zookeeper: {kind: StatefulSet, replicas: {eval: 1, prod: 3}, cpu: 500m, memory: 1Gi, dataStorage: 10Gi, priorityClass: hdx-critical}
  keycloak: {kind: Deployment, replicas: {eval: 1, prod: 2}, cpu: 500m, memory: 1Gi}
  merge-peer: {kind: Deployment, replicas: {eval: 1}, cpu: "1", memory: 2Gi, priorityClass: hdx-low}
`

func profileOf(t *testing.T, text string) *Profile {
	t.Helper()
	profile, err := ReadProfile("mine.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// expandSpec expands a resource with that spec, read as from a file.
func expandSpec(t *testing.T, opts Options, head, spec string) (*operator.Result, error) {
	t.Helper()
	set, err := manifest.Decode("hdx.yaml", []byte(head+"\nspec: "+spec))
	if err != nil {
		t.Fatal(err)
	}
	return operator.Expand([]operator.Operator{New(opts)}, set.Ignored)
}

const head = "apiVersion: hydrolix.io/v1\nkind: HydrolixCluster\nmetadata: {name: hdx, namespace: data}"

// findPodSpec returns the pod template and the replicas of a workload; nil if it was not created.
func findPodSpec(result *operator.Result, name string) (*v1.PodSpec, int32, []operator.Origin) {
	for _, obj := range result.Objects {
		if obj.GetName() != name {
			continue
		}
		switch o := obj.Object.(type) {
		case *appsv1.Deployment:
			return &o.Spec.Template.Spec, *o.Spec.Replicas, operator.OriginsOf(o)
		case *appsv1.StatefulSet:
			return &o.Spec.Template.Spec, *o.Spec.Replicas, operator.OriginsOf(o)
		}
	}
	return nil, 0, nil
}

// inWords describes the parts of a pod's spec that targeting decides, such as "preferred hostname 60".
func inWords(pod *v1.PodSpec) string {
	var words []string
	if pod.NodeSelector != nil {
		words = append(words, fmt.Sprint("node ", pod.NodeSelector))
	}
	if pod.Affinity != nil && pod.Affinity.NodeAffinity != nil {
		words = append(words, "node affinity")
	}
	if pod.Affinity != nil && pod.Affinity.PodAntiAffinity != nil {
		for _, term := range pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			words = append(words, fmt.Sprint("required ", term.TopologyKey, " ", term.LabelSelector.MatchLabels))
		}
		for _, term := range pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			words = append(words, fmt.Sprint("preferred ", term.PodAffinityTerm.TopologyKey, " ", term.PodAffinityTerm.LabelSelector.MatchLabels, " ", term.Weight))
		}
	}
	return strings.Join(words, ", ")
}

func TestTargeting(t *testing.T) {
	const (
		zone  = "pod_anti_affinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 5, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {a: b}}}}]}"
		own   = "preferred kubernetes.io/hostname map[app:zookeeper] 60"
		other = "preferred zone map[a:b] 5"
	)
	for _, tt := range []struct {
		name, spec, workload, want, origins string
	}{
		{"default", "{}", "zookeeper", own, "affinity.podAntiAffinity: operator default"},
		// Two settings apply: the component's selector replaced the one for all, and nobody overrode the operator's rule.
		{"component over all, default kept", "{targeting: {'*': {node_selector: {pool: all}}, zookeeper: {node_selector: {disk: ssd}}}}", "zookeeper",
			"node map[disk:ssd], " + own, "affinity.podAntiAffinity: operator default, nodeSelector: component zookeeper"},
		{"each field by itself", "{targeting: {'*': {node_selector: {pool: all}}, zookeeper: {" + zone + "}}}", "zookeeper",
			"node map[pool:all], " + other, "affinity.podAntiAffinity: component zookeeper, nodeSelector: '*'"},
		{"{} opts out", "{targeting: {zookeeper: {pod_anti_affinity: {}}}}", "zookeeper", "", "affinity.podAntiAffinity: component zookeeper"},
		{"{} opts out of *", "{targeting: {'*': {node_selector: {pool: all}}, zookeeper: {node_selector: {}}}}", "zookeeper", own,
			"affinity.podAntiAffinity: operator default, nodeSelector: component zookeeper"},
		{"null is not given", "{targeting: {zookeeper: {pod_anti_affinity: null}}}", "zookeeper", own, "affinity.podAntiAffinity: operator default"},
		{"* covers what has no default", "{targeting: {'*': {" + zone + "}}}", "merge-peer", other, "affinity.podAntiAffinity: '*'"},
		{"keycloak, 1 replica", "{}", "keycloak", "", ""},
		{"keycloak, 3 replicas", "{scale: {keycloak: {replicas: 3}}}", "keycloak", "required kubernetes.io/hostname map[app:keycloak]",
			"affinity.podAntiAffinity: operator default"},
		{"* takes keycloak's rule", "{scale_profile: prod, targeting: {'*': {pod_anti_affinity: {}}}}", "keycloak", "", "affinity.podAntiAffinity: '*'"},
		{"pool over component", "{pools: [{name: mp2, service: merge-peer}], targeting: {mp2: {node_selector: {p: '2'}}, merge-peer: {node_selector: {p: '1'}, node_affinity: " +
			"{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}}}", "mp2",
			"node map[p:2], node affinity", "affinity.nodeAffinity: component merge-peer, nodeSelector: pool mp2"},
		{"pool's rules are the pool's", "{pools: [{name: mp2, service: merge-peer}], targeting: {mp2: {node_selector: {p: '2'}}}}", "merge-peer", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := expandSpec(t, Options{profileOf(t, smallProfile)}, head, tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			pod, _, all := findPodSpec(result, tt.workload)
			if pod == nil {
				t.Fatalf("there is no %s", tt.workload)
			}
			var origins []string
			for _, o := range all {
				if o.Field != "priorityClassName" {
					origins = append(origins, o.Field+": "+o.Level)
				}
			}
			if diff := cmp.Diff([]string{tt.want, tt.origins}, []string{inWords(pod), strings.Join(origins, ", ")}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScale(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		want       []string
	}{
		{"eval unless told", "{}", []string{"keycloak 1 500m 1Gi", "merge-peer 1 1 2Gi hdx-low", "zookeeper 1 500m 1Gi hdx-critical"}},
		{"prod", "{scale_profile: prod}", []string{"keycloak 2 500m 1Gi", "zookeeper 3 500m 1Gi hdx-critical"}},
		{"one field", "{scale: {zookeeper: {cpu: 2}, merge-peer: {replicas: 0}}}",
			[]string{"keycloak 1 500m 1Gi", "merge-peer 0 1 2Gi hdx-low", "zookeeper 1 2 1Gi hdx-critical"}},
		{"custom profile for a pool", "{scale: {merge-peer: {memory: 3Gi}, profile: {big: {merge-peer: {memory: 8Gi, replicas: 4}}}}, " +
			"pools: [{name: mp2, service: merge-peer, scale_profile: big}, {name: mp3, service: merge-peer, scale_profile: big, replicas: 2}]}",
			[]string{"keycloak 1 500m 1Gi", "merge-peer 1 1 3Gi hdx-low", "zookeeper 1 500m 1Gi hdx-critical", "mp2 4 1 8Gi hdx-low", "mp3 2 1 8Gi hdx-low"}},
		{"pool in the component's place", "{pools: [{name: merge-peer, service: merge-peer, replicas: 5}]}",
			[]string{"keycloak 1 500m 1Gi", "zookeeper 1 500m 1Gi hdx-critical", "merge-peer 5 1 2Gi hdx-low"}},
		{"scale_off", "{scale_off: true}", []string{"keycloak 0 500m 1Gi", "merge-peer 0 1 2Gi hdx-low", "zookeeper 0 500m 1Gi hdx-critical"}},
		{"scale_min", "{scale_min: true}", []string{"keycloak 1 500m 1Gi", "merge-peer 0 1 2Gi hdx-low", "zookeeper 1 500m 1Gi hdx-critical"}},
		{"priority classes", "{priority_classes: {deployments: {merge-peer: hdx-high, zookeeper: hdx-low}}}",
			[]string{"keycloak 1 500m 1Gi", "merge-peer 1 1 2Gi hdx-high", "zookeeper 1 500m 1Gi hdx-critical"}},
		{"range", "{scale: {merge-peer: {replicas: 2-10}}}", []string{"keycloak 1 500m 1Gi", "merge-peer 2 1 2Gi hdx-low", "zookeeper 1 500m 1Gi hdx-critical"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			result, err := expandSpec(t, Options{profileOf(t, smallProfile)}, head, tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range result.Objects {
				if pod, replicas, _ := findPodSpec(result, obj.GetName()); pod != nil {
					requests := pod.Containers[0].Resources.Requests
					got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d %s %s %s", obj.GetName(), replicas, requests.Cpu(), requests.Memory(), pod.PriorityClassName)))
					if obj.GetNamespace() != "data" {
						t.Errorf("%s is in the namespace %s", obj.GetName(), obj.GetNamespace())
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPriorityClassesComeOnce(t *testing.T) {
	set, err := manifest.Decode("hdx.yaml", []byte(head+"\nspec: {}\n---\n"+strings.Replace(head, "hdx", "more", 1)+"\nspec: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	result, err := operator.Expand([]operator.Operator{New(Options{profileOf(t, smallProfile)})}, set.Ignored)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]int32{}
	for _, obj := range result.Objects {
		if class, ok := obj.Object.(*schedulingv1.PriorityClass); ok {
			values[class.Name] += class.Value // a class that is created twice has twice the value
		}
	}
	want := map[string]int32{"hdx-critical": 10000, "vector": 10000, "hdx-highest": 9900, "hdx-high": 9800, "hdx-medium": 9700, "hdx-low": 9600, "hdx-lowest": 9500}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVolumesAndScheduler(t *testing.T) {
	result, err := expandSpec(t, Options{profileOf(t, smallProfile+"storageClass: fast")}, head,
		"{scheduler: {enabled: true}, scale: {zookeeper: {data_storage: 1TB, scheduler_name: hdx-binpack-scheduler}}}")
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range result.Objects {
		set, ok := obj.Object.(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		claim := set.Spec.VolumeClaimTemplates[0].Spec
		got := fmt.Sprint(*claim.StorageClassName, " ", claim.Resources.Requests.Storage(), " ", set.Spec.Template.Spec.SchedulerName)
		if want := "fast 1T hdx-binpack-scheduler"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "a profile named hdx-binpack-scheduler") {
		t.Errorf("%q", result.Notes)
	}
}

// Unpublished values are reported as assumed; values of the user's own profile are not.
func TestAssumptions(t *testing.T) {
	assumed := func(opts Options, spec string) []string {
		result, err := expandSpec(t, opts, head, spec)
		if err != nil {
			t.Fatal(err)
		}
		return result.Notes
	}
	notes := strings.Join(assumed(Options{}, "{scale_profile: prod, scale: {intake-head: {replicas: 7}}}"), "\n")
	for _, want := range []string{
		"assumed: pods have the label app", "zookeeper 3", "500m and 2Gi for prometheus", "hdx-critical for postgres, rabbitmq, zookeeper",
		"these are Deployments: merge-head", "default anti-affinity of keycloak, rabbitmq, traefik, zookeeper", "weight 100", "claim no volumes", "default strategy",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not in\n%s", want, notes)
		}
	}
	if strings.Contains(notes, "intake-head 7") {
		t.Errorf("what the resource says is told as assumed:\n%s", notes)
	}
	if notes := assumed(Options{profileOf(t, smallProfile)}, "{}"); len(notes) != 0 {
		t.Errorf("assumed in spite of a profile: %q", notes)
	}
	for spec, want := range map[string]string{
		"{targeting: {'*': {pod_anti_affinity: {}}}}":     "also of Keycloak's required one",
		"{targeting: {zookeper: {node_selector: {}}}}":    `no pool and no component, and has no effect; did you mean "zookeeper"?`,
		"{targeting: {zookeeper: {podAntiAffinity: {}}}}": `unknown field "spec.targeting.zookeeper.podAntiAffinity"; did you mean "pod_anti_affinity"?`,
		"{targeting: {zookeeper: {node_selector: null}}}": "null is taken for not given",
		"{targeting: {zookeeper: {node_name: a}}}":        "assumed: node_name in spec.targeting[zookeeper] is the pods' nodeName; " + undocumentedKey,
		"{targeting: {zookeeper: {tolerations: []}}}":     "the documentation does not mention it",
		"{targetting: {}}":                          `did you mean "targeting"?`,
		"{scale: {merge-indexer: {memory: 1Gi}}}":   "spec.scale[merge-indexer] is no component of the profile and no container beside one, and changes nothing",
		"{scale: {zookeeper: {replica: 1}}}":        `did you mean "replicas"?`,
		"{scale: {zookeeper: {scheduler_name: x}}}": "deployed only with spec.scheduler.enabled: true",
		"{pools: [{name: a, service: merge-peer, scale_profile: bih}], scale: {profile: {big: {}}}}": `did you mean "big"?`,
		"{priority_classes: {statefulset: {keycloak: hdx-low}}}":                                     "keycloak is a Deployment",
		"{scale_off: true}":                    "assumed: with scale_off",
		"{scale_min: true}":                    "assumed: with scale_min",
		"{scale: {keycloak: {replicas: 1-3}}}": "the least of its range",
	} {
		if notes := assumed(Options{profileOf(t, smallProfile)}, spec); !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("%s: %q, want %q", spec, notes, want)
		}
	}
}

func TestErrors(t *testing.T) {
	const at = "hdx.yaml: HydrolixCluster data/hdx: "
	for _, tt := range []struct {
		name, head, spec string
		want             []string
	}{
		{"version", strings.Replace(head, "/v1", "/v2", 1), "{}", []string{"apiVersion: unknown version hydrolix.io/v2: use hydrolix.io/v1"}},
		{"no spec", head, "", []string{"spec: Required value"}},
		{"spec of another type", head, "[]", []string{"spec: Invalid value: []: a list where an object is wanted"}},
		{"types", head, "{scale: {zookeeper: {replicas: -1, cpu: x, data_storage: big}, profile: {a: {zookeeper: {replicas: 3-1}}}}, targeting: {'*': {node_selector: []}}}", []string{
			"spec.scale.profile[a][zookeeper].replicas: Invalid value: \"3-1\": not a number of replicas; give at least 0, or a range such as 1-10",
			"spec.scale[zookeeper].replicas: Invalid value: -1: not a number of replicas; give at least 0, or a range such as 1-10",
			"spec.scale[zookeeper].cpu: Invalid value: \"x\": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
			"spec.scale[zookeeper].data_storage: Invalid value: \"big\": not a size; give, for example, 10Gi or 1TB",
			"spec.targeting[*].node_selector: Invalid value: []: a list where an object is wanted",
		}},
		{"negative sizes", head, "{scale: {zookeeper: {cpu: -1, data_storage: -1TB}, profile: {a: {keycloak: {memory: -1Gi}}}}}", []string{
			"spec.scale[zookeeper].cpu: Invalid value: \"-1\": must be greater than or equal to 0",
			"spec.scale[zookeeper].data_storage: Invalid value: \"-1T\": must be greater than or equal to 0",
			"spec.scale.profile[a][keycloak].memory: Invalid value: \"-1Gi\": must be greater than or equal to 0",
		}},
		{"values", head, "{scale_profile: prd, priority_classes: {deployments: {keycloak: hdx-hig}}, pools: [{name: a}, {service: merge-pear}, {name: keycloak, service: merge-peer}, " +
			"{name: a, service: merge-peer}], targeting: {zookeeper: {pod_anti_affinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}}}", []string{
			"spec.targeting[zookeeper].pod_anti_affinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty",
			"spec.priority_classes.deployments[keycloak]: unknown class \"hdx-hig\": use one of system-node-critical, hdx-critical, hdx-highest, hdx-high, hdx-medium, hdx-low, hdx-lowest; did you mean \"hdx-high\"?",
			"spec.scale_profile: the profile has no \"prd\", only eval, prod; did you mean \"prod\"?",
			"spec.pools[0].service: Required value",
			"spec.pools[1].name: Required value",
			"spec.pools[1].service: the profile has no component \"merge-pear\"; did you mean \"merge-peer\"?",
			"spec.pools[2].name: \"keycloak\" is the name of another component; give the pool its own name",
			"spec.pools[3].name: Duplicate value: \"a\"",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := expandSpec(t, Options{profileOf(t, smallProfile)}, tt.head, tt.spec)
			if err == nil {
				t.Fatal("there is no error")
			}
			var want []string
			for _, line := range tt.want {
				want = append(want, at+line)
			}
			if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The shipped profile agrees with the documentation, and its sentence about the unpublished kinds is true.
func TestShippedProfile(t *testing.T) {
	profile, err := readShippedProfile()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range profile.serviceNames() {
		want := publishedKind[name]
		if want == "" {
			want = "Deployment"
		}
		if got := profile.Services[name].Kind; got != want {
			t.Errorf("%s is a %s, want %s", name, got, want)
		}
	}
	for _, name := range append(append([]string{keycloak}, preferredServices...), minimalServices...) {
		if _, found := profile.Services[name]; !found {
			t.Errorf("there is no %s", name)
		}
	}
}

func TestReadProfileErrors(t *testing.T) {
	_, err := ReadProfile("p.yaml", []byte("weight: 0\nscaleProfiles: [prod]\nservices: {a: {kind: Pod, replicas: {prd: -1}}}"))
	want := `p.yaml: label: missing; give the key of the label that the pods of a component share
p.yaml: weight: 0 is out of range; give 1 to 100
p.yaml: services[a].kind: unknown kind "Pod": use Deployment, StatefulSet or DaemonSet
p.yaml: services[a].replicas[prd]: -1 is negative; give 0 or more
p.yaml: services[a].replicas[prd]: scaleProfiles has no "prd"; did you mean "prod"?`
	if err == nil {
		t.Fatal("there is no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The container beside merge-peer has the published size, the resource's size, or the size of a pool's scale profile: the example of
// https://docs.hydrolix.io/docs/custom-profiles.
func TestSidecarsTakeRoom(t *testing.T) {
	profile, err := readShippedProfile()
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string][]string{
		"{}": {"merge-peer 3Gi"},
		"{scale: {merge-indexer: {memory: 4Gi}}}": {"merge-peer 4Gi"},
		"{scale: {profile: {merge-indexer-2: {merge-indexer: {memory: 8Gi}}}}, pools: [{name: merge-peer-ii, scale_profile: merge-indexer-2, service: merge-peer, replicas: 1}]}": {
			"merge-peer 3Gi", "merge-peer-ii 8Gi"},
	} {
		result, err := expandSpec(t, Options{profile}, head, spec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"merge-peer", "merge-peer-ii"} {
			if pod, _, _ := findPodSpec(result, name); pod != nil {
				got = append(got, name+" "+pod.Containers[1].Resources.Requests.Memory().String())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}
