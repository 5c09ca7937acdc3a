package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// walkthrough is the cluster of the inter-pod anti-affinity walkthrough for kind.
const walkthrough = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: affinity
nodes:
  - role: control-plane
  - role: worker
    kubeadmConfigPatches:
      - |
        kind: JoinConfiguration
        nodeRegistration:
          kubeletExtraArgs:
            node-labels: "topology.kubernetes.io/region=west,topology.kubernetes.io/zone=west-1a"
  - role: worker
    kubeadmConfigPatches:
      - |
        kind: JoinConfiguration
        nodeRegistration:
          kubeletExtraArgs:
            node-labels: "topology.kubernetes.io/region=west,topology.kubernetes.io/zone=west-1c"
  - role: worker
    kubeadmConfigPatches:
      - |
        kind: JoinConfiguration
        nodeRegistration:
          kubeletExtraArgs:
            node-labels: "topology.kubernetes.io/region=east,topology.kubernetes.io/zone=east-1b"
`

func TestFromKind(t *testing.T) {
	nodes, err := FromKind([]byte(walkthrough))
	if err != nil {
		t.Fatal(err)
	}
	const node = `
apiVersion: v1
kind: Node
metadata:
  name: affinity-%[1]s
  labels: {%[2]s, kubernetes.io/hostname: affinity-%[1]s, kubernetes.io/arch: amd64, kubernetes.io/os: linux, beta.kubernetes.io/arch: amd64, beta.kubernetes.io/os: linux}
spec: {taints: [%[3]s]}
status:
  capacity: &size {cpu: "8", memory: 16Gi, pods: "110", ephemeral-storage: 100Gi}
  allocatable: *size
  conditions: [{type: Ready, status: "True", reason: KubeletReady}]
  declaredFeatures: [ExtendWebSocketsToKubelet, InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingInitContainers, RestartAllContainersOnContainerExits]
  nodeInfo: {operatingSystem: linux, architecture: amd64}
`
	const place = "topology.kubernetes.io/region: %s, topology.kubernetes.io/zone: %s"
	var want []*v1.Node
	for _, text := range []string{
		fmt.Sprintf(node, "control-plane",
			`node-role.kubernetes.io/control-plane: "", node.kubernetes.io/exclude-from-external-load-balancers: ""`,
			"{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}"),
		fmt.Sprintf(node, "worker", fmt.Sprintf(place, "west", "west-1a"), ""),
		fmt.Sprintf(node, "worker2", fmt.Sprintf(place, "west", "west-1c"), ""),
		fmt.Sprintf(node, "worker3", fmt.Sprintf(place, "east", "east-1b"), ""),
	} {
		n := &v1.Node{}
		if err := yaml.UnmarshalStrict([]byte(text), n); err != nil {
			t.Fatal(err)
		}
		if len(n.Spec.Taints) == 0 {
			n.Spec.Taints = nil
		}
		want = append(want, n)
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const header = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"

// describeKindNode returns a node's labels and taints without those that all kind nodes have.
func describeKindNode(node *v1.Node) string {
	labels := map[string]string{}
	for key, value := range node.Labels {
		if !strings.HasPrefix(key, "beta.") && key != v1.LabelOSStable && key != v1.LabelArchStable && value != node.Name {
			labels[strings.TrimPrefix(key, "node-role.kubernetes.io/")] = value
		}
	}
	delete(labels, v1.LabelNodeExcludeBalancers)
	text := node.Name + " " + strings.TrimPrefix(fmt.Sprint(labels), "map")
	for _, taint := range node.Spec.Taints {
		text += " " + strings.TrimPrefix(taint.ToString(), "node-role.kubernetes.io/")
	}
	return text
}

func TestFromKindRegistration(t *testing.T) {
	for _, test := range []struct {
		name, config string
		want         []string
	}{
		{"a control plane that is alone takes pods", "", []string{"kind-control-plane [control-plane:]"}},
		{
			"control planes come first, and their load balancer is no node",
			"nodes: [{role: worker}, {role: control-plane}, {role: worker}, {}]",
			[]string{
				"kind-control-plane [control-plane:] control-plane:NoSchedule",
				"kind-control-plane2 [control-plane:] control-plane:NoSchedule",
				"kind-worker []",
				"kind-worker2 []",
			},
		},
		{
			"the first control plane is initialised, the others join", `
