//go:build ordered

package main

import (
	"context"
	"fmt"
	"hash/fnv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/hierarchy"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/jobs/job"
	"sigs.k8s.io/kueue/pkg/controller/jobs/jobset"
	"sigs.k8s.io/kueue/pkg/controller/jobs/pod"
	"sigs.k8s.io/kueue/pkg/controller/tas"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption/fairsharing"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/util/wait"
	"sigs.k8s.io/kueue/pkg/util/waitforpodsready"

	"github.com/faultline/faultline/deciders/kit"
	"github.com/faultline/faultline/deciders/kit/api"
)

// manager is Kueue for one request: its caches, filled from the objects, its scheduler, and its controllers. The controllers are Kueue's own; the
// manager calls each where controller-runtime would, one after the other, until nothing changes any more.
type manager struct {
	api    *api.Client
	answer *kit.Answer
	now    metav1.Time

	cache     *schdcache.Cache
	queues    *qcache.Manager
	requeues  *qcache.Requeues
	scheduler *scheduler.Scheduler

	flavors       *core.ResourceFlavorReconciler
	checks        *core.AdmissionCheckReconciler
	classes       *core.WorkloadPriorityClassReconciler
	cohorts       *core.CohortReconciler
	clusterQueues *core.ClusterQueueReconciler
	localQueues   *core.LocalQueueReconciler
	workloads     *core.WorkloadReconciler
	topologies    *tas.Controllers
	jobs, jobSets reconcile.Reconciler // nil: the integration is off
	pods          reconcile.Reconciler

	// changes are the writes that the event handlers do not know yet.
	changes []change
}

// setUpIndexes makes the indexes that Kueue's controllers list by.
func (d *decider) setUpIndexes(ctx context.Context) error {
	if err := indexer.Setup(ctx, d.api); err != nil {
		return err
	}
	if err := tasindexer.SetupIndexes(ctx, d.api); err != nil {
		return err
	}
	for _, name := range d.integrations() {
		jobframework.EnableIntegration(name)
	}
	return jobframework.SetupIndexes(ctx, d.api, jobframework.WithEnabledFrameworks(d.integrations()))
}

// integrations are those of the configuration that the decider has.
func (d *decider) integrations() []string {
	return sets.List(sets.New(supported...).Intersection(sets.New(d.config.Integrations.Frameworks...)))
}

func newManager(ctx context.Context, d *decider, request kit.Request, answer *kit.Answer) (*manager, error) {
	draw := fnv.New64a()
	fmt.Fprintf(draw, "%d %d", request.Seed, request.Now.Unix())
	hierarchy.Salt = draw.Sum64()
	wait.Clock.Set(request.Now.UTC())

	cfg, recorder := d.config, &recorder{d.api, answer, map[kit.Event]bool{}}
	m := &manager{api: d.api, answer: answer, now: request.Now, requeues: qcache.NewRequeues()}
	expectations := preemptexpectations.New()
	m.newCaches(cfg, qcache.WithPreemptionExpectations(expectations))
	m.scheduler = scheduler.New(m.queues, m.cache, d.api, recorder,
		scheduler.WithPodsReadyRequeuingTimestamp(requeuingTimestamp(cfg)), scheduler.WithFairSharing(cfg.FairSharing),
		scheduler.WithAdmissionFairSharing(cfg.AdmissionFairSharing), scheduler.WithQuotaCheckStrategy(quotaCheckStrategy(cfg)),
		scheduler.WithPreemptionExpectations(expectations), scheduler.WithClock(nil, wait.Clock))

	fair := fairsharing.Enabled(cfg.FairSharing)
	m.flavors = core.NewResourceFlavorReconciler(d.api, m.queues, m.cache, nil)
	m.checks = core.NewAdmissionCheckReconciler(d.api, m.queues, m.cache, nil)
	m.classes = core.NewWorkloadPriorityClassReconciler(d.api, nil)
	m.cohorts = core.NewCohortReconciler(d.api, m.cache, m.queues, core.CohortReconcilerWithFairSharing(fair))
	m.clusterQueues = core.NewClusterQueueReconciler(d.api, m.queues, m.cache, core.WithFairSharing(fair))
	m.localQueues = core.NewLocalQueueReconciler(d.api, m.queues, m.cache, core.WithAdmissionFairSharingConfig(cfg.AdmissionFairSharing), core.WithClock(wait.Clock))
	m.workloads = core.NewWorkloadReconciler(d.api, m.queues, m.cache, recorder, core.WithConfiguration(cfg), core.WithPreemptionExpectations(expectations))
	m.topologies = tas.NewControllers(d.api, m.queues, m.cache, recorder)
	d.api.Observe = m.observe
	return m, m.newJobs(ctx, d, recorder)
}

