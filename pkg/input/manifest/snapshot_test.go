package manifest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/cluster"
)

const snapshotState = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: zonal}, provisioner: x.io/y, volumeBindingMode: WaitForFirstConsumer}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {volumeName: pv, storageClassName: zonal, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}, status: {capacity: {cpu: 4, memory: 8Gi, pods: 110}}}
---
` + dumpedPod + `
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {storageClassName: zonal, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /d}, claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: shop, name: data, uid: "1"}}, status: {phase: Bound}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}
`

func stateOf(t *testing.T, data []byte) (*cluster.State, []Raw) {
	t.Helper()
	set, err := Decode("snapshot", data)
	if err != nil {
		t.Fatal(err)
	}
	state := &cluster.State{}
	for _, obj := range set.Objects {
		state = state.With(obj.Object)
	}
	return state, set.SchedulerConfigs
}

func TestSnapshotReturnsWhatItWasGiven(t *testing.T) {
	state, _ := stateOf(t, []byte(snapshotState))
	var snapshot bytes.Buffer
	if err := WriteSnapshot(&snapshot, state, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")); err != nil {
		t.Fatal(err)
	}
	got, configs := stateOf(t, snapshot.Bytes())
	if len(configs) != 1 {
		t.Fatalf("%d scheduler configurations", len(configs))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, configs[0].Data); err != nil || compact.String() != `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"}` {
		t.Errorf("scheduler configuration is %s", configs[0].Data)
	}
	want := *state
	want.Deployments = nil // the format has no place for them
	ignore := cmp.Options{
		cmpopts.IgnoreUnexported(cluster.State{}),
		cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "ResourceVersion", "OwnerReferences"),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "PersistentVolumes.Spec.ClaimRef.UID" }, cmp.Ignore()),
	}
	if diff := cmp.Diff(&want, got, ignore, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSnapshotHasTheKeysOfTheSimulator(t *testing.T) {
	state, _ := stateOf(t, []byte(snapshotState))
	var out bytes.Buffer
	if err := WriteSnapshot(&out, state, nil); err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{`"uid"`, `"resourceVersion"`, `"ownerReferences"`, `"managedFields"`} {
		if bytes.Contains(out.Bytes(), []byte(absent)) {
			t.Errorf("%s is in the snapshot", absent)
		}
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &parts); err != nil {
		t.Fatal(err)
	}
	if len(parts) != 8 || string(parts["schedulerConfig"]) != "null" {
		t.Errorf("%d parts, scheduler configuration %s", len(parts), parts["schedulerConfig"])
	}
	for _, s := range snapshotKinds {
		var objects []map[string]any
		if err := json.Unmarshal(parts[s.key], &objects); err != nil || len(objects) != 1 {
			t.Errorf("%s: %d objects, %v", s.key, len(objects), err)
		}
	}
	if got := state.Pods[0].UID; got == "" {
		t.Error("writing has changed the state")
	}
}

func TestSnapshotRefusesABrokenConfiguration(t *testing.T) {
	err := WriteSnapshot(&bytes.Buffer{}, &cluster.State{}, []byte("a: b\n---\nc: d\n"))
	if want := "scheduler configuration: 2 documents where one is wanted"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
