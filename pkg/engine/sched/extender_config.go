package sched

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// httpExtender is upstream's client of an extender, with the extender's configuration. All engines of a configuration share it.
type httpExtender struct {
	fwk.Extender
	config schedulerapi.Extender
}

// address returns the URL of the extender's verb.
func (x *httpExtender) address(verb string) string {
	return strings.TrimRight(x.config.URLPrefix, "/") + "/" + verb
}

// scores reports whether the extender scores nodes.
func (x *httpExtender) scores() bool { return x.config.PrioritizeVerb != "" && x.config.Weight > 0 }

// buildExtenders builds the extenders in the order in which the scheduler calls them: the ignorable ones come last. See buildExtenders in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/scheduler.go
func buildExtenders(api *schedulerapi.KubeSchedulerConfiguration) (all []httpExtender, problems []error) {
	var first, last []httpExtender
	for i := range api.Extenders {
		config := api.Extenders[i].DeepCopy() // upstream writes a default into it
		if at, err := url.Parse(config.URLPrefix); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			problems = append(problems, fmt.Errorf("extenders[%d].urlPrefix: Invalid value: %q: must be an http or https URL, such as http://127.0.0.1:8888/scheduler", i, config.URLPrefix))
			continue
		}
		if config.Weight > math.MaxInt32 {
			problems = append(problems, fmt.Errorf("extenders[%d].weight: Invalid value: %d: must be at most %d, as the weights of plugins; points would add up beyond all numbers", i, config.Weight, math.MaxInt32))
			continue
		}
		client, err := scheduler.NewHTTPExtender(config)
		if err != nil {
			problems = append(problems, fmt.Errorf("extenders[%d].tlsConfig: %w; give files that this machine has, or leave extenders out with --no-extenders", i, err))
			continue
		}
		limitAnswer(client)
		switch {
		case config.Ignorable:
			last = append(last, httpExtender{client, *config})
		default:
			first = append(first, httpExtender{client, *config})
		}
	}
	return append(first, last...), problems
}

// ignoreManagedResources makes NodeResourcesFit ignore the resources that the configuration leaves to extenders (ignoredByScheduler), as
// buildExtenders does.
func ignoreManagedResources(api *schedulerapi.KubeSchedulerConfiguration) error {
	var ignored []string
	for _, extender := range api.Extenders {
		for _, resource := range extender.ManagedResources {
			if resource.IgnoredByScheduler {
				ignored = append(ignored, resource.Name)
			}
		}
	}
	if len(ignored) == 0 {
		return nil
	}
	for i, profile := range api.Profiles {
		at := slices.IndexFunc(profile.PluginConfig, func(c schedulerapi.PluginConfig) bool { return c.Name == names.NodeResourcesFit })
		if at < 0 {
			return fmt.Errorf("profiles[%d]: extenders have resources that are ignoredByScheduler, and only NodeResourcesFit can ignore them; enable it", i)
		}
		if args, is := profile.PluginConfig[at].Args.(*schedulerapi.NodeResourcesFitArgs); is { // validation rejects other types
			args.IgnoredResources = ignored
		}
	}
	return nil
}

// withoutExtenders removes the extenders from the configuration, and records why. NodeResourcesFit still ignores the resources left to
// them.
func (c *Config) withoutExtenders(why string) {
	c.leftOutReason = why
	for _, extender := range c.api.Extenders {
		c.leftOut = append(c.leftOut, extender.URLPrefix)
	}
	c.api.Extenders = nil
}

// extenderNotes returns notes on which extenders are called, and for what.
func (c *Config) extenderNotes() []string {
	var notes []string
	for _, x := range c.extenders {
		var verbs []string
		for _, verb := range []struct{ name, given string }{{"filter", x.config.FilterVerb}, {"prioritize", x.config.PrioritizeVerb}, {"preempt", x.config.PreemptVerb}} {
			if verb.given != "" {
				verbs = append(verbs, verb.name)
			}
		}
		note := fmt.Sprintf("The extender %s is asked over HTTP (%s)", x.config.URLPrefix, strings.Join(verbs, ", "))
		if len(verbs) == 0 {
			note = fmt.Sprintf("The extender %s is not asked anything", x.config.URLPrefix)
		}
		if x.config.BindVerb != "" {
			note += "; bind is not called"
		}
		notes = append(notes, note+".")
		if x.config.NodeCacheCapable {
			notes = append(notes, fmt.Sprintf("The extender %s keeps nodes of its own (nodeCacheCapable) and gets only their names: it answers for the cluster that it watches.", x.config.URLPrefix))
		}
	}
	if len(c.leftOut) > 0 {
		notes = append(notes, fmt.Sprintf("Nothing is asked of the scheduler configuration's extenders (%s): %s.", c.leftOutReason, strings.Join(c.leftOut, ", ")))
	}
	return notes
}

// extendersInterested reports whether any extender is called for the pod.
func (e *Engine) extendersInterested(pod *v1.Pod) bool {
	return slices.ContainsFunc(e.extenders, func(x *extender) bool { return x.IsInterested(pod) })
}
