package autoscaler

import (
	"math"
	"regexp"
	"slices"
)

// chooseOption returns the option that is left after all expanders. If several are left, it returns the first of them or, with random ties, one by
// chance.
func (x *expansion) chooseOption(options []Option) Option {
	for _, name := range x.options.Expanders {
		if len(options) > 1 {
			options = x.filterOptions(name, options)
		}
	}
	for _, option := range options {
		x.decision.Left = append(x.decision.Left, option.Group)
	}
	if x.random != nil {
		return options[x.random.IntN(len(options))]
	}
	return options[0]
}

// filterOptions returns the options that an expander leaves. See the folders of
// https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97bf2749b1385d9223f1f8856fe345011f7/pkg/expander.
func (x *expansion) filterOptions(name string, options []Option) []Option {
	switch name {
	case "most-pods":
		return cheapestOptions(options, func(option Option) float64 { return -float64(len(option.Pods)) })
	case "least-nodes":
		return cheapestOptions(options, func(option Option) float64 { return float64(option.Nodes) })
	case "least-waste":
		return cheapestOptions(options, x.wastedShare)
	case "priority":
		if x.options.Priorities != nil {
			// A group has the highest of its priorities. Priorities below -1 do not count.
			ranked := slices.DeleteFunc(slices.Clone(options), func(option Option) bool { return x.priority(option) < -1 })
			if len(ranked) > 0 {
				return cheapestOptions(ranked, func(option Option) float64 { return -x.priority(option) })
			}
		}
	}
	return options
}

// cheapestOptions returns the options with the lowest cost.
func cheapestOptions(options []Option, cost func(Option) float64) []Option {
	lowest := math.Inf(1)
	var best []Option
	for _, option := range options {
		c := cost(option)
		if c < lowest {
			lowest, best = c, nil
		}
		if c == lowest || best == nil {
			best = append(best, option)
		}
	}
	return best
}

// wastedShare returns the share of CPU plus the share of memory that the pods leave unused on the new nodes.
func (x *expansion) wastedShare(option Option) float64 {
	var cpu, memory int64
	for _, pod := range option.Pods {
		asked := podRequests(pod)
		cpu += asked.Cpu().MilliValue()
		memory += asked.Memory().Value()
	}
	capacity := x.groupTemplates[option.Group].node.Status.Capacity
	allCPU, allMemory := capacity.Cpu().MilliValue()*int64(option.Nodes), capacity.Memory().Value()*int64(option.Nodes)
	return float64(allCPU-cpu)/float64(allCPU) + float64(allMemory-memory)/float64(allMemory)
}

// priority returns the highest priority whose patterns match the option's group; -Inf if none does.
func (x *expansion) priority(option Option) float64 {
	highest := math.Inf(-1)
	for priority, patterns := range x.options.Priorities {
		if slices.ContainsFunc(patterns, func(pattern *regexp.Regexp) bool { return pattern.MatchString(option.Group) }) {
			highest = max(highest, float64(priority))
		}
	}
	return highest
}
