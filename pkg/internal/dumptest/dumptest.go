// Package dumptest generates the dump of a cluster as kubectl get -o json prints it, for tests: 120 nodes in three zones and about 1,500
// pods, with the irregularities of real dumps. Nodes are full to different degrees, since pods came and went; a node was deleted under its
// pods; claims are missing; a batch scheduler has pods of its own; fields are newer than the release. Levers change the cluster, for
// example to one with no room left, and Shapes are the clusters of benchmarks.
package dumptest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Options select the cluster.
type Options struct {
	// Seed is the seed of all random choices.
	Seed uint64
	// Nodes is the number of nodes: 120 by default, and at least 24. There are about twelve pods for each node.
	Nodes int
	// Kinds are the kinds that kubectl is asked for, such as Pod; by default all kinds.
	Kinds []string
	// Operators adds pods of controllers that no dump has: a StrimziPodSet, a Cluster of CloudNativePG, a Rollout, a Workflow.
	Operators bool
	// Scaling adds autoscalers that have just scaled their Deployments, so that the ReplicaSets still have their earlier annotations, and
	// budgets that allow no eviction.
	Scaling bool
	// Levers make the cluster difficult in one way or another.
	Levers Levers
}

// These are the names of the dump's irregularities.
const (
	GoneNode      = "ip-10-0-9-9"           // a node that was deleted under its pods, job-runner-0 and -1 in namespace ml
	OtherPod      = "train-queued"          // a pod in namespace ml for a scheduler of another name, without a node
	OtherBound    = "train-running"         // a pod like OtherPod, with a node
	MissingClaim  = "data-ledger-1"         // a claim of a running pod in namespace data
	Unschedulable = "giant"                 // a Deployment in namespace shop whose pods fit nowhere
	Sidecar       = "istio-proxy"           // a container of running pods of Deployments in namespace shop that their templates lack
	NewPodField   = "spec.futurePolicy"     // a field of the pods of some Deployments
	NewNodeField  = "status.futureCapacity" // a field of one node
)

// Dump returns the dump as a List in JSON.
func Dump(o Options) []byte {
	c := &dumpBuilder{rand: rand.New(rand.NewPCG(o.Seed, 1)), free: map[string]*freeRoom{}, scaling: o.Scaling, levers: o.Levers}
	if o.Nodes == 0 {
		o.Nodes = 120
	}
	c.addInfrastructure(o.Nodes)
	c.addDaemonSets()
	c.addStatefulSets()
	c.addDeployments()
	c.addBatch()
	if o.Operators {
		c.addOperators()
	}
	c.pullLevers()
	var items []json.RawMessage
	for _, item := range c.items {
		if len(o.Kinds) == 0 || slices.Contains(o.Kinds, item.kind) {
			items = append(items, item.json)
		}
	}
	list, err := json.MarshalIndent(map[string]any{
		"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items,
	}, "", "    ")
	if err != nil {
		panic(err)
	}
	return list
}

// dumpBuilder builds a cluster.
type dumpBuilder struct {
	rand         *rand.Rand
	nodes        []*v1.Node
	free         map[string]*freeRoom
	items        []dumpItem
	version      int
	podCount     int
	pendingCount int // the number of pods without a node
	scaling      bool
	levers       Levers
}

type dumpItem struct {
	kind string
	json json.RawMessage
}

// freeRoom is the free room of a node, in millicores, bytes, GPUs and pods.
type freeRoom struct{ cpu, memory, gpu, pods int64 }

var clusterStart = time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC)

// minutesAfterStart returns the time that many minutes after the cluster's start.
func minutesAfterStart(minutes int) metav1.Time {
	return metav1.NewTime(clusterStart.Add(time.Duration(minutes) * time.Minute))
}

// newMeta returns the metadata of a new object.
func (c *dumpBuilder) newMeta(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	c.version++
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: labels, Generation: 1,
		UID:               types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", c.rand.Uint32(), c.version)),
		ResourceVersion:   fmt.Sprint(1000 + c.version),
		CreationTimestamp: minutesAfterStart(c.version / 10),
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{}}`),
		}},
	}
}

// appendObject appends an object to the dump. Each of fields is a path PARENT.NAME of a further field.
func (c *dumpBuilder) appendObject(apiVersion, kind string, obj runtime.Object, fields ...string) {
	obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(apiVersion, kind))
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	if len(fields) > 0 {
		var raw map[string]any
		if err := json.Unmarshal(data, &raw); err != nil {
			panic(err)
		}
		for _, path := range fields {
			parent, name, _ := strings.Cut(path, ".")
			raw[parent].(map[string]any)[name] = map[string]any{"mode": "Auto"}
		}
		if data, err = json.Marshal(raw); err != nil {
			panic(err)
		}
	}
	c.items = append(c.items, dumpItem{kind, data})
}

func controllerRef(kind, apiVersion string, meta metav1.ObjectMeta) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: meta.Name, UID: meta.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
}
