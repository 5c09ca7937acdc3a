package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// PluginTime is the share that a plugin has of the CPU time of a run.
type PluginTime struct {
	Plugin string
	// Share is the fraction of the profile's samples, from 0 to 1, whose stacks have the plugin.
	Share float64
}

// profileDuration is the time for which the scenario runs under the profile. It gives about 100 samples, so a plugin with a tenth of the time gets
// 10 ± 3.
const profileDuration = time.Second

// Plugins runs the scenario again under a CPU profile, and returns the shares of the plugins that the profile has, the largest first.
// Garbage collection belongs to no plugin, unless the plugin was made to assist.
func (m *Meter) Plugins(ctx context.Context) ([]PluginTime, error) {
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&out); err != nil {
		return nil, err
	}
	for began := cpuTime(); cpuTime()-began < profileDuration; {
		if _, err := m.run(ctx); err != nil {
			pprof.StopCPUProfile()
			return nil, err
		}
	}
	pprof.StopCPUProfile()
	found, err := profile.Parse(&out)
	if err != nil {
		return nil, fmt.Errorf("reading the CPU profile: %w", err)
	}
	return pluginShares(found), nil
}

// pluginShares attributes each of the profile's samples to the outermost plugin in its stack.
func pluginShares(found *profile.Profile) []PluginTime {
	taken := map[string]int64{}
	var all int64
	for _, sample := range found.Sample {
		all += sample.Value[0]
		if plugin := pluginOf(sample); plugin != "" {
			taken[plugin] += sample.Value[0]
		}
	}
	var times []PluginTime
	for _, plugin := range slices.Sorted(maps.Keys(taken)) {
		times = append(times, PluginTime{plugin, float64(taken[plugin]) / float64(all)})
	}
	slices.SortStableFunc(times, func(a, b PluginTime) int { return cmp.Compare(b.Share, a.Share) })
	return times
}

func pluginOf(sample *profile.Sample) string {
	for _, location := range slices.Backward(sample.Location) {
		for _, line := range slices.Backward(location.Line) {
			if plugin := pluginName(line.Function.Name); plugin != "" {
				return plugin
			}
		}
	}
	return ""
}

// pluginsPath is the path below which upstream has one package per plugin.
const pluginsPath = "k8s.io/kubernetes/pkg/scheduler/framework/plugins/"

// pluginName returns the plugin that a function such as ….../plugins/nodeports.(*NodePorts).Filter belongs to, or "" if it is not a
// plugin's method.
func pluginName(function string) string {
	rest, found := strings.CutPrefix(function, pluginsPath)
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, ".(*")
	name, _, found := strings.Cut(rest, ").")
	if !found {
		return ""
	}
	if other, differs := namesByType[name]; differs {
		return other
	}
	return name
}

// namesByType has the names of the plugins whose types have other names, by type.
var namesByType = map[string]string{
	"Fit":                "NodeResourcesFit",
	"BalancedAllocation": "NodeResourcesBalancedAllocation",
	"CSILimits":          "NodeVolumeLimits",
}
