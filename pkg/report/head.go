// Package report has what all reports share: the head, the nodes, the declarations of workloads, the table of formats, and the reading of a
// report. Each report has a folder below this one, with its model, the conversion from an answer, and its formats. Each kind of format has a
// folder in format. The model is versioned: a consumer can rely on the fields of an apiVersion, and docs has its JSON Schemas.
package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/sched"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// APIVersion is the version of the model of every report.
const APIVersion = "faultline/v1alpha1"

// Head is the beginning of every report.
type Head struct {
	// APIVersion is the version of this model, faultline/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind says which report it is.
	Kind string `json:"kind"`
	// Version is the version of Faultline that wrote the report.
	Version string `json:"version"`
	// Scheduler is the scheduler that decided.
	Scheduler Scheduler `json:"scheduler"`
	// Scenario is the name of the scenario.
	Scenario string `json:"scenario"`
	// Description is the description in the scenario file.
	Description string `json:"description,omitempty"`
	// Ties says how the scheduler chose among equal nodes: upstream or random.
	Ties string `json:"ties" jsonschema:"enum=upstream,enum=random"`
	// Seed is the seed of every random choice. It has no effect if ties is upstream.
	Seed uint64 `json:"seed"`
	// Cluster is the cluster before the first step.
	Cluster Cluster `json:"cluster"`
	// Ignored are the objects of kinds that take no part in scheduling.
	Ignored []Ignored `json:"ignored,omitempty"`
	// Notes are what Faultline assumed or added on its own, a sentence each.
	Notes []string `json:"notes,omitempty"`
	// Partial says how far an interrupted command came. The report has only that part. It is missing if the report is complete.
	Partial string `json:"partial,omitempty"`
	// Proof has the results of --prove; missing without that flag, or if a command proves nothing.
	Proof *Proof `json:"proof,omitempty"`
	// Files are the names of the files that the command line names instead of a scenario, such as "a.yaml and b.yaml". It is "" if there is
	// a scenario, or if the report was read back.
	Files string `json:"-"`
}

func (h Head) partial() string { return h.Partial }

// Scheduler is the scheduler that decided.
type Scheduler struct {
	// Version is the Kubernetes release of the scheduler's code.
	Version string `json:"version"`
	// Kubernetes is the earlier minor release that the code behaves as; missing if it behaves as its own.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Profiles are the names that pods can give as schedulerName.
	Profiles []string `json:"profiles"`
	// FeatureGates are the feature gates that differ from the release's defaults, as Name=value.
	FeatureGates []string `json:"featureGates,omitempty"`
}

// Name returns "kube-scheduler v1.37.1" or, for an earlier release, "kube-scheduler v1.37.1 as Kubernetes 1.35".
func (s Scheduler) Name() string {
	if s.Kubernetes == "" {
		return "kube-scheduler " + s.Version
	}
	return fmt.Sprintf("kube-scheduler %s as Kubernetes %s", s.Version, s.Kubernetes)
}

// Cluster is the size of a cluster.
type Cluster struct {
	// Nodes is the number of nodes.
	Nodes int `json:"nodes"`
	// Levels are the failure domains that the nodes' labels make, widest first.
	Levels []Level `json:"levels"`
}

// Level is one kind of failure domain.
type Level struct {
	// TopologyKey is the node label whose values make the domains.
	TopologyKey string `json:"topologyKey"`
	// Domains is the number of domains.
	Domains int `json:"domains"`
	// Unlabelled is the number of nodes without the label.
	Unlabelled int `json:"unlabelled,omitempty"`
}

// Ignored is an object that takes no part in scheduling.
type Ignored struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Source is the file and the document that have the object.
	Source string `json:"source"`
}

// ScenarioName returns the scenario's name, or "" if the command line names files instead of a scenario.
func (h Head) ScenarioName() string {
	if h.Scenario == scenario.CommandLine {
		return ""
	}
	return h.Scenario
}

// Title returns the scenario's name, or the names of the files that the command line names instead, if they are known.
func (h Head) Title() string { return cmp.Or(h.ScenarioName(), h.Files) }

// NewHead returns the head of a report on a simulation. version is Faultline's version.
func NewHead(result *simulation.Result, kind, version string) Head {
	s := result.Scenario
	last := result.Initial
	if n := len(result.Steps); n > 0 {
		last = result.Steps[n-1].State
	}
	h := Head{
		APIVersion:  APIVersion,
		Kind:        kind,
		Version:     version,
		Scenario:    s.Name,
		Description: s.Description,
		Scheduler:   Scheduler{Version: sched.Version, Kubernetes: s.Config.Release().Kubernetes, Profiles: s.Config.SchedulerNames(), FeatureGates: sched.FeatureGates()},
		Ties:        "upstream",
		Seed:        s.Ties.Seed,
		Cluster:     Cluster{Nodes: len(result.Initial.Nodes)},
		Notes:       slices.Concat(result.Notes, MutationNotes(last)),
		Partial:     result.Partial,
		Files:       words.And(s.Files),
	}
	if s.Ties.Random {
		h.Ties = "random"
	}
	for _, key := range topology.Levels(result.Initial.Nodes, s.LevelKeys...) {
		domains, unlabelled := topology.Domains(result.Initial.Nodes, key)
		h.Cluster.Levels = append(h.Cluster.Levels, Level{TopologyKey: key, Domains: len(domains), Unlabelled: len(unlabelled)})
	}
	for _, ignored := range s.Ignored {
		h.Ignored = append(h.Ignored, Ignored{
			APIVersion: ignored.APIVersion, Kind: ignored.Kind, Namespace: ignored.Namespace, Name: ignored.Name, Source: ignored.Source.String(),
		})
	}
	return h
}

// FindSource returns the place of a workload's object in a file, or nil if no file has it.
func FindSource(from *scenario.Scenario, step string, owner cluster.Ref) *manifest.Place {
	source, found := from.Source(step, owner)
	if !found {
		return nil
	}
	return source.Place()
}
