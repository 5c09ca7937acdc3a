package sched

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// kube-scheduler's own types.
type (
	// Registry maps names to plugins.
	Registry = frameworkruntime.Registry
	// PluginFactory builds a plugin.
	PluginFactory = frameworkruntime.PluginFactory
)

// CheckPlugins returns an error if a plugin has the name of one of kube-scheduler's own.
func CheckPlugins(own Registry) error {
	return plugins.NewInTreeRegistry().Merge(own)
}

// registry returns kube-scheduler's registry, with the plugins as the release has them, and with the configuration's additional plugins.
func (c *Config) registry() Registry {
	registry := plugins.NewInTreeRegistry()
	wrapPlugin(registry, names.DynamicResources, func(plugin fwk.Plugin, _ fwk.Handle) fwk.Plugin {
		return &boundedClaims{DynamicResources: plugin.(*dynamicresources.DynamicResources)}
	})
	c.release.restorePlugins(registry)
	maps.Copy(registry, c.plugins)
	return registry
}

// Foreign reports whether extenders or additional plugins take part in decisions. Nobody knows which fields of pods and nodes they read.
func (c *Config) Foreign() bool { return len(c.plugins) > 0 || len(c.extenders) > 0 }

// foreignDecides reports whether code other than kube-scheduler's own may decide about the pod.
func (e *Engine) foreignDecides(pod *v1.Pod) bool {
	return e.hasOwnPlugins || e.extendersInterested(pod)
}

// batchesPods reports whether kube-scheduler would place equal pods of the profile in batches. It does so if all plugins sign a pod without
// rules.
func (e *Engine) batchesPods(schedulerName string) bool {
	plain := &v1.Pod{Spec: v1.PodSpec{SchedulerName: schedulerName}}
	return utilfeature.DefaultFeatureGate.Enabled(features.OpportunisticBatching) && e.profiles[schedulerName].SignPod(context.Background(), plain) != nil
}

// Notes returns notes on the parts of the configuration that are not kube-scheduler's own or not simulated, for a cluster of that many
// nodes.
func (c *Config) Notes(nodes int) []string {
	notes := c.extenderNotes()
	if c.release.isPreview() {
		notes = append(notes, PreviewNote())
	}
	for _, name := range c.batched {
		sampling := slices.IndexFunc(c.api.Profiles, func(p schedulerapi.KubeSchedulerProfile) bool {
			return p.SchedulerName == name && c.profileSamples(&p, nodes)
		})
		if sampling >= 0 {
			notes = append(notes, fmt.Sprintf("kube-scheduler would place alike pods of profile %s in batches (OpportunisticBatching), which is not simulated: "+
				"of %d nodes it samples others for them then. --feature-gates OpportunisticBatching=false describes a cluster without.", name, nodes))
		}
	}
	return notes
}
