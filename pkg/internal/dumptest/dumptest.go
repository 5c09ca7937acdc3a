// Package dumptest makes the dump of a cluster as kubectl get -o json prints it, for tests: 120 nodes in three zones and about 1,500
// pods, with all that real dumps have and tidy ones lack. Nodes are full to different degrees, since pods came and went; a node was
// deleted under its pods; claims are missing; a batch scheduler has pods of its own; fields are newer than the release. Levers make it another
// cluster, such as one with no room left, and Shapes are the clusters that benchmarks ask about.
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

// Options say which cluster it is.
type Options struct {
	// Seed is what all chance follows from.
	Seed uint64
	// Nodes is the number of nodes, 120 by default and at least 24. The pods are some twelve for each.
	Nodes int
	// Kinds are the kinds that kubectl is asked for, such as Pod; all by default.
	Kinds []string
	// Operators adds pods of controllers that no dump has: a StrimziPodSet, a Cluster of CloudNativePG, a Rollout, a Workflow.
	Operators bool
	// Scaling adds autoscalers that have just scaled their Deployments, so that the ReplicaSets still have the annotations of before, and
	// budgets that release no pod.
	Scaling bool
	// Levers make the cluster hard in one way or another.
	Levers Levers
}

// What is the matter with the dump, by name.
const (
	GoneNode      = "ip-10-0-9-9"           // deleted under its pods, job-runner-0 and -1 in namespace ml
	OtherPod      = "train-queued"          // in namespace ml, for a scheduler of another name, without a node
	OtherBound    = "train-running"         // the same, with one
	MissingClaim  = "data-ledger-1"         // in namespace data, of a pod that runs
	Unschedulable = "giant"                 // a Deployment in namespace shop whose pods fit nowhere
	Sidecar       = "istio-proxy"           // a container of running pods of Deployments in namespace shop that their templates lack
	NewPodField   = "spec.futurePolicy"     // of the pods of some Deployments
	NewNodeField  = "status.futureCapacity" // of one node
)

// Dump returns the List.
func Dump(o Options) []byte {
	c := &dump{rand: rand.New(rand.NewPCG(o.Seed, 1)), free: map[string]*room{}, scaling: o.Scaling, levers: o.Levers}
	if o.Nodes == 0 {
		o.Nodes = 120
	}
	c.infrastructure(o.Nodes)
	c.daemons()
	c.stateful()
	c.deployments()
	c.batch()
	if o.Operators {
		c.operators()
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

// dump is a cluster under way.
type dump struct {
	rand    *rand.Rand
	nodes   []*v1.Node
	free    map[string]*room
	items   []item
	version int
	pods    int
	waiting int // pods without a node
	scaling bool
	levers  Levers
}

type item struct {
	kind string
	json json.RawMessage
}

// room is what a node has left.
type room struct{ cpu, memory, gpu, pods int64 }

var began = time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC)

// age is a moment that many minutes after the cluster began.
func age(minutes int) metav1.Time {
	return metav1.NewTime(began.Add(time.Duration(minutes) * time.Minute))
}

// meta identifies an object.
func (c *dump) meta(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	c.version++
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: labels, Generation: 1,
		UID:               types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", c.rand.Uint32(), c.version)),
		ResourceVersion:   fmt.Sprint(1000 + c.version),
		CreationTimestamp: age(c.version / 10),
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{}}`),
		}},
	}
}

// add writes an object down, with further fields given as a path of names and a value.
func (c *dump) add(apiVersion, kind string, obj runtime.Object, fields ...string) {
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
	c.items = append(c.items, item{kind, data})
}

func owned(kind, apiVersion string, meta metav1.ObjectMeta) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: meta.Name, UID: meta.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
}
