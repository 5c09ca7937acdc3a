package scenario

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// APIVersion and Kind are the first fields of every scenario file.
const (
	APIVersion = "faultline/v1alpha1"
	Kind       = "Scenario"
)

// StorageAssumed and StorageNone are the values of the field storage.
const (
	StorageAssumed = "assumed"
	StorageNone    = "none"
)

// The comments of the types below are the descriptions in docs/scenario.schema.json and docs/scenario.md. Each says what the field means,
// what is legal, and what applies if the field is left out.

// File describes a cluster, what runs on it at first, and what happens then. Paths are relative to the folder of the file.
type File struct {
	// APIVersion is faultline/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is Scenario.
	Kind string `json:"kind"`
	// Metadata names the scenario.
	Metadata Metadata `json:"metadata,omitempty"`
	// Description says in a few sentences what the scenario shows. The report prints it. Default: none.
	Description string `json:"description,omitempty"`
	// Seed is the seed of every random choice, a whole number from 0. It has no effect unless ties or arrivals is random. Default: 1.
	Seed *uint64 `json:"seed,omitempty"`
	// Ties says which node wins among nodes of equal score: upstream, the first in kube-scheduler's own order, which a real scheduler takes
	// most often; or random, drawn from the seed. Default: upstream.
	Ties string `json:"ties,omitempty" jsonschema:"enum=upstream,enum=random"`
	// Arrivals says in which order things happen that happen at the same time: listed, as they are written; or random, drawn from the seed.
	// These are the workloads of an apply, after its objects that make no pods; the evictions of a drain; the controllers that act at the
	// same time; and the waiting pods that are tried again together. Default: listed.
	Arrivals string `json:"arrivals,omitempty" jsonschema:"enum=listed,enum=random"`
	// UnknownOwners says what happens to pods of a dump whose controllers the input lacks, such as StrimziPodSets or, in a dump of nodes
	// and pods, ReplicaSets: replace, they come back with the spec that they have; or gone, nobody replaces them. Default: replace.
	UnknownOwners string `json:"unknownOwners,omitempty" jsonschema:"enum=replace,enum=gone"`
	// Storage says whether StorageClasses are assumed if claims name them and the scenario lacks them, and a default class: assumed, or
	// none. Their volumes are made for the first consumer, and all nodes reach them. Default: assumed if all nodes are synthetic, otherwise
	// none.
	Storage string `json:"storage,omitempty" jsonschema:"enum=assumed,enum=none"`
	// Prices is the path of a file with the prices of nodes per hour, by instance type or other labels: a list of prices, a catalogue of
	// types, or OpenCost's custom pricing as JSON or CSV. A node's annotation faultline.dev/price-per-hour takes precedence. Default: none.
	Prices string `json:"prices,omitempty"`
	// TerminationSeconds is the number of seconds that a kubelet takes to end a deleted pod, from 0, or the pod's
	// terminationGracePeriodSeconds if that is less. Until then the pod is Terminating and keeps its resources. With 0, a deleted pod is
	// gone at once. Default: 1.
	TerminationSeconds *int64 `json:"terminationSeconds,omitempty" jsonschema:"minimum=0,maximum=3600"`
	// MaxPods is the number of pods that the controllers of the scenario may ask for at any time, from 1 to 10000000. A scenario that asks
	// for more is refused, since each pod takes memory and time. Default: 150000.
	MaxPods *int `json:"maxPods,omitempty" jsonschema:"minimum=1,maximum=10000000"`
	// Fresh places all pods of a workload anew if a variant, a point of the sweep, advice or --patch changes the workload. Otherwise a
	// rollout changes a Deployment, StatefulSet or DaemonSet with running pods, as after kubectl apply. Default: false.
	Fresh bool `json:"fresh,omitempty"`
	// AsTemplate makes new pods exactly as their templates say. Otherwise new pods of a workload of a dump also get what its newest running
	// pod has and its template lacks, such as a container that a webhook injected. Default: false.
	AsTemplate bool `json:"asTemplate,omitempty"`
	// Hooks also runs the objects that Helm or Argo CD runs as hooks, such as the pod of a test or a migration's Job. Otherwise the objects of
	// a manifest with the annotation helm.sh/hook or argocd.argoproj.io/hook are left out, unless they stay in the cluster. Default: false.
	Hooks bool `json:"hooks,omitempty"`
	// Cluster lists the sources of the nodes and of all other objects at the start, at least one, in order. Default: clusters are given.
	Cluster []Source `json:"cluster,omitempty" jsonschema:"minItems=1"`
	// Clusters are the members of a federation under Karmada, in place of cluster. Default: a single cluster.
	Clusters []Cluster `json:"clusters,omitempty" jsonschema:"minItems=1"`
	// Federation has the options of Karmada. Default: as in the release.
	Federation Federation `json:"federation,omitempty"`
	// Scheduler configures the scheduler. Default: as a kube-scheduler without a configuration.
	Scheduler Scheduler `json:"scheduler,omitempty"`
	// APIServer configures the API server. Default: as a kube-apiserver without flags.
	APIServer APIServer `json:"apiServer,omitempty"`
	// Operators has options of operators. Operators turn their resources into workloads wherever the scenario has such resources. Default:
	// none.
	Operators Operators `json:"operators,omitempty"`
	// CustomResources lists kinds of custom resources, with the paths of their pod templates, or with what their operators make of them.
	// Other kinds without a known operator take no part in scheduling. Default: none.
	CustomResources []CustomResource `json:"customResources,omitempty"`
	// Workloads lists the sources of what is applied before the first step, in order. Default: nothing.
	Workloads []Source `json:"workloads,omitempty"`
	// Steps lists what happens then, one step after the other. A step begins when nothing moves any more. Default: no steps.
	Steps []Step `json:"steps,omitempty"`
	// Autoscaler is a Cluster Autoscaler that adds nodes for pods without a node, and removes nodes, whenever nothing else moves. Default:
	// none.
	Autoscaler *Autoscaler `json:"autoscaler,omitempty"`
	// Deciders lists programs that decide in the cluster beside its scheduler, such as Karpenter, in the order in which they are asked.
	// Default: none.
	Deciders []Decider `json:"deciders,omitempty"`
	// Failures says which failures simulate blast examines. Default: each domain of every level by itself.
	Failures Failures `json:"failures,omitempty"`
	// Variants lists named changes to the scenario, which simulate compare shows side by side. Default: none.
	Variants []Variant `json:"variants,omitempty"`
	// Sweep is a change to the scenario for many values, which simulate sweep runs one by one. Default: none.
	Sweep *Sweep `json:"sweep,omitempty"`
	// Expect is what must hold after every step, and after the workloads before the first step. Default: nothing is checked.
	Expect *Expect `json:"expect,omitempty"`
}

