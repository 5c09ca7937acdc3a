// Package verify is the report on how true the simulation is to a cluster.
package verify

import (
	"github.com/faultline/faultline/pkg/report"
)

// Kind is the kind of a report on how true the simulation is to a cluster.
const Kind = "VerifyReport"

// Report is how true the simulation is to a real cluster: whether the nodes that its pods have are among the best that the
// scheduler finds for them, each on the cluster as it was just before.
type Report struct {
	report.Head
	// Namespace is that of the pods that are counted and listed, on the cluster with all; missing where all are.
	Namespace string `json:"namespace,omitempty"`
	// With are the sources besides the dump: events, audit log, earlier dump.
	With []string `json:"with,omitempty"`
	// Placements is the number of pods that were scheduled again, Only of those on the only node that was feasible, and Choices of all
	// others: they had a choice.
	Placements int `json:"placements"`
	Only       int `json:"only"`
	Choices    int `json:"choices"`
	// Explained is the number of the choices whose node is among the best. Contradictions is the number of those that nothing explains which
	// can have been, and Open of those that something explains which nobody recorded and nothing excludes. The three sum up to Choices.
	Explained      int `json:"explained"`
	Contradictions int `json:"contradictions"`
	Open           int `json:"open"`
	// Proved is the number of those whose node is among the best by what is recorded alone, ByAssumption of those where it is
	// with what was assumed of pods or nodes. The two sum up to Explained.
	Proved       int `json:"proved"`
	ByAssumption int `json:"byAssumption"`
	// NotUsable is the number of those that are proved since better nodes were not usable then. Tied is the number of those that share the
	// top score with other nodes, and Reordered of those that were taken before others which came before them by what was recorded. Each is
	// a part of Explained.
	NotUsable int `json:"notUsable"`
	Tied      int `json:"tied"`
	Reordered int `json:"reordered"`
	// Agreement is Explained in percent of what can be judged, Explained and Contradictions, and Interval the 95 % Wilson interval around
	// it; missing where nothing can be judged.
	Agreement float64   `json:"agreement"`
	Interval  *Interval `json:"interval,omitempty"`
	// MinAgreement is the agreement that was asked for; missing where none was.
	MinAgreement *float64 `json:"minAgreement,omitempty"`
	// Divergences are the pods whose node is not among the best, in the order of the replay.
	Divergences []Divergence `json:"divergences"`
	// Assumed are the pods that are gone and of which not everything is recorded.
	Assumed []Assumed `json:"assumed,omitempty"`
	// Pending are the dump's pods without a node.
	Pending []Pending `json:"pending,omitempty"`
	// Skipped are the pods that were not scheduled again.
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Interval is from Low to High percent.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Assumed are pods of a workload that are gone, and what they are taken to have been: of what was tried, that with which the most
// placements are among the best.
type Assumed struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"`
	// Pods is their number, Endless of how many the end is not recorded.
	Pods    int `json:"pods"`
	Endless int `json:"endless"`
	// CPU and Memory are what each of them is taken to have requested; missing where their template is known.
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	// Until is when those without a recorded end are taken to have gone, in the form of RFC 3339; missing if they are taken to have been there to the end.
	Until string `json:"until,omitempty"`
}

// Divergence is a pod whose node is not among the best.
type Divergence struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
	// At is the second in which the pod got its node, as far as the dump shows it, in the form of RFC 3339; otherwise missing.
	At string `json:"at,omitempty"`
	// Node is the pod's node, Best the best one, by name among equals; empty if every node was refused.
	Node string `json:"node"`
	Best string `json:"best,omitempty"`
	// Rank is the node's: one more than the number of better nodes; 0 if it was refused.
	Rank int `json:"rank,omitempty"`
	// Behind is by how many points Best is ahead, Ahead by which plugins, the most first.
	Behind int64    `json:"behind,omitempty"`
	Ahead  []Points `json:"ahead,omitempty"`
	// Refused says which plugin refused the node, and in which words.
	Refused string `json:"refused,omitempty"`
	// Contradiction means that nothing explains it which can have been.
	Contradiction bool `json:"contradiction"`
	// Class is what could be the cause: the first of the checks, in this order, that holds. Words say what it found.
	Class string `json:"class" jsonschema:"enum=same second,enum=later change,enum=missing object,enum=sampling,enum=deleted pods,enum=may not have been usable,enum=configuration,enum=unexplained"`
	Words string `json:"words"`
}

// Points are by how much a plugin has one node ahead of another; negative ones speak for the other.
type Points struct {
	Plugin string `json:"plugin"`
	Points int64  `json:"points"`
}

// Pending is a pod of the dump without a node.
type Pending struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Workload is the outermost owner, as kind/name in lower case; empty for a pod without one.
	Workload string `json:"workload,omitempty"`
	// Node is where the scheduler would put the pod; empty if it is Pending in the replay, too.
	Node string `json:"node,omitempty"`
	// Preempts means that other pods would have to make room for it.
	Preempts bool `json:"preempts,omitempty"`
	// Message is kube-scheduler's text in the replay, Recorded that of the pod's PodScheduled condition.
	Message  string `json:"message,omitempty"`
	Recorded string `json:"recorded,omitempty"`
}

// Skipped are pods that were not scheduled again, for one reason.
type Skipped struct {
	// Why is the reason, as a sentence about the pods.
	Why string `json:"why"`
	// Count is their number, Pods are they, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods"`
}

// Met reports whether the agreement is as high as was asked for. Where nothing can be judged, nothing speaks against it.
func (r *Report) Met() bool {
	return r.MinAgreement == nil || 100*float64(r.Explained) >= *r.MinAgreement*float64(r.judged())
}

// judged is the number of choices that can be judged.
func (r *Report) judged() int { return r.Explained + r.Contradictions }
