package admission

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// An updated pod has the fields of its manifest and the fields that the cluster has written. A change of an immutable field is refused in
// the words of the API server.
func TestApplyOverPod(t *testing.T) {
	const gated = ", schedulingGates: [{name: a}, {name: b}]"
	tests := []struct {
		name, before, after string
		err                 string
		check               func(*v1.Pod) any
		want                any
	}{
		{"the same", gated, gated, "", func(p *v1.Pod) any { return len(p.Spec.SchedulingGates) }, 2},
		{"a gate less", gated, ", schedulingGates: [{name: b}]", "", func(p *v1.Pod) any { return p.Spec.SchedulingGates }, []v1.PodSchedulingGate{{Name: "b"}}},
		{"no gate", gated, "", "", func(p *v1.Pod) any { return len(p.Spec.SchedulingGates) }, 0},
		{"a gate more", "", gated, `Pod default/p: spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'
Pod default/p: spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'b'`, nil, nil},
		{"a toleration", "", ", tolerations: [{key: gpu, operator: Exists}]", "", func(p *v1.Pod) any { return len(p.Spec.Tolerations) }, 3},
		{"a node selector while gated", gated, gated + ", nodeSelector: {disk: ssd}", "", func(p *v1.Pod) any { return p.Spec.NodeSelector["disk"] }, "ssd"},
		{"a node selector", "", ", nodeSelector: {disk: ssd}",
			"Pod default/p: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
				"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				"(allow it to be set to 1 if it was previously negative): - \"NodeSelector\": null, + \"NodeSelector\": { + \"disk\": \"ssd\" + },", nil, nil},
		{"an image", "", "+image: b", "", func(p *v1.Pod) any { return p.Spec.Containers[0].Image }, "b"},
		{"a label", "", "+label", "", func(p *v1.Pod) any { return p.Labels["app"] }, "web"},
		{"another scheduler", "", ", schedulerName: other",
			"Pod default/p: spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
				"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` " +
				`(allow it to be set to 1 if it was previously negative): - "SchedulerName": "default-scheduler", + "SchedulerName": "other",`, nil, nil},
	}
	manifest := func(more string) string {
		switch more {
		case "+image: b":
			return strings.Replace(pod(""), "image: a", "image: b", 1)
		case "+label":
			return strings.Replace(pod(""), "name: p,", "name: p, labels: {app: web},", 1)
		}
		return pod(more)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.admit(decode(t, manifest(test.before))...)
			before := w.state.Pods[0]
			next, _, err := Admit(w.state, decode(t, manifest(test.after))...)
			if test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Errorf("error %v\nwant  %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			after := next.Pods[0]
			if diff := cmp.Diff(test.want, test.check(after)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if after.UID != before.UID || *after.Spec.Priority != 0 || len(after.Spec.Tolerations) < 2 {
				t.Errorf("the cluster's own was lost: %+v", after)
			}
		})
	}
}

// The API server gives a Service its address when it is created, so a Service with an address cannot become headless, though neither manifest
// names the address. An ExternalName has none.
func TestServiceUpdate(t *testing.T) {
	const headless = "clusterIP: None"
	for _, test := range []struct{ name, before, after, err string }{
		{"the same", "type: ClusterIP", "type: ClusterIP", ""},
		{"headless", "type: ClusterIP", headless, `Service default/web: spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set`},
		{"headless by default", headless, "type: ClusterIP", ""}, // the field that the manifest lacks stays
		{"an address for a headless one", headless, "clusterIP: 10.96.0.7", `Service default/web: spec.clusterIPs[0]: Invalid value: ["10.96.0.7"]: may not change once set`},
		{"a load balancer", "type: ClusterIP", "{type: LoadBalancer, externalTrafficPolicy: Local}", ""},
		{"an external name", "type: ClusterIP", "{type: ExternalName, externalName: example.org}", ""},
		{"no external name any more", "{type: ExternalName, externalName: example.org}", headless, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			manifest := func(spec string) string {
				return "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], " + strings.Trim(spec, "{}") + "}\n"
			}
			w := newWorld(t, 0)
			w.admit(decode(t, manifest(test.before))...)
			_, _, err := Admit(w.state, decode(t, manifest(test.after))...)
			if got := fmt.Sprint(err); test.err == "" && err != nil || test.err != "" && got != test.err {
				t.Errorf("error %s\nwant  %s", got, test.err)
			}
		})
	}
}

