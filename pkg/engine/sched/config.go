package sched

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Config is a validated KubeSchedulerConfiguration from which engines are built.
type Config struct {
	api           *schedulerapi.KubeSchedulerConfiguration
	release       Release
	plain         bool
	plugins       Registry       // in addition to kube-scheduler's own
	extenders     []httpExtender // in the order in which they are called
	leftOut       []string       // the URLs of extenders that are not called
	leftOutReason string         // leftOutReason leftOut are not called
	batched       []string       // the profiles whose pods kube-scheduler would place in batches
}

// ConfigOptions are options for reading a configuration.
type ConfigOptions struct {
	// Plugins are additional plugins of the scheduler; see [CheckPlugins].
	Plugins Registry
	// NoExtenders leaves out the extenders. WithoutExtenders is the reason that notes give; it defaults to --no-extenders.
	NoExtenders      bool
	WithoutExtenders string
}

// Release returns the release under which the configuration was read.
func (c *Config) Release() Release { return c.release }

// AllUpstream reports whether no plugin and no extender besides kube-scheduler's own decides.
func (c *Config) AllUpstream() bool { return len(c.plugins)+len(c.extenders) == 0 }

// Plain returns a copy of the configuration whose engines cache no answers of plugins, as kube-scheduler does not. The answers are the
// same; they take longer.
func (c *Config) Plain() *Config {
	plain := *c
	plain.plain = true
	return &plain
}

// SpreadsHard reports whether the default constraints of the profile's PodTopologySpread include DoNotSchedule. Pods without spread
// constraints must then be spread, too.
func (c *Config) SpreadsHard(schedulerName string) bool {
	for _, profile := range c.api.Profiles {
		for _, plugin := range profile.PluginConfig {
			args, is := plugin.Args.(*schedulerapi.PodTopologySpreadArgs)
			if is && profile.SchedulerName == schedulerName && slices.ContainsFunc(args.DefaultConstraints, func(c v1.TopologySpreadConstraint) bool {
				return c.WhenUnsatisfiable == v1.DoNotSchedule
			}) {
				return true
			}
		}
	}
	return false
}

// DefaultConfig returns the configuration of a kube-scheduler that is started without a configuration file.
func DefaultConfig() (*Config, error) {
	api, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler's default configuration: %w", err)
	}
	release := currentRelease()
	release.orderPlugins(api)
	return &Config{api: api, release: release}, nil
}

// LoadConfig decodes a KubeSchedulerConfiguration strictly, with kube-scheduler's own defaults and validation, under the current release.
// The error joins sorted errors of one line each, which name the file.
func LoadConfig(opts ConfigOptions, file string, data []byte) (*Config, error) {
	want := configv1.SchemeGroupVersion.WithKind("KubeSchedulerConfiguration")
	// For another kind of object, report only that, not every field as unknown.
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(data, &head); err == nil && head.GroupVersionKind() != want {
		found := fmt.Sprintf("kube-scheduler does not read kind %q of apiVersion %q", head.Kind, head.APIVersion)
		if head.Kind == "" {
			found = "it contains no KubeSchedulerConfiguration"
		}
		return nil, fmt.Errorf("%s: %s; give apiVersion: %s and kind: %s", file, found, want.GroupVersion(), want.Kind)
	}
	written := &configv1.KubeSchedulerConfiguration{}
	if err := manifest.Unmarshal(file, data, written); err != nil {
		return nil, err
	}
	obj, _, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, prefixFile(file, strictErrors(err))
	}
	api, ok := obj.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s: decoded to %T, not a KubeSchedulerConfiguration", file, obj)
	}
	api.APIVersion = want.GroupVersion().String() // validation reads it, and the conversion leaves it empty; kube-scheduler's own loader sets it, too
	config := &Config{api: api, release: currentRelease(), plugins: opts.Plugins}
	config.release.orderPlugins(api)
	problems := unknownPlugins(written.Profiles, slices.Sorted(maps.Keys(config.registry())))
	if invalid := validation.ValidateKubeSchedulerConfiguration(api); invalid != nil {
		for _, err := range invalid.Errors() {
			problems = append(problems, rewordDuplicateName(err, api.Profiles))
		}
	}
	if err := ignoreManagedResources(api); err != nil {
		problems = append(problems, err)
	}
	if opts.NoExtenders {
		config.withoutExtenders(cmp.Or(opts.WithoutExtenders, "--no-extenders"))
	}
	extenders, invalid := buildExtenders(api)
	config.extenders, problems = extenders, append(problems, invalid...)
	if len(problems) > 0 {
		return nil, prefixFile(file, problems)
	}
	// kube-scheduler checks some things only when it builds the plugins: their arguments, and whether they implement their extension
	// points.
	engine, err := NewEngine(config, Ties{})
	if err != nil {
		return nil, prefixFile(file, []error{err})
	}
	defer engine.Close()
	config.batched = slices.DeleteFunc(config.SchedulerNames(), func(name string) bool { return !engine.batchesPods(name) })
	return config, nil
}