nodes: [{role: control-plane, labels: {a: b}}, {role: control-plane}, {role: worker}]
kubeadmConfigPatches:
  - |
    apiVersion: kubeadm.k8s.io/v1beta3
    kind: InitConfiguration
    nodeRegistration: {kubeletExtraArgs: {node-labels: "how=init"}}
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: JoinConfiguration
    nodeRegistration: {kubeletExtraArgs: [{name: node-labels, value: "how=join,x"}, {name: v, value: "4"}], taints: []}
    ---
    kind: ClusterConfiguration
    networking: {serviceSubnet: 10.0.0.0/16}
    ---
    apiVersion: example.com/v1
    kind: JoinConfiguration
    nodeRegistration: {kubeletExtraArgs: {node-labels: "how=other"}}
`,
			[]string{
				"kind-control-plane [control-plane: how:init] control-plane:NoSchedule",
				"kind-control-plane2 [control-plane: how:join x:]",
				"kind-worker [how:join x:]",
			},
		},
		{
			"a patch of the node replaces the labels of the cluster's, and both those of the node", `
nodes:
  - {role: control-plane, labels: {a: b}}
  - {role: worker, labels: {a: b}}
  - {role: worker, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {node-labels: e=f}}}"]}
  - {role: worker, labels: {a: b}, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {node-labels: null}}}"]}
kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {node-labels: c=d}}}"]
`,
			[]string{
				"kind-control-plane [a:b control-plane:] control-plane:NoSchedule",
				"kind-worker [c:d]", "kind-worker2 [e:f]", "kind-worker3 []",
			},
		},
		{
			"taints of kubeadm", `
nodes:
  - {role: control-plane, kubeadmConfigPatches: ["{kind: InitConfiguration, nodeRegistration: {taints: [{key: a, value: b, effect: NoExecute}]}}"]}
  - {role: control-plane, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {taints: null}}"]}
  - {role: worker}
  - {role: worker, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {taints: []}}"]}
kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {taints: [{key: c, effect: NoSchedule}]}}"]
`,
			[]string{
				"kind-control-plane [control-plane:] a=b:NoExecute",
				"kind-control-plane2 [control-plane:] control-plane:NoSchedule",
				"kind-worker [] c:NoSchedule",
				"kind-worker2 []",
			},
		},
		{
			"taints of the kubelet", `
nodes:
  - {role: control-plane, kubeadmConfigPatches: ["{kind: InitConfiguration, nodeRegistration: {kubeletExtraArgs: {register-with-taints: 'a=b:NoExecute,node-role.kubernetes.io/control-plane:NoSchedule'}}}"]}
  - {role: worker}
  - {role: worker, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {register-with-taints: 'd=:NoSchedule'}}}"]}
  - {role: worker, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {register-with-taints: ''}}}"]}
kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {taints: [{key: c, effect: NoSchedule}]}}"]
`,
			[]string{
				"kind-control-plane [control-plane:] control-plane:NoSchedule a=b:NoExecute",
				"kind-worker [] c:NoSchedule",
				"kind-worker2 [] d:NoSchedule",
				"kind-worker3 []",
			},
		},
		{
			"a control plane that is alone keeps its other taints",
			`kubeadmConfigPatches: ["{kind: InitConfiguration, nodeRegistration: {taints: [{key: a, effect: NoSchedule}, {key: node-role.kubernetes.io/control-plane, effect: NoExecute}]}}"]`,
			[]string{"kind-control-plane [control-plane:] a:NoSchedule"},
		},
		{
			"names given to kubeadm", `