// maxPodsLimit is the largest legal maxPods. Controllers could count far more pods.
const maxPodsLimit = 10_000_000

// ValidateFile reports problems of the file's fields that do not depend on objects, whether the values come from the file or from flags.
func ValidateFile(p *Problems, f *File) {
	validateEither(p, field.NewPath("ties"), f.Ties, "upstream", "random")
	if release := f.Scheduler.Kubernetes; release != "" && !slices.Contains(sched.Releases(), release) {
		p.Add(field.NewPath("scheduler", "kubernetes"), "Kubernetes %s cannot be simulated; give %s", release, words.Or(sched.Releases()))
	}
	validateEither(p, field.NewPath("arrivals"), f.Arrivals, "listed", "random")
	validateEither(p, field.NewPath("unknownOwners"), f.UnknownOwners, "replace", "gone")
	validateEither(p, field.NewPath("storage"), f.Storage, StorageAssumed, StorageNone)
	for i, name := range f.APIServer.EnableAdmissionPlugins {
		if !slices.Contains(admission.OptionalPlugins(), name) {
			p.Add(field.NewPath("apiServer", "enableAdmissionPlugins").Index(i), "%q cannot be switched on; %s", name, ListChoices(name, admission.OptionalPlugins()))
		}
	}
	validateRange(p, field.NewPath("terminationSeconds"), ptr.Deref(f.TerminationSeconds, 0), 0, 3600)
	validateRange(p, field.NewPath("maxPods"), ptr.Deref(f.MaxPods, 1), 1, maxPodsLimit)
	if f.Autoscaler != nil {
		validateAutoscaler(p, field.NewPath("autoscaler"), f.Autoscaler)
		if f.Clusters != nil {
			p.Add(field.NewPath("autoscaler"), "is for a single cluster; leave it out, or give cluster in place of clusters")
		}
	}
	validateDeciders(p, field.NewPath("deciders"), f)
	if f.Deciders != nil && f.Clusters != nil {
		p.Add(field.NewPath("deciders"), "are for a single cluster; leave them out, or give cluster in place of clusters")
	}
	if p.Flags["seed"] != "" && f.Ties != "random" && f.Arrivals != "random" {
		p.Add(field.NewPath("seed"), "has no effect without random choices; give --ties random, too")
	}
	if path := field.NewPath("federation"); f.Clusters == nil && !f.Federation.IsZero() {
		if p.Flags["federation.estimate"] != "" {
			path = path.Child("estimate")
		}
		p.Add(path, "is for a scenario of several clusters; give clusters in place of cluster")
	}
}