// A resized running pod counts with its new requests, regardless of its kubelet's last report; its QoS class must stay.
func TestResize(t *testing.T) {
	requests := func(cpu string) string {
		return strings.Replace(pod(""), "image: a", "image: a, resources: {requests: {cpu: "+cpu+"}}", 1)
	}
	w := newWorld(t, 1)
	w.admit(decode(t, requests("2"))...)
	running := cluster.BindPod(w.state.Pods[0], "n1", w.state.Now.Time)
	two := v1.ResourceList{v1.ResourceCPU: resource.MustParse("2")}
	running.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", AllocatedResources: two,
		Resources: &v1.ResourceRequirements{Requests: two}, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}}
	w.state = w.state.With(running)
	w.admit(decode(t, requests("1"))...)
	p := w.state.Pods[0]
	status := p.Status.ContainerStatuses[0]
	w.check("node, requests, allocated, actual", []string{p.Spec.NodeName, p.Spec.Containers[0].Resources.Requests.Cpu().String(),
		status.AllocatedResources.Cpu().String(), status.Resources.Requests.Cpu().String()}, []string{"n1", "1", "1", "1"})
	w.check("before", running.Status.ContainerStatuses[0].AllocatedResources.Cpu().String(), "2")

	_, _, err := Admit(w.state, decode(t, strings.Replace(requests("1"), "requests: {cpu: 1}", "requests: {cpu: 1, example.com/gpu: 1}, limits: {example.com/gpu: 1}", 1))...)
	if want := "Pod default/p: spec: Forbidden: only cpu and memory resources are mutable"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// Changes of immutable fields of other objects are refused, too, and not silently undone.
func TestApplyOverWhatMustStay(t *testing.T) {
	otherSelector := strings.NewReplacer("matchLabels: {app: web}", "matchLabels: {app: web, tier: a}", "metadata: {labels: {app: web}}", "metadata: {labels: {app: web, tier: a}}")
	const claims = "  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	suspended := job("  suspend: true\n")
	tests := []struct{ name, before, after, err string }{
		{"selector of a Deployment", workload("Deployment", "web", ""), otherSelector.Replace(workload("Deployment", "web", "")),
			"Deployment default/web: spec.selector: field is immutable"},
		{"selector of a ReplicaSet", workload("ReplicaSet", "web", ""), otherSelector.Replace(workload("ReplicaSet", "web", "")),
			"ReplicaSet default/web: spec.selector: field is immutable"},
		{"claims of a StatefulSet", workload("StatefulSet", "db", ""), workload("StatefulSet", "db", claims),
			"StatefulSet default/db: spec.volumeClaimTemplates: field is immutable"},
		{"template of a Job", job(""), strings.Replace(job(""), "image: a", "image: b", 1),
			"Job default/sum: spec.template: field is immutable"},
		{"node selector of a suspended Job", suspended, strings.Replace(suspended, "containers:", "nodeSelector: {disk: ssd}, containers:", 1), ""},
		{"value of a PriorityClass", "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n",
			"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 2\n",
			"PriorityClass high: value: Forbidden: may not be changed in an update."},
		{"provisioner of a StorageClass", storageClass("a.example"), storageClass("b.example"),
			"StorageClass fast: provisioner: field is immutable"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.admit(decode(t, test.before)...)
			if _, _, err := Admit(w.state, decode(t, test.before)...); err != nil {
				t.Fatalf("the same again: %v", err)
			}
			said := ""
			if _, _, err := Admit(w.state, decode(t, test.after)...); err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(test.err, said); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whoever takes spec.unschedulable off a node uncordons it: the taint goes, as the node lifecycle controller removes it.
func TestUncordonByUpdate(t *testing.T) {
	cordoned := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1.NodeSpec{Unschedulable: true}}
	before, _, err := Admit(&cluster.State{Now: cluster.Epoch}, cordoned)
	if err != nil || len(before.Nodes[0].Spec.Taints) != 1 {
		t.Fatalf("%v: a cordoned node has the taints %v", err, before.Nodes[0].Spec.Taints)
	}
	open := before.Nodes[0].DeepCopy()
	open.Spec.Unschedulable = false
	open.Generation = 0
	after, _, err := Admit(before, open)
	if err != nil || len(after.Nodes[0].Spec.Taints) != 0 {
		t.Errorf("%v: the node has the taints %v", err, after.Nodes[0].Spec.Taints)
	}
}

// A manifest of a volume leaves out the claim to which it is bound, and a patch that removes the claim frees the volume.
func TestUpdateOfBoundVolume(t *testing.T) {
	const volume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /}%s}\n"
	bound := fmt.Sprintf(volume, ", claimRef: {namespace: default, name: data, uid: u}")
	w := newWorld(t, 0)
	w.admit(decode(t, bound)...)
	patched := w.state.PersistentVolumes[0].DeepCopy()
	patched.Spec.ClaimRef = nil
	for name, test := range map[string]struct {
		objects []cluster.Object
		kept    bool
	}{
		"manifest": {decode(t, fmt.Sprintf(volume, "")), true},
		"patch":    {[]cluster.Object{patched}, false},
	} {
		next, _, err := Admit(w.state, test.objects...)
		if err != nil {
			t.Fatal(err)
		}
		if kept := next.PersistentVolumes[0].Spec.ClaimRef != nil; kept != test.kept {
			t.Errorf("%s: the claim is kept: %t, want %t", name, kept, test.kept)
		}
	}
}
