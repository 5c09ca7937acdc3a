// Package size is the report on how few nodes would do.
package size

import (
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/capacity"
)

// Kind is the kind of a report on how few nodes would do.
const Kind = "SizeReport"

// Report is the cheapest cluster on which everything is placed, and comes back after the failures that were asked for.
type Report struct {
	report.Head
	// Found says whether there is one. If not, Fewer holds what happens on the largest that was tried.
	Found bool `json:"found"`
	// Survive are the topology keys of which any one domain may fail, Mode is how.
	Survive []string `json:"survive,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	// Safety is whether everything comes back as the cluster is, for each of these.
	Safety []capacity.Safety `json:"safety,omitempty"`
	// Groups are the groups of nodes.
	Groups []Group `json:"groups"`
	// Even means that the number of a group was to be the same in each of its zones.
	Even bool `json:"even,omitempty"`
	// Uneven is a cluster of fewer or cheaper nodes that does, too, with numbers that differ from zone to zone; missing where none was
	// found. There may be others of fewer still.
	Uneven *Uneven `json:"uneven,omitempty"`
	// Nodes is the number of nodes whose number was searched, Before how many the scenario has.
	Nodes  int `json:"nodes"`
	Before int `json:"before"`
	// Cost is what these cost in an hour, CostBefore what those of the scenario do; missing where not all have a price, and the fewest
	// nodes were searched.
	Cost       *float64 `json:"cost,omitempty"`
	CostBefore *float64 `json:"costBefore,omitempty"`
	// Proven means that all cheaper clusters were tried or have too few resources. Otherwise the search reached its bound.
	Proven bool `json:"proven"`
	// Tried is how many clusters were run.
	Tried int `json:"tried"`
	// Unbound is the number of pods that had a node and were placed afresh.
	Unbound int `json:"unbound,omitempty"`
	// Foreign is the number of pods of schedulers that are not configured, which are left out.
	Foreign int `json:"foreign,omitempty"`
	// Aside are the pods that were set aside, since no number of these nodes places them, or brings them back.
	Aside []Aside `json:"aside,omitempty"`
	// Fewer are what goes wrong with one node fewer.
	Fewer []Fewer `json:"fewer,omitempty"`
}

// Uneven is a cluster with numbers that differ from zone to zone.
type Uneven struct {
	// Nodes and Cost are those of the report, of this cluster.
	Nodes int      `json:"nodes"`
	Cost  *float64 `json:"cost,omitempty"`
	// Groups are those groups of which the number was searched.
	Groups []Group `json:"groups"`
}

// Aside are pods of a workload that were set aside.
type Aside struct {
	// Workload is the workload, as kind/name in lower case.
	Workload string `json:"workload"`
	Pods     int    `json:"pods"`
	// Empty means that no node takes such a pod even when it is empty. Otherwise twice the nodes were tried, and did not help.
	Empty bool `json:"empty,omitempty"`
	// Level and Domain are the failure after which they have no node; missing where they have none before.
	Level  string `json:"level,omitempty"`
	Domain string `json:"domain,omitempty"`
	// Pod is the first of them as namespace/name, Message kube-scheduler's text.
	Pod     string `json:"pod"`
	Message string `json:"message,omitempty"`
}

// Group is a number of nodes that are alike.
type Group struct {
	Name string `json:"name"`
	// Kept means that its number was not searched.
	Kept bool `json:"kept,omitempty"`
	// Price is what a node costs in an hour; missing where that is not known.
	Price *float64 `json:"price,omitempty"`
	// Zones are its nodes by zone.
	Zones []Zone `json:"zones"`
}

// Zone are the nodes of a group in a zone.
type Zone struct {
	// Zone is empty for nodes without one.
	Zone string `json:"zone,omitempty"`
	// Nodes is the number found, Before that of the scenario.
	Nodes  int `json:"nodes"`
	Before int `json:"before"`
}

// Fewer is what goes wrong on a smaller cluster.
type Fewer struct {
	// Group has one node fewer, in Zone, or in each of its zones where that is missing.
	Group string `json:"group,omitempty"`
	Zone  string `json:"zone,omitempty"`
	// Level and Domain are the failure that is not survived; missing where pods have no node without one.
	Level  string `json:"level,omitempty"`
	Domain string `json:"domain,omitempty"`
	// Stranded is the number of pods without a node, Pod the first of them as namespace/name, Message kube-scheduler's text.
	Stranded int    `json:"stranded"`
	Pod      string `json:"pod"`
	Message  string `json:"message,omitempty"`
}
