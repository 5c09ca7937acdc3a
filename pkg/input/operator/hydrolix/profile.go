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
)

// Profile is what the documentation of Hydrolix does not say: how many, how large, of which kind, with which labels. See profile.yaml.
type Profile struct {
	// Label is the key of the label that the pods of a component or pool have with its name.
	Label string `json:"label"`
	// Weight is that of the operator's preferred anti-affinity, 1 to 100.
	Weight int32 `json:"weight"`
	// StorageClass is that of the volumes of StatefulSets. Without one they claim none.
	StorageClass string `json:"storageClass,omitempty"`
	// ScaleProfiles are the names that spec.scale_profile may have.
	ScaleProfiles []string `json:"scaleProfiles"`
	// Services are the components, by name.
	Services map[string]Service `json:"services"`

	file string // "" is the one that is shipped
}

// Service is a component as the profile has it.
type Service struct {
	// Kind is Deployment, StatefulSet or DaemonSet.
	Kind string `json:"kind"`
	// Replicas are by scale profile; 0 where it is not named.
	Replicas map[string]int32 `json:"replicas,omitempty"`
	// CPU and Memory are what each pod requests, and its limits.
	CPU    resource.Quantity `json:"cpu,omitempty"`
	Memory resource.Quantity `json:"memory,omitempty"`
	// DataStorage is the size of each pod's volume.
	DataStorage resource.Quantity `json:"dataStorage,omitempty"`
	// PriorityClass is the name of the pods' priority class.
	PriorityClass string `json:"priorityClass,omitempty"`
	// Sidecars are the containers beside the component's own, by name, which spec.scale sizes by that name as if it were a component's.
	Sidecars map[string]Sidecar `json:"sidecars,omitempty"`
}

// Sidecar is what a container beside a component's own requests, and its limits.
type Sidecar struct {
	CPU     resource.Quantity `json:"cpu,omitempty"`
	Memory  resource.Quantity `json:"memory,omitempty"`
	Storage resource.Quantity `json:"storage,omitempty"`
}

//go:embed profile.yaml
var shipped []byte

// Shipped returns the profile that holds where no other is given.
func Shipped() (*Profile, error) {
	profile, err := ReadProfile("profile.yaml", shipped)
	if err == nil {
		profile.file = ""
	}
	return profile, err
}

// ReadProfile reads a profile, YAML or JSON. The error has a line, with the file, for each thing that is wrong.
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
		problem(field.NewPath("label"), "is missing; give the key of the label that the pods of a component share")
	}
	if p.Weight < 1 || p.Weight > 100 {
		problem(field.NewPath("weight"), "%d is not between 1 and 100", p.Weight)
	}
	if len(p.ScaleProfiles) == 0 {
		problem(field.NewPath("scaleProfiles"), "is missing; list the names that spec.scale_profile may have")
	}
	if len(p.Services) == 0 {
		problem(field.NewPath("services"), "is missing; give the components by name")
	}
	for _, name := range p.names() {
		service, path := p.Services[name], field.NewPath("services").Key(name)
		if !slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet"}, service.Kind) {
			problem(path.Child("kind"), "%q is none of Deployment, StatefulSet, DaemonSet", service.Kind)
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

// names are those of the services, sorted.
func (p *Profile) names() []string { return slices.Sorted(maps.Keys(p.Services)) }

// hasSidecar tells whether a component has a sidecar of the name.
func (p *Profile) hasSidecar(name string) bool {
	for _, service := range p.Services {
		if _, has := service.Sidecars[name]; has {
			return true
		}
	}
	return false
}

// assumptions say what the expansion took from the profile that is shipped; none of one that the user gave.
func (p *Profile) assumptions(c *components, workloads []workload) []string {
	if p.file != "" || len(workloads) == 0 {
		return nil
	}
	var replicas, kinds, ruled []string
	var sizes, classes grouped
	for i := range workloads {
		w := &workloads[i]
		if w.replicas == 0 {
			continue
		}
		if w.replicasAssumed {
			replicas = append(replicas, fmt.Sprintf("%s %d", w.name, w.replicas))
		}
		if w.sizeAssumed {
			sizes.add(fmt.Sprintf("%s and %s", &w.cpu, &w.memory), w.name)
		}
		if publishedKind[w.service] == "" {
			kinds = append(kinds, w.name)
		}
		if w.classAssumed {
			classes.add(w.priorityClass, w.name)
		}
		if w.hasDefault(c) {
			ruled = append(ruled, w.name)
		}
	}
	sentences := []string{fmt.Sprintf("pods have the label %s with the name of their component or pool", p.Label)}
	for _, s := range []struct{ format, of string }{
		{"the replicas are %s", strings.Join(replicas, ", ")},
		{"a pod requests cpu and memory, with the same limits: %s", sizes.String()},
		{"the priority classes are %s", classes.String()},
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

// grouped are names by what they have in common, in order of appearance.
type grouped []struct {
	what  string
	names []string
}

func (g *grouped) add(what, name string) {
	for i := range *g {
		if (*g)[i].what == what {
			(*g)[i].names = append((*g)[i].names, name)
			return
		}
	}
	*g = append(*g, struct {
		what  string
		names []string
	}{what, []string{name}})
}

// String is "hdx-low for version, merge-peer; hdx-high for intake-head".
func (g grouped) String() string {
	var parts []string
	for _, group := range g {
		parts = append(parts, group.what+" for "+strings.Join(group.names, ", "))
	}
	return strings.Join(parts, "; ")
}

// publishedKind are the kinds that documentation states, as "stateful", by an example of priority_classes, or by a command:
// https://docs.hydrolix.io/docs/k8s-scaling-on and
// https://docs.hydrolix.io/latest/self-managed/manage-a-cluster/override-pod-priority-classes
var publishedKind = map[string]string{
	"zookeeper": "StatefulSet", "rabbitmq": "StatefulSet", "redpanda": "StatefulSet", "postgres": "StatefulSet", "prometheus": "StatefulSet",
	"keycloak": "Deployment", "traefik": "Deployment", "intake-head": "Deployment", "merge-peer": "Deployment",
}
