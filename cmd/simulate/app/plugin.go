package app

import (
	"github.com/faultline/faultline/pkg/engine/sched"
)

// Option adds plugins to the scheduler. It has the form of kube-scheduler's own option in k8s.io/kubernetes/cmd/kube-scheduler/app, a
// package that would bring along an API server's code.
type Option func(sched.Registry) error

// WithPlugin gives the scheduler a plugin that kube-scheduler does not have. A scheduler configuration enables it by its name.
func WithPlugin(name string, factory sched.PluginFactory) Option {
	return func(plugins sched.Registry) error { return plugins.Register(name, factory) }
}

// registerPlugins returns the plugins that the options add.
func registerPlugins(opts []Option) (sched.Registry, error) {
	plugins := sched.Registry{}
	for _, opt := range opts {
		if err := opt(plugins); err != nil {
			return nil, err
		}
	}
	return plugins, sched.CheckPlugins(plugins)
}