// unknownPlugins returns an error for each name of a plugin that is not known. It reads the profiles as written, since defaulting changes
// the list indexes. kube-scheduler accepts any name under disabled.
func unknownPlugins(profiles []configv1.KubeSchedulerProfile, known []string) []error {
	var problems []error
	check := func(path *field.Path, name string) {
		if !slices.Contains(known, name) {
			problems = append(problems, fmt.Errorf("%s: kube-scheduler %s has no plugin %q%s", path.Child("name"), Version, name, manifest.DidYouMean(name, known)))
		}
	}
	for i, profile := range profiles {
		path := field.NewPath("profiles").Index(i)
		if profile.Plugins != nil {
			points := reflect.ValueOf(*profile.Plugins)
			for p := range points.NumField() {
				point, _, _ := strings.Cut(points.Type().Field(p).Tag.Get("json"), ",")
				for j, plugin := range points.Field(p).Interface().(configv1.PluginSet).Enabled {
					check(path.Child("plugins", point, "enabled").Index(j), plugin.Name)
				}
			}
		}
		for j, arguments := range profile.PluginConfig {
			check(path.Child("pluginConfig").Index(j), arguments.Name)
		}
	}
	return problems
}

// rewordDuplicateName rewords the error for two profiles with the same name: upstream's text shows an empty value.
func rewordDuplicateName(err error, profiles []schedulerapi.KubeSchedulerProfile) error {
	var duplicate *field.Error
	if !errors.As(err, &duplicate) || duplicate.Type != field.ErrorTypeDuplicate {
		return err
	}
	for i := range profiles {
		first := field.NewPath("profiles").Index(i)
		if place, ok := duplicate.BadValue.(*field.Path); ok && place.String() == first.Child("schedulerName").String() {
			return fmt.Errorf("%s: %q is also the name of %s; give every profile its own name", duplicate.Field, profiles[i].SchedulerName, first)
		}
	}
	return err
}

// SchedulerNames returns the names that pods can use as spec.schedulerName, in the order of the profiles.
func (c *Config) SchedulerNames() []string {
	var names []string
	for _, profile := range c.api.Profiles {
		names = append(names, profile.SchedulerName)
	}
	return names
}

// Encode returns the configuration as YAML in its published version.
func (c *Config) Encode() ([]byte, error) {
	info, found := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	if !found {
		return nil, errors.New("kube-scheduler's scheme has no YAML serializer")
	}
	var out bytes.Buffer
	if err := scheme.Codecs.EncoderForVersion(info.Serializer, configv1.SchemeGroupVersion).Encode(c.api, &out); err != nil {
		return nil, fmt.Errorf("encoding the scheduler configuration: %w", err)
	}
	return out.Bytes(), nil
}

// strictErrors returns the errors of strict decoding one by one.
func strictErrors(err error) []error {
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return strict.Errors()
	}
	return []error{err}
}

// prefixFile prefixes each line of the errors with the file. It sorts the lines, since upstream finds some problems in map order.
func prefixFile(file string, errs []error) error {
	var lines []string
	for _, err := range utilerrors.Flatten(utilerrors.NewAggregate(errs)).Errors() {
		lines = append(lines, fmt.Sprintf("%s: %s", file, oneLine(err)))
	}
	slices.Sort(lines)
	return errors.New(strings.Join(lines, "\n"))
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// WithScoreWeight returns a copy of the configuration in which the plugin has another score weight in that profile; 0 disables it.
func (c *Config) WithScoreWeight(schedulerName, plugin string, weight int32) *Config {
	api := c.api.DeepCopy()
	for i := range api.Profiles {
		profile := &api.Profiles[i]
		if profile.SchedulerName != schedulerName {
			continue
		}
		// An extension point takes precedence over multiPoint, which has the default plugins.
		score := &profile.Plugins.Score
		score.Enabled = slices.DeleteFunc(score.Enabled, func(p schedulerapi.Plugin) bool { return p.Name == plugin })
		if weight == 0 {
			score.Disabled = append(score.Disabled, schedulerapi.Plugin{Name: plugin})
		} else {
			score.Enabled = append(score.Enabled, schedulerapi.Plugin{Name: plugin, Weight: weight})
		}
	}
	changed := c.withAPI(api)
	changed.extenders = slices.Clone(c.extenders)
	for i := range changed.extenders {
		if x := &changed.extenders[i]; x.scores() && x.address(x.config.PrioritizeVerb) == plugin {
			x.config.Weight = int64(weight)
			return changed.withAPI(c.api) // an extender, not a plugin
		}
	}
	return changed
}

// withAPI returns a copy of the configuration with another API object.
func (c *Config) withAPI(api *schedulerapi.KubeSchedulerConfiguration) *Config {
	changed := *c
	changed.api = api
	return &changed
}

// WithPercentageOfNodesToScore returns a copy of the configuration in which every profile's search for feasible nodes ends when that
// percentage of the cluster's nodes has passed the filters; 100 examines all nodes.
func (c *Config) WithPercentageOfNodesToScore(percentage int32) *Config {
	api := c.api.DeepCopy()
	api.PercentageOfNodesToScore = &percentage
	for i := range api.Profiles {
		api.Profiles[i].PercentageOfNodesToScore = &percentage
	}
	return c.withAPI(api)
}

// Samples reports whether the scheduler, in a cluster of that many nodes, may stop its search for feasible nodes before it has examined all
// nodes. By default it may: upstream's default percentage depends on the size of the cluster, and is at most 50. numFeasibleNodesToFind has
// the rule:
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/scheduler/schedule_one.go.
func (c *Config) Samples(nodes int) bool {
	return slices.ContainsFunc(c.api.Profiles, func(p schedulerapi.KubeSchedulerProfile) bool { return c.profileSamples(&p, nodes) })
}

func (c *Config) profileSamples(p *schedulerapi.KubeSchedulerProfile, nodes int) bool {
	const enough = 100 // upstream's minFeasibleNodesToFind
	percentage := cmp.Or(p.PercentageOfNodesToScore, c.api.PercentageOfNodesToScore)
	return nodes > enough && (percentage == nil || *percentage < 100)
}