name: prod
nodes: [{}, {role: worker, kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {name: w1}}"]}, {role: worker}]
`,
			[]string{"prod-control-plane [control-plane:] control-plane:NoSchedule", "w1 []", "prod-worker2 []"},
		},
		{
			"settings that say nothing about nodes", `
networking: {podSubnet: 10.1.0.0/16}
featureGates: {GenericWorkload: true}
containerdConfigPatches: ["a = 1"]
kubeadmConfigPatchesJSON6902:
  - {group: kubeadm.k8s.io, version: v1beta3, kind: ClusterConfiguration, patch: "[{op: add, path: /apiServer/certSANs/-, value: x}]"}
nodes: [{extraPortMappings: [{containerPort: 80, hostPort: 80, protocol: tcp}], extraMounts: [{hostPath: /a, containerPath: /b, propagation: None}]}]
`,
			[]string{"kind-control-plane [control-plane:]"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := FromKind([]byte(header + test.config))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, node := range nodes {
				got = append(got, describeKindNode(node))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromKindErrors(t *testing.T) {
	for _, test := range []struct {
		name, config string
		want         []string // parts of the error, in this order
	}{
		{"no YAML", "a: [", []string{"kind configuration: ", "line 1"}},
		{"nothing", "", []string{`kind configuration: apiVersion: unknown version ""`}},
		{"another version", "{kind: Cluster, apiVersion: kind.x-k8s.io/v1alpha3}", []string{`apiVersion: unknown version "kind.x-k8s.io/v1alpha3": use kind.x-k8s.io/v1alpha4`}},
		{"another kind", "{kind: Config, apiVersion: kind.x-k8s.io/v1alpha4}", []string{`kind: unknown kind "Config": use Cluster`}},
		{
			"unknown fields and wrong types", header + "colour: red\nnodes: [{rôle: worker}, {labels: [a]}]",
			[]string{"line 3: field colour not found in type v1alpha4.Cluster; line 4: field rôle not found", "; line 4: cannot unmarshal"},
		},
		{"names", header + "name: A_b", []string{`name: Invalid value: "A_b": cluster names must match`}},
		{"node names", header + "name: " + strings.Repeat("a", 60), []string{"nodes[0]: Invalid value", "must be a host name"}},
		{
			"roles", header + "nodes: [{role: worker}, {role: master}]",
			[]string{`nodes[1].role: Unsupported value: "master": supported values: "control-plane", "worker"`, "nodes: Required value: at least one node must have the role control-plane"},
		},
		{
			"labels", header + "nodes: [{labels: {a: b c}}, {role: worker, labels: {node-role.kubernetes.io/infra: x}}]",
			[]string{`nodes[0].labels[a]: Invalid value: "b c"`, "nodes[1].labels[node-role.kubernetes.io/infra]: Forbidden: the kubelet does not start"},
		},
		{
			"patches, those of the cluster once", header + `
nodes:
  - kubeadmConfigPatches: ["kind: InitConfiguration", "kind: {"]
  - role: worker
    kubeadmConfigPatches:
      - "{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {node-labels: 1}}}"
      - "{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: [node-labels]}}"
      - "{kind: JoinConfiguration, nodeRegistration: {taints: {}, kubeletExtraArgs: {register-with-taints: 'a:Never,b=c'}}}"
      - "{kind: JoinConfiguration, nodeRegistration: {taints: [{key: a}]}}"
    kubeadmConfigPatchesJSON6902:
      - {group: kubeadm.k8s.io, version: v1beta4, kind: JoinConfiguration, patch: "[{op: add, path: /nodeRegistration/taints, value: []}]"}
  - role: worker
kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {kubeletExtraArgs: {node-labels: k8s.io/a=b}}}"]
`,
			[]string{
				"nodes[0].kubeadmConfigPatches[1]: Invalid value: ",
				", kubeadmConfigPatches[0].nodeRegistration.kubeletExtraArgs[node-labels][k8s.io/a]: Forbidden: ",
				", nodes[1].kubeadmConfigPatches[0]: Invalid value: ", "cannot unmarshal number",
				", nodes[1].kubeadmConfigPatches[1]: Invalid value: ", "cannot unmarshal string",
				", nodes[1].kubeadmConfigPatches[2]: Invalid value: ", "cannot unmarshal object",
				`, nodes[1].kubeadmConfigPatches[2].nodeRegistration.kubeletExtraArgs[register-with-taints][0].effect: Unsupported value: "Never"`,
				", nodes[1].kubeadmConfigPatches[2].nodeRegistration.kubeletExtraArgs[register-with-taints][1].effect: Required value",
				", nodes[1].kubeadmConfigPatches[3].nodeRegistration.taints[0].effect: Required value",
				", nodes[1].kubeadmConfigPatchesJSON6902[0]: Forbidden: JSON patches of nodeRegistration are not supported",
			},
		},
		{
			"two nodes of one name", header + `
