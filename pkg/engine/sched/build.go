package sched

import (
	"fmt"

	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedulerprofile "k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/faultline/faultline/pkg/engine/memo"
)

// buildProfiles creates the engine's scheduler and returns its profiles. scheduler.New takes no replacements for upstream's plugins. So build
// passes it a profile with almost no plugins, and then makes the real profiles as scheduler.New would.
func (e *Engine) buildProfiles(config *Config) (schedulerprofile.Map, error) {
	recorder := func(string) events.EventRecorderLogger { return discardEvents{} }
	// Upstream's default of sixteen workers would race to fill the list of feasible nodes.
	const workers = 1
	bare := schedulerapi.KubeSchedulerProfile{SchedulerName: config.api.Profiles[0].SchedulerName, Plugins: &schedulerapi.Plugins{
		QueueSort: schedulerapi.PluginSet{Enabled: []schedulerapi.Plugin{{Name: names.PrioritySort}}},
		Bind:      schedulerapi.PluginSet{Enabled: []schedulerapi.Plugin{{Name: names.DefaultBinder}}},
	}}
	s, err := scheduler.New(e.ctx, e.client, e.informers, nil, recorder,
		scheduler.WithProfiles(bare),
		scheduler.WithComponentConfigVersion(config.api.APIVersion),
		scheduler.WithPercentageOfNodesToScore(config.api.PercentageOfNodesToScore),
		scheduler.WithParallelism(workers),
		scheduler.WithNodeInfoSnapshot(e.snapshot))
	if err != nil {
		return nil, err
	}
	e.scheduler = s
	if percentage := config.api.PercentageOfNodesToScore; percentage != nil {
		e.percentageToScore = *percentage
	}
	registry := config.registry()
	s.Extenders = e.addExtenders(config)
	if config.cachesAnswers() {
		e.memo = memo.New(e.snapshot, e.informers, e.devices.DeviceClassResolver())
		e.memo.Aside = e.extendersInterested
		registry = e.memo.Registry(registry)
	}
	config.release.replacePlugins(registry)
	built, err := schedulerprofile.NewMap(e.ctx, withoutTimeouts(config.api.Profiles), registry, recorder,
		frameworkruntime.WithComponentConfigVersion(config.api.APIVersion),
		frameworkruntime.WithClientSet(e.client),
		frameworkruntime.WithInformerFactory(e.informers),
		frameworkruntime.WithSharedDRAManager(e.devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(e.informers.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSnapshotSharedLister(e.lister),
		frameworkruntime.WithMutableSnapshotLister(e.snapshot),
		frameworkruntime.WithParallelism(workers),
		frameworkruntime.WithExtenders(s.Extenders),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
		frameworkruntime.WithPodGroupManager(s.Cache),
	)
	if err != nil {
		return nil, fmt.Errorf("initializing profiles: %w", err)
	}
	var nominated fwk.PodNominator = s.SchedulingQueue
	if e.memo != nil {
		nominated = nominator{nominated, e}
	}
	for _, profile := range built {
		profile.SetPodNominator(nominated)
		profile.SetPodActivator(s.SchedulingQueue)
	}
	return built, nil
}
