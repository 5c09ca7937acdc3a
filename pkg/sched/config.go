package sched

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"sigs.k8s.io/yaml"
)

// Version is the Kubernetes release whose scheduler decides.
const Version = "v1.37.1"

// Config is a validated KubeSchedulerConfiguration from which engines are built.
type Config struct {
	api *schedulerapi.KubeSchedulerConfiguration
}

// DefaultConfig returns the configuration of a kube-scheduler that is given none.
func DefaultConfig() (*Config, error) {
	api, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler's default configuration: %w", err)
	}
	return &Config{api: api}, nil
}

// LoadConfig reads a KubeSchedulerConfiguration, strictly, with kube-scheduler's own defaults and validation. The file's name
// stands in the errors, which are one line each and joined.
func LoadConfig(file string, data []byte) (*Config, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s: %s; a KubeSchedulerConfiguration is YAML or JSON", file, oneLine(err))
	}
	want := configv1.SchemeGroupVersion.String()
	if head.Kind != "KubeSchedulerConfiguration" || head.APIVersion != want {
		return nil, fmt.Errorf("%s: %q of apiVersion %q is not what kube-scheduler %s reads; give apiVersion: %s and kind: KubeSchedulerConfiguration",
			file, head.Kind, head.APIVersion, Version, want)
	}
	obj, _, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return nil, inFile(file, strictErrors(err))
	}
	api, ok := obj.(*schedulerapi.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("%s: decoded to %T, which is no KubeSchedulerConfiguration", file, obj)
	}
	api.APIVersion = want // As kube-scheduler's own loader does: the conversion leaves it empty, and validation reads it.
	var problems []error
	if len(api.Extenders) > 0 {
		problems = append(problems, fmt.Errorf("extenders: %d HTTP extenders are configured, and they are not run here, so the answer would not be your scheduler's; remove them to simulate without", len(api.Extenders)))
	}
	if invalid := validation.ValidateKubeSchedulerConfiguration(api); invalid != nil {
		problems = append(problems, invalid.Errors()...)
	}
	if len(problems) > 0 {
		return nil, inFile(file, problems)
	}
	return &Config{api: api}, nil
}

// SchedulerNames returns the names that pods can give as spec.schedulerName, in the order of the profiles.
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

// synchronous are the gates that Faultline needs off: they move API calls to goroutines, and here there is no API server to
// call. The decisions are the same either way.
var synchronous = map[string]bool{
	string(features.SchedulerAsyncPreemption): false,
	string(features.SchedulerAsyncAPICalls):   false,
}

// SetFeatureGates switches feature gates for every engine built afterwards, in kube-scheduler's own notation
// ("A=true,B=false"). Gates are the process's, as they are in kube-scheduler.
func SetFeatureGates(gates string) error {
	for _, pair := range strings.Split(gates, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if _, fixed := synchronous[name]; fixed {
			return fmt.Errorf("feature gate %s cannot be set: there is no API server here to call asynchronously, and placements do not depend on it; leave it out", name)
		}
	}
	// A gate that has refused a value keeps it all the same; so a copy is asked first.
	if err := utilfeature.DefaultMutableFeatureGate.DeepCopy().Set(gates); err != nil {
		return fmt.Errorf("feature gates %q: %s; kube-scheduler %s knows the gates that its --help lists", gates, oneLine(err), Version)
	}
	return utilfeature.DefaultMutableFeatureGate.Set(gates)
}

// FeatureGates returns the gates that differ from the release's defaults, as "Name=value", sorted, without those that
// Faultline itself needs.
func FeatureGates() []string {
	gate := utilfeature.DefaultMutableFeatureGate
	var changed []string
	for name, spec := range gate.GetAll() {
		if _, fixed := synchronous[string(name)]; !fixed && gate.Enabled(name) != spec.Default {
			changed = append(changed, fmt.Sprintf("%s=%t", name, gate.Enabled(name)))
		}
	}
	sort.Strings(changed)
	return changed
}

func strictErrors(err error) []error {
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return strict.Errors()
	}
	return []error{err}
}

func inFile(file string, errs []error) error {
	var lines []error
	for _, err := range utilerrors.Flatten(utilerrors.NewAggregate(errs)).Errors() {
		lines = append(lines, fmt.Errorf("%s: %s", file, oneLine(err)))
	}
	return errors.Join(lines...)
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