// Metadata names a scenario.
type Metadata struct {
	// Name is the scenario's name on the report. Default: the name of the file without its ending, or of the folder if the file is called
	// scenario.yaml.
	Name string `json:"name,omitempty"`
}

// Source says where objects come from. Give exactly one of its fields.
type Source struct {
	// Files lists files, folders (all YAML and JSON in them) and globs. They may hold Kubernetes objects, Lists and kubectl
	// dumps, a kind cluster configuration, or a kube-scheduler-simulator snapshot.
	Files []string `json:"files,omitempty"`
	// Objects lists Kubernetes objects, written out.
	Objects []runtime.RawExtension `json:"objects,omitempty"`
	// Synthetic describes nodes by regions, zones and groups. It is legal only under cluster.
	Synthetic *topology.Spec `json:"synthetic,omitempty"`
}

// validate reports nothing: the code that reads a source validates it.
func (*Source) validate(*actionChecks) {}

// Scheduler configures the scheduler.
type Scheduler struct {
	// Config is the path of a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1). Default: kube-scheduler's own.
	Config string `json:"config,omitempty"`
	// Inline is a KubeSchedulerConfiguration, written out. It cannot be given together with config.
	Inline *runtime.RawExtension `json:"inline,omitempty"`
	// Kubernetes is the minor release as which the scheduler, the API server and the controllers behave, in quotes: "1.34", "1.35", "1.36"
	// or "1.37". Default: the newest release of the nodes' kubelets, or "1.37".
	Kubernetes string `json:"kubernetes,omitempty" jsonschema:"enum=1.34,enum=1.35,enum=1.36,enum=1.37"`
	// FeatureGates switches kube-scheduler's feature gates, by name. Default: as in the release.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// APIServer configures the API server.
type APIServer struct {
	// EnableAdmissionPlugins lists admission plugins to switch on that are off by default: AlwaysPullImages, ExtendedResourceToleration,
	// LimitPodHardAntiAffinityTopology, PodNodeSelector, PodTolerationRestriction. Default: none.
	EnableAdmissionPlugins []string `json:"enableAdmissionPlugins,omitempty"`
	// As is the user who makes all requests that no controller makes, as for kubectl's --as; policies can read it in request.userInfo.
	// Default: kubernetes-admin.
	As string `json:"as,omitempty"`
}
