package hydrolix

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// Profile has the values that the documentation of Hydrolix leaves open: numbers, sizes, kinds and labels. See profile.yaml.
type Profile struct {
	// Label is the key of the label whose value is the name of a pod's component or pool.
	Label string `json:"label"`
	// Weight is the weight of the operator's preferred anti-affinity, 1 to 100.
	Weight int32 `json:"weight"`
	// StorageClass is the class of the volumes of StatefulSets. If it is empty, StatefulSets have no claims.
	StorageClass string `json:"storageClass,omitempty"`
	// ScaleProfiles lists the legal values of spec.scale_profile. Services has the components, by name.
	ScaleProfiles []string           `json:"scaleProfiles"`
	Services      map[string]Service `json:"services"`

	file string // "" for the shipped profile
}

// Service has the values of a component.
type Service struct {
	// Kind is Deployment, StatefulSet or DaemonSet.
	Kind string `json:"kind"`
	// Replicas has the number of replicas for each scale profile; 0 for a profile that is missing.
	Replicas map[string]int32 `json:"replicas,omitempty"`
	// CPU and Memory are the requests and limits of each pod.
	CPU    resource.Quantity `json:"cpu,omitempty"`
	Memory resource.Quantity `json:"memory,omitempty"`
	// DataStorage is the size of each pod's volume.
	DataStorage resource.Quantity `json:"dataStorage,omitempty"`
	// PriorityClass is the name of the pods' priority class.
	PriorityClass string `json:"priorityClass,omitempty"`
	// Sidecars are the containers beside the component's own, by name. spec.scale sizes them by name, like components.
	Sidecars map[string]Sidecar `json:"sidecars,omitempty"`
}

// Sidecar has the requests, which are also the limits, of a container beside a component's own.
type Sidecar struct {
	CPU     resource.Quantity `json:"cpu,omitempty"`
	Memory  resource.Quantity `json:"memory,omitempty"`
	Storage resource.Quantity `json:"storage,omitempty"`
}

//go:embed profile.yaml
var shippedYAML []byte

// readShippedProfile returns the profile that comes with the program.
func readShippedProfile() (*Profile, error) {
	profile, err := ReadProfile("profile.yaml", shippedYAML)
	if err == nil {
		profile.file = ""
	}
	return profile, err
}

// ReadProfile reads a profile, YAML or JSON. The error has one line, with the file, per problem.
func ReadProfile(file string, data []byte) (*Profile, error) {
	p := &Profile{file: file}
	if err := manifest.Unmarshal(file, data, p); err != nil {
		return nil, err
	}
	var problems []error
	problem := func(path *field.Path, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s: %s", file, path, fmt.Sprintf(format, args...)))
	}
	if p.Label == "" {
		problem(field.NewPath("label"), "missing; give the key of the label that the pods of a component share")
	}
	if p.Weight < 1 || p.Weight > 100 {
		problem(field.NewPath("weight"), "%d is out of range; give 1 to 100", p.Weight)
	}
	if len(p.ScaleProfiles) == 0 {
		problem(field.NewPath("scaleProfiles"), "missing; list the legal values of spec.scale_profile")
	}
	if len(p.Services) == 0 {
		problem(field.NewPath("services"), "missing; give the components by name")
	}
	for _, name := range p.serviceNames() {
		service, path := p.Services[name], field.NewPath("services").Key(name)
		if !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, service.Kind) {
			problem(path.Child("kind"), "unknown kind %q: use Deployment, StatefulSet or DaemonSet", service.Kind)
		}
		for _, scale := range slices.Sorted(maps.Keys(service.Replicas)) {
			at := path.Child("replicas").Key(scale)
			if service.Replicas[scale] < 0 {
				problem(at, "%d is negative; give 0 or more", service.Replicas[scale])
			}
			if len(p.ScaleProfiles) > 0 && !slices.Contains(p.ScaleProfiles, scale) {
				problem(at, "scaleProfiles has no %q%s", scale, manifest.DidYouMean(scale, p.ScaleProfiles))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return p, nil
}

// serviceNames returns the names of the services, sorted.
func (p *Profile) serviceNames() []string { return slices.Sorted(maps.Keys(p.Services)) }

// hasSidecar reports whether any component has a sidecar with that name.
func (p *Profile) hasSidecar(name string) bool {
	for _, service := range p.Services {
		if _, has := service.Sidecars[name]; has {
			return true
		}
	}
	return false
}

// describeAssumptions describes the values that the expansion took from the shipped profile. For a user's profile, it returns nothing.
func (p *Profile) describeAssumptions(c *components, workloads []workload) []string {
	if p.file != "" || len(workloads) == 0 {
		return nil
	}
	var replicas, kinds, ruled []string
	var sizes, classes []componentValue
	for i := range workloads {
		w := &workloads[i]
		if w.replicas == 0 {
			continue
		}
		if w.replicasAssumed {
			replicas = append(replicas, fmt.Sprintf("%s %d", w.name, w.replicas))
		}
		if w.sizeAssumed {
			sizes = append(sizes, componentValue{fmt.Sprintf("%s and %s", &w.cpu, &w.memory), w.name})
		}
		if publishedKind[w.service] == "" {
			kinds = append(kinds, w.name)
		}
		if w.classAssumed {
			classes = append(classes, componentValue{w.priorityClass, w.name})
		}
		if w.hasDefaultRule(c) {
			ruled = append(ruled, w.name)
		}
	}
	sentences := []string{fmt.Sprintf("pods have the label %s with the name of their component or pool", p.Label)}
	for _, s := range []struct{ format, of string }{
		{"the replicas are %s", strings.Join(replicas, ", ")},
		{"a pod requests cpu and memory, with the same limits: %s", joinByValue(sizes)},
		{"the priority classes are %s", joinByValue(classes)},
		{"these are Deployments: %s", strings.Join(kinds, ", ")},
	} {
		if s.of != "" {
			sentences = append(sentences, fmt.Sprintf(s.format, s.of))
		}
	}
	if len(ruled) > 0 {
		sentences = append(sentences, fmt.Sprintf("the default anti-affinity of %s selects the label %s, and where it is preferred has weight %d",
			strings.Join(ruled, ", "), p.Label, p.Weight))
	}
	if p.StorageClass == "" {
		sentences = append(sentences, "StatefulSets claim no volumes, so that none keeps a pod where it is")
	}
	return append(sentences, "Deployments roll out with Kubernetes' default strategy, StatefulSets one pod after the other; "+
		"a profile of your own says otherwise, with --hydrolix-profile FILE or in the scenario as operators.hydrolix.profile")
}

// componentValue is a value, and the name of the component that has it.
type componentValue struct{ what, name string }

// joinByValue groups the components by value: "hdx-low for version, merge-peer; hdx-high for intake-head".
func joinByValue(all []componentValue) string {
	groups := list.GroupBy(all, func(n componentValue) string { return n.what })
	return strings.Join(list.Map(groups, func(of []componentValue) string {
		return of[0].what + " for " + strings.Join(list.Map(of, func(n componentValue) string { return n.name }), ", ")
	}), "; ")
}

// publishedKind has the kinds that the documentation shows: it calls the component "stateful", or has it in an example of priority_classes
// or in a command.
var publishedKind = map[string]string{
	"zookeeper": "StatefulSet", "rabbitmq": "StatefulSet", "redpanda": "StatefulSet", "postgres": "StatefulSet", "prometheus": "StatefulSet",
	"keycloak": "Deployment", "traefik": "Deployment", "intake-head": "Deployment", "merge-peer": "Deployment",
}