// newCaches makes the caches as Kueue's main does.
func (m *manager) newCaches(cfg *configapi.Configuration, more qcache.Option) {
	ofCache := []schdcache.Option{schdcache.WithPodsReadyTracking(blocksForPodsReady(cfg)), schdcache.WithFairSharing(fairsharing.Enabled(cfg.FairSharing))}
	ofQueues := []qcache.Option{qcache.WithPodsReadyRequeuingTimestamp(requeuingTimestamp(cfg)), qcache.WithClock(wait.Clock), more}
	if r := cfg.Resources; r != nil {
		ofCache = append(ofCache, schdcache.WithExcludedResourcePrefixes(r.ExcludeResourcePrefixes), schdcache.WithResourceTransformations(r.Transformations))
		ofQueues = append(ofQueues, qcache.WithExcludedResourcePrefixes(r.ExcludeResourcePrefixes), qcache.WithResourceTransformations(r.Transformations))
	}
	if cfg.AdmissionFairSharing != nil {
		ofCache = append(ofCache, schdcache.WithAdmissionFairSharing(cfg.AdmissionFairSharing))
		ofQueues = append(ofQueues, qcache.WithAdmissionFairSharing(cfg.AdmissionFairSharing))
	}
	m.cache = schdcache.New(m.api, ofCache...)
	m.queues = qcache.NewManager(m.api, m.cache, m.requeues, ofQueues...)
}

// newJobs makes the controllers of the integrations.
func (m *manager) newJobs(ctx context.Context, d *decider, recorder *recorder) error {
	options, err := d.jobOptions(m.queues, m.cache)
	if err != nil {
		return err
	}
	enabled := sets.New(d.integrations()...)
	for _, integration := range []struct {
		name string
		make jobframework.ReconcilerFactory
		into *reconcile.Reconciler
	}{
		{job.FrameworkName, job.NewReconciler, &m.jobs}, {jobset.FrameworkName, jobset.NewReconciler, &m.jobSets}, {pod.FrameworkName, pod.NewReconciler, &m.pods},
	} {
		if enabled.Has(integration.name) {
			controller, err := integration.make(ctx, d.api, d.api, recorder, options...)
			if err != nil {
				return err
			}
			*integration.into = controller
		}
	}
	return nil
}

// jobOptions are the options of the integrations, as in Kueue's main.
func (d *decider) jobOptions(queues *qcache.Manager, cache *schdcache.Cache) ([]jobframework.Option, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.config.ManagedJobsNamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("managedJobsNamespaceSelector: %w", err)
	}
	return []jobframework.Option{
		jobframework.WithManageJobsWithoutQueueName(d.config.ManageJobsWithoutQueueName), jobframework.WithManagedJobsNamespaceSelector(selector),
		jobframework.WithWaitForPodsReady(d.config.WaitForPodsReady), jobframework.WithKubeServerVersion(&kubeversion.ServerVersionFetcher{}),
		jobframework.WithEnabledFrameworks(d.integrations()), jobframework.WithManagerName(constants.KueueName),
		jobframework.WithLabelKeysToCopy(sets.New(d.config.Integrations.LabelKeysToCopy...)), jobframework.WithQueues(queues), jobframework.WithCache(cache),
		jobframework.WithClock(wait.Clock), jobframework.WithObjectRetentionPolicies(d.config.ObjectRetentionPolicies),
	}, nil
}

