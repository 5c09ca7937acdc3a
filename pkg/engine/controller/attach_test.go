package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/node"
	"github.com/faultline/faultline/pkg/input/admission"
)

// placeByLabel places a pod on the node that its label names.
func placeByLabel(s *cluster.State, pod *v1.Pod) string {
	for _, node := range s.Nodes {
		if node.Name == pod.Labels["at"] && len(node.Spec.Taints) == 0 {
			return node.Name
		}
	}
	return ""
}

// mountingPod returns a pod that mounts the volume, with the label of the node that it goes to.
func mountingPod(name, on, volume string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {at: %s}}
spec: {containers: [{name: c, image: i}], volumes: [{name: data, %s}]}
`, name, on, volume)
}

const csi = "csi: {driver: csi.example.com, volumeHandle: h}"

// disk returns a volume, and the claim bound to it.
func disk(mode, source string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {capacity: {storage: 2Gi}, accessModes: [%[1]s], storageClassName: "", %[2]s}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [%[1]s], storageClassName: "", resources: {requests: {storage: 2Gi}}}
`, mode, source)
}

func driver(attach string) string {
	return "\n---\n" + fmt.Sprintf("apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: csi.example.com}\nspec: {attachRequired: %s}\n", attach)
}

const claimed1 = "persistentVolumeClaim: {claimName: data}"

// waiting returns for each pod its phase and what it waits for.
func (w *world) waiting() map[string]string {
	found := map[string]string{}
	for _, pod := range w.state.Pods {
		found[pod.Name] = strings.TrimSpace(string(pod.Status.Phase) + " " + strings.TrimPrefix(cluster.WaitsForVolume(pod), cluster.AttachedTo))
	}
	return found
}

// One pod has the volume on n1. A second pod comes, on n1 or n2.
func TestVolumesThatAttachToOneNode(t *testing.T) {
	const waits = "Pending n1"
	for _, test := range []struct{ name, cluster, volume, on, want string }{
		{"ReadWriteOnce", disk("ReadWriteOnce", csi), claimed1, "n2", waits}, // a driver without a CSIDriver attaches
		{"ReadWriteOnce on the same node", disk("ReadWriteOnce", csi), claimed1, "n1", "Running"},
		{"ReadWriteOncePod", disk("ReadWriteOncePod", csi), claimed1, "n2", waits},
		{"ReadWriteMany", disk("ReadWriteMany", csi), claimed1, "n2", "Running"},
		{"ReadOnlyMany", disk("ReadOnlyMany", csi), claimed1, "n2", "Running"},
		{"a driver that attaches", disk("ReadWriteOnce", csi) + driver("true"), claimed1, "n2", waits},
		{"a driver that does not", disk("ReadWriteOnce", csi) + driver("false"), claimed1, "n2", "Running"},
		{"one that has migrated", disk("ReadWriteOnce", "awsElasticBlockStore: {volumeID: vol-1}"), claimed1, "n2", waits},
		{"one that has migrated, in the pod", "", "gcePersistentDisk: {pdName: disk}", "n2", waits},
		{"a file share that has migrated, in the pod", "", "azureFile: {secretName: s, shareName: f}", "n2", "Running"},
		{"not a CSI volume", disk("ReadWriteOnce", "nfs: {server: s, path: /x}"), claimed1, "n2", "Running"},
		{"no volume behind it", "", "emptyDir: {}", "n2", "Running"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 2, placeByLabel)
			if test.cluster != "" {
				w.apply(test.cluster)
			}
			w.apply(mountingPod("old", "n1", test.volume))
			w.apply(mountingPod("new", test.on, test.volume))
			w.check("pods", w.waiting(), map[string]string{"old": "Running", "new": test.want})
		})
	}
}