nodes: [{}, {role: worker}, {role: worker}]
kubeadmConfigPatches: ["{kind: JoinConfiguration, nodeRegistration: {name: a}}"]
`,
			[]string{`nodes[2]: Duplicate value: "a"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			nodes, err := FromKind([]byte(test.config))
			if err == nil || nodes != nil {
				t.Fatalf("got %d nodes and the error %v", len(nodes), err)
			}
			rest := err.Error()
			if strings.Contains(rest, "\n") {
				t.Errorf("the error has several lines:\n%s", rest)
			}
			for _, want := range test.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("no %q in %q\nof %v", want, rest, err)
				}
				rest = after
			}
			if n := strings.Count(err.Error(), "k8s.io/a]"); n > 1 {
				t.Errorf("the cluster's patch is reported %d times: %v", n, err)
			}
		})
	}
}

// FuzzFromKind reads a configuration. There are either problems, or nodes that the API server would accept, the first of which is a control
// plane.
func FuzzFromKind(f *testing.F) {
	f.Add([]byte(walkthrough))
	f.Add([]byte(header + "nodes: [{role: worker}, {labels: {a: b}}]"))
	f.Add([]byte("a text\n\non two lines"))
	f.Add([]byte(header + "kubeadmConfigPatches: ['{kind: InitConfiguration, nodeRegistration: {taints: [], kubeletExtraArgs: [{name: register-with-taints, value: a:NoExecute}]}}']"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := FromKind(data)
		if err != nil {
			if nodes != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %d nodes and the error %q", len(nodes), err)
			}
			return
		}
		seen := map[string]bool{}
		for i, node := range nodes {
			if _, found := node.Labels[controlPlane]; i == 0 && !found {
				t.Error("the first node is not a control plane")
			}
			if node.Name == "" || seen[node.Name] {
				t.Errorf("node name %q is empty or taken", node.Name)
			}
			seen[node.Name] = true
			if errs := append(validateLabels(node.Labels, nil), validateTaints(node.Spec.Taints, nil)...); len(errs) > 0 {
				t.Errorf("node %s: %v", node.Name, errs)
			}
		}
	})
}

func TestAsKind(t *testing.T) {
	one, two := 1, 2
	workers, err := Build(Spec{
		Zones:      []Zone{{Count: &two}},
		NodeGroups: []NodeGroup{{Count: &one, CPU: "3", Taints: []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := AsKind("affinity", workers)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, node := range nodes {
		cpu := node.Status.Allocatable[v1.ResourceCPU]
		got = append(got, fmt.Sprintf("%s zone=%s cpu=%s taint=%s", node.Labels[v1.LabelHostname], node.Labels[v1.LabelTopologyZone], cpu.String(), node.Spec.Taints[0].Key))
		if node.Name != node.Labels[v1.LabelHostname] {
			t.Errorf("node %s has the host name %s", node.Name, node.Labels[v1.LabelHostname])
		}
	}
	want := []string{
		"affinity-control-plane zone= cpu=8 taint=node-role.kubernetes.io/control-plane",
		"affinity-worker zone=zone-1 cpu=3 taint=dedicated",
		"affinity-worker2 zone=zone-2 cpu=3 taint=dedicated",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := AsKind("a_b", workers); err == nil || !strings.Contains(err.Error(), "cluster names must match") {
		t.Errorf("a_b: %v", err)
	}
}