func requeuingTimestamp(cfg *configapi.Configuration) configapi.RequeuingTimestamp {
	if cfg.WaitForPodsReady != nil && cfg.WaitForPodsReady.RequeuingStrategy != nil && cfg.WaitForPodsReady.RequeuingStrategy.Timestamp != nil {
		return *cfg.WaitForPodsReady.RequeuingStrategy.Timestamp
	}
	return configapi.EvictionTimestamp
}

func quotaCheckStrategy(cfg *configapi.Configuration) configapi.QuotaCheckStrategy {
	if cfg.Resources != nil && cfg.Resources.QuotaCheckStrategy != nil {
		return *cfg.Resources.QuotaCheckStrategy
	}
	return configapi.QuotaCheckBlockUndeclared
}

func blocksForPodsReady(cfg *configapi.Configuration) bool {
	return waitforpodsready.Enabled(cfg.WaitForPodsReady) && cfg.WaitForPodsReady.BlockAdmission != nil && *cfg.WaitForPodsReady.BlockAdmission
}

// restore fills the caches from the objects, and sets what Kueue remembers.
func (m *manager) restore(ctx context.Context, remembered memory) error {
	for _, topology := range api.List[kueue.Topology](m.api) {
		m.topologies.AddTopology(topology.DeepCopy())
	}
	for _, flavor := range api.List[kueue.ResourceFlavor](m.api) {
		created(m.flavors, flavor.DeepCopy())
		m.topologies.AddFlavor(flavor.DeepCopy())
	}
	for _, check := range api.List[kueue.AdmissionCheck](m.api) {
		created(m.checks, check.DeepCopy())
	}
	for _, cohort := range api.List[kueue.Cohort](m.api) {
		m.reconcile(ctx, m.cohorts, cohort)
	}
	for _, queue := range api.List[kueue.ClusterQueue](m.api) {
		created(m.clusterQueues, queue.DeepCopy())
	}
	for _, queue := range api.List[kueue.LocalQueue](m.api) {
		created(m.localQueues, queue.DeepCopy())
	}
	if m.usesTopologies() {
		for _, node := range api.List[corev1.Node](m.api) {
			m.cache.TASCache().SyncNode(node.DeepCopy())
		}
		for _, pod := range api.List[corev1.Pod](m.api) {
			m.reconcile(ctx, m.topologies.Pods, pod)
		}
	}
	for _, workload := range api.List[kueue.Workload](m.api) {
		created(m.workloads, workload.DeepCopy())
	}
	m.queues.SetPreemptors(remembered.Preemptors)
	if m.nothingFreed(remembered) {
		m.requeues.Process(ctx)
		m.queues.Park(remembered.Parked)
	}
	return m.api.Broken
}

func (m *manager) usesTopologies() bool {
	for _, flavor := range api.List[kueue.ResourceFlavor](m.api) {
		if flavor.Spec.TopologyName != nil {
			return true
		}
	}
	return false
}

// reconcileJobs reconciles the objects of the integrations.
func (m *manager) reconcileJobs(ctx context.Context) {
	if m.jobs != nil {
		reconcileAll[batchv1.Job](ctx, m, m.jobs)
	}
	if m.jobSets != nil {
		reconcileAll[jobsetapi.JobSet](ctx, m, m.jobSets)
	}
	if m.pods != nil {
		m.reconcilePods(ctx)
	}
}

// reconcileAll reconciles all objects of a kind, in canonical order.
func reconcileAll[T any](ctx context.Context, m *manager, controller reconcile.Reconciler) {
	for _, object := range api.List[T](m.api) {
		m.reconcile(ctx, controller, any(object).(client.Object))
	}
}
