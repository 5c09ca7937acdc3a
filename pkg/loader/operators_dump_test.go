package loader

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// A dump has a resource and the objects that its operator has made. These stay as they are; objects that the dump lacks are made.
func TestDumpsOfOperators(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.yaml")
	dump := `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
- {apiVersion: kafscale.io/v1alpha1, kind: KafscaleCluster, metadata: {name: main, namespace: default}, spec: {s3: {bucket: b, region: r}, brokers: {replicas: 3}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: main-broker, namespace: default, uid: as-dumped}
  spec:
    replicas: 1
    serviceName: main-broker-headless
    selector: {matchLabels: {app: kafscale-broker, cluster: main}}
    template:
      metadata: {labels: {app: kafscale-broker, cluster: main}}
      spec: {containers: [{name: broker, image: i}]}
`
	if err := os.WriteFile(file, []byte(dump), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := FromFiles(nil, []string{file}, nil, Options{Dump: true})
	if err != nil {
		t.Fatal(err)
	}
	sets, services := 0, 0
	for _, obj := range s.Cluster {
		switch o := obj.(type) {
		case *appsv1.StatefulSet:
			sets++
			if o.UID != "as-dumped" || *o.Spec.Replicas != 1 {
				t.Errorf("StatefulSet %s has UID %s and %d replicas, want those of the dump", o.Name, o.UID, *o.Spec.Replicas)
			}
		case *v1.Service:
			services++
		}
	}
	if sets != 1 || services != 2 {
		t.Errorf("%d StatefulSets and %d Services, want the one of the dump and the two that it lacks", sets, services)
	}
}
