//go:build ordered

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	configapiv1beta1 "sigs.k8s.io/kueue/apis/config/v1beta1"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/util/wait"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
)

// version is the version of Kueue, as in go.mod.
const version = "v0.19.2"

// supported are the integrations that the decider has.
var supported = []string{"batch/job", "jobset.x-k8s.io/jobset", "pod"}

// decider is Kueue as a decider.
type decider struct {
	config *configapi.Configuration
	api    *api.Client
	admit  *admission
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kueue.AddToScheme, kueuev1beta1.AddToScheme, configapiv1beta1.AddToScheme, configapi.AddToScheme, jobset.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

func newDecider(config *configapi.Configuration) (*decider, error) {
	d := &decider{config: config}
	// Kueue's controllers write what its definitions allow.
	d.api = api.New(newScheme(), func([]*unstructured.Unstructured) []kit.Problem { return nil })
	d.api.Now = wait.Clock.Now
	d.admit = newAdmission(d.api)
	return d, d.setUpIndexes(context.Background())
}

// Hello implements kit.Decider.
func (d *decider) Hello() kit.Hello {
	return kit.Hello{
		Name: "kueue", Version: version,
		Reads:  []string{"Job", "LimitRange", "Namespace", "Node", "Pod", "PriorityClass", "RuntimeClass"},
		Admits: []string{"Job", "Pod"},
		Resources: []kit.Resource{
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "AdmissionCheck"},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "ClusterQueue"},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "Cohort"},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "LocalQueue", Namespaced: true},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "ResourceFlavor"},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "Topology"},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "Workload", Namespaced: true},
			{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "WorkloadPriorityClass"},
			{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Namespaced: true},
		},
		Lacks: []string{
			"the seconds that Kueue waits before it tries inadmissible workloads again",
			"the JobSet controller: a JobSet gets its quota, and nobody makes its Jobs",
			"integrations but batch/job, jobset and pod: RayJob, Kubeflow's jobs, LeaderWorkerSet, Deployment, StatefulSet and others",
			"admission checks: a ProvisioningRequest or another cluster of MultiKueue never answers",
			"quota for dynamic resources (KueueDRAIntegration), and concurrent admission",
		},
	}
}

// Admit implements kit.Decider.
func (d *decider) Admit(objects []*unstructured.Unstructured) ([]kit.Problem, error) {
	return d.admitAll(context.Background(), objects)
}

// memory is what Kueue has in its process and not in its objects.
type memory struct {
	// Preemptors are the workloads for which others are being preempted, by ClusterQueue.
	Preemptors map[string]qcache.Preemptor `json:"preemptors,omitempty"`
	// Parked are the workloads that were tried without success, by ClusterQueue. Kueue tries them again when quota is freed or an object changes:
	// when one of those that had quota has it no more, or Seen is another.
	Parked    map[string][]string `json:"parked,omitempty"`
	Reserving []string            `json:"reserving,omitempty"`
	Seen      uint64              `json:"seen,string,omitempty"`
}

// Decide implements kit.Decider.
func (d *decider) Decide(ctx context.Context, c *kit.Cluster, request kit.Request) (kit.Answer, error) {
	answer := kit.Answer{}
	var m memory
	if len(request.Memory) > 0 {
		if err := json.Unmarshal(request.Memory, &m); err != nil {
			return answer, fmt.Errorf("the memory is not one of kueue's: %w", err)
		}
	}
	if err := d.api.Read(c); err != nil {
		return answer, err
	}
	setReady(d.api)
	o, err := newManager(ctx, d, request, &answer)
	if err != nil {
		return answer, err
	}
	if err := o.restore(ctx, m); err != nil {
		return answer, err
	}
	if err := o.settle(ctx); err != nil {
		return answer, err
	}
	reserving, seen := o.look()
	answer.Memory = memory{o.queues.Preemptors(), o.queues.Parked(), reserving, seen}
	return answer, nil
}
