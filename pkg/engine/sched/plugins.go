package sched

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Registry has plugins by name, and PluginFactory builds one. They are kube-scheduler's own types.
type (
	Registry      = frameworkruntime.Registry
	PluginFactory = frameworkruntime.PluginFactory
)

// CheckPlugins refuses plugins that are named like one of kube-scheduler's own.
func CheckPlugins(own Registry) error {
	return plugins.NewInTreeRegistry().Merge(own)
}

// registry is kube-scheduler's, with the configuration's own plugins.
func (c *Config) registry() Registry {
	registry := plugins.NewInTreeRegistry()
	maps.Copy(registry, c.plugins)
	return registry
}

// Foreign reports whether others than kube-scheduler's own code may decide, extenders or own plugins: of them nobody knows what they read of
// pods and nodes.
func (c *Config) Foreign() bool { return len(c.plugins) > 0 || len(c.extenders) > 0 }

// foreign reports whether others than kube-scheduler's own code may decide about the pod.
func (e *Engine) foreign(pod *v1.Pod) bool { return e.own || e.interested(pod) }

// batches reports whether a kube-scheduler would place alike pods of the profile in batches: if all plugins sign a pod without rules of its
// own.
func (e *Engine) batches(schedulerName string) bool {
	plain := &v1.Pod{Spec: v1.PodSpec{SchedulerName: schedulerName}}
	return utilfeature.DefaultFeatureGate.Enabled(features.OpportunisticBatching) && e.profiles[schedulerName].SignPod(context.Background(), plain) != nil
}

// Notes say what of the configuration comes from elsewhere, or is not simulated, in a cluster of that many nodes.
func (c *Config) Notes(nodes int) []string {
	notes := c.extenderNotes()
	for _, name := range c.batched {
		sampling := slices.IndexFunc(c.api.Profiles, func(p schedulerapi.KubeSchedulerProfile) bool { return p.SchedulerName == name && c.samples(&p, nodes) })
		if sampling >= 0 {
			notes = append(notes, fmt.Sprintf("kube-scheduler would place alike pods of profile %s in batches (OpportunisticBatching), which is not simulated: "+
				"of %d nodes it samples others for them then. --feature-gates OpportunisticBatching=false describes a cluster without.", name, nodes))
		}
	}
	return notes
}