// A pod on n2 waits for the volume of a pod on n1. The cases say what detaches the volume, and how long that takes.
func TestVolumesAreDetached(t *testing.T) {
	fail := func(mode node.FailureMode) func(*world) {
		return func(w *world) {
			var err error
			if w.state, err = node.Fail(w.state, mode, "n1"); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	end := func(w *world) { w.state = admission.Delete(w.state, w.state.Pods[0]) }
	restore := func(w *world) {
		var err error
		if w.state, err = node.Restore(w.state, "n1"); err != nil {
			w.t.Fatal(err)
		}
	}
	// gone removes the Terminating pod, as a forced deletion does.
	gone := func(w *world) { w.state = w.state.Without(w.state.Pods[0]) }
	for _, test := range []struct {
		name  string
		do    []func(*world)
		want  map[string]string
		after time.Duration // from the last of what is done until the pod starts
	}{
		{"the pod's end", []func(*world){end}, map[string]string{"new": "Running"}, 0},
		{"not a node that does not answer", []func(*world){fail(node.Unreachable), end}, map[string]string{"old": "Running", "new": "Pending n1"}, 0},
		{"a node that is back", []func(*world){fail(node.Unreachable), end, restore}, map[string]string{"new": "Running"}, 0},
		{"a node that is back with its pod", []func(*world){fail(node.Unreachable), restore}, map[string]string{"old": "Running", "new": "Pending n1"}, 0},
		{"force, once no pod is there", []func(*world){fail(node.Unreachable), end, gone}, map[string]string{"new": "Running"}, 6 * time.Minute},
		{"a node out of service", []func(*world){fail(node.OutOfService)}, map[string]string{"new": "Running"}, 0},
		{"force, of a deleted node", []func(*world){fail(node.Deleted)}, map[string]string{"new": "Running"}, 6 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 3, placeByLabel)
			w.apply(disk("ReadWriteOnce", csi))
			w.apply(mountingPod("old", "n1", claimed1))
			w.apply(mountingPod("new", "n2", claimed1))
			w.check("before", w.waiting(), map[string]string{"old": "Running", "new": "Pending n1"})
			for _, do := range test.do[:len(test.do)-1] {
				do(w)
				w.settle()
			}
			test.do[len(test.do)-1](w)
			since := w.state.Now
			w.settle()
			if test.after > 0 {
				w.check("the volume stays attached", w.waiting(), map[string]string{"new": "Pending n1"})
			}
			for at, due := w.controllers.Next(w.state); due; at, due = w.controllers.Next(w.state) {
				if at.Sub(since.Time) < test.after {
					t.Fatalf("looks again after %s", at.Sub(since.Time))
				}
				w.wait()
			}
			w.check("after", w.waiting(), test.want)
			if pod := w.state.Pods[len(w.state.Pods)-1]; pod.Status.Phase == v1.PodRunning {
				w.check("when", cluster.StartedAfterVolume(pod).Sub(since.Time), test.after)
				w.check("attachments", w.state.Attachments, []cluster.Attachment{{Volume: "csi.example.com^h", Node: "n2"}})
			}
		})
	}
}

// A pod's event has the words of the attach-detach controller. Before 1.37 they were others.
func TestAttachEvent(t *testing.T) {
	for kubernetes, want := range map[string][]string{
		"1.36": {`Multi-Attach error for volume "disk" Volume is already used by pod(s) one, two`,
			`Multi-Attach error for volume "disk" Volume is already exclusively attached to one node and can't be attached to another`},
		"1.37": {`Waiting for detach for volume "disk" Volume is already used by pod(s) one, two`,
			`Waiting for detach for volume "disk" Volume is already exclusively attached to one node, waiting on detach before it can be attached to another node`},
	} {
		t.Run(kubernetes, func(t *testing.T) {
			featuregatetesting.SetFeatureGateEmulationVersionDuringTest(t, utilfeature.DefaultFeatureGate, version.MustParse(kubernetes))
			w := newWorld(t, 3, placeByLabel)
			w.apply(disk("ReadWriteOnce", csi))
			w.apply(mountingPod("one", "n1", claimed1) + "---" + mountingPod("two", "n1", claimed1))
			w.apply(mountingPod("three", "n2", claimed1))
			w.check("used", cluster.AttachEvent(w.state.Pods[2]), want[0])

			w = newWorld(t, 3, placeByLabel)
			w.apply(disk("ReadWriteOnce", csi))
			w.apply(mountingPod("one", "n1", claimed1))
			w.state = admission.Delete(w.state, w.state.Nodes[0])
			w.settle()
			w.apply(mountingPod("two", "n2", claimed1))
			w.check("not used", cluster.AttachEvent(w.state.Pods[0]), want[1])
		})
	}
}

// Two pods get nodes at once, and one of them starts. If both run in a dump, both nodes have the volume.
func TestVolumeOfTwoPods(t *testing.T) {
	w := newWorld(t, 2, placeByLabel)
	w.apply(disk("ReadWriteOnce", csi) + "---" + mountingPod("one", "n1", claimed1) + "---" + mountingPod("two", "n2", claimed1))
	w.check("placed at once", w.waiting(), map[string]string{"one": "Running", "two": "Pending n1"})

	w = newWorld(t, 2, placeByLabel)
	running := func(name, on string) string {
		return strings.Replace(mountingPod(name, on, claimed1), "spec: {", "spec: {nodeName: "+on+", ", 1)
	}
	w.apply(disk("ReadWriteOnce", csi) + "---" + running("one", "n1") + "---" + running("two", "n2"))
	w.check("running before", w.waiting(), map[string]string{"one": "Running", "two": "Running"})
}

// A pod that waits for its volume neither becomes ready nor completes when its node is back.
func TestPodThatWaitsForItsVolume(t *testing.T) {
	w := newWorld(t, 3, placeByLabel)
	w.apply(disk("ReadWriteOnce", csi))
	w.apply(mountingPod("old", "n1", claimed1))
	job := strings.NewReplacer("labels: {", `annotations: {faultline.dev/completes-after: 1m}, labels: {`, "spec: {", "spec: {restartPolicy: Never, ").Replace(mountingPod("new", "n2", claimed1))
	w.apply(job)
	for _, change := range []func() (*cluster.State, error){
		func() (*cluster.State, error) { return node.Fail(w.state, node.Unreachable, "n2") },
		func() (*cluster.State, error) { return node.Restore(w.state, "n2") },
	} {
		var err error
		if w.state, err = change(); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.check("pods", w.waiting(), map[string]string{"old": "Running", "new": "Pending n1"})
	}
	if at, due := w.controllers.Next(w.state); due {
		t.Errorf("something is due at %s", at)
	}
}
