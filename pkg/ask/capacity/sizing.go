package capacity

import (
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// SizeOptions are the options of Size.
type SizeOptions struct {
	Options
	// Groups are the names of the groups that may be resized; if empty, all but control planes.
	Groups []string
	// Catalogue, if set, is what types of nodes can take the places of the nodes of each of these groups, in any mix.
	Catalogue *topology.Catalogue
	// Free lets the number of nodes of a group differ from zone to zone.
	Free bool
	// Most is the maximum number of clusters to try. With Less, they are fewer, at least 20, where each takes long.
	Most int
	Less bool
}

// Sizing is the cheapest cluster on which everything is placed, and comes back after the failures that were asked for.
type Sizing struct {
	// Found says whether there is one. If not, Fewer holds what happens on the largest that was tried. If no group may change, the only cluster
	// is the present one.
	Found bool `json:"found"`
	// Survive are the topology keys of which any one domain may fail, and Mode is how its nodes fail.
	Survive []string `json:"survive,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	// Safety is whether everything comes back as the cluster is, for each of these; see Safe.
	Safety []Safety `json:"safety,omitempty"`
	// Groups are the groups of nodes.
	Groups []Group `json:"groups"`
	// Even means that a group has the same number of nodes in each of its zones.
	Even bool `json:"even,omitempty"`
	// Uneven is a cluster of fewer or cheaper nodes that suffices, too, if numbers may differ from zone to zone; missing if none was found.
	// There may be others of fewer still.
	Uneven *Cheaper `json:"uneven,omitempty"`
	// Nodes is the number of nodes of the groups that may change, and Before how many of them the scenario has.
	Nodes  int `json:"nodes"`
	Before int `json:"before"`
	// Cost is what these nodes cost per hour, and CostBefore what those of the scenario do; missing if not all have a price, and the fewest
	// nodes were searched.
	Cost       *float64 `json:"cost,omitempty"`
	CostBefore *float64 `json:"costBefore,omitempty"`
	// Proven means that every cheaper cluster was tried, or has too few resources. Otherwise the search reached its bound.
	Proven bool `json:"proven"`
	// AtLeast is a number of nodes, of a search that was interrupted, below which no cluster suffices, and CostAtLeast what they cost per hour if the
	// cheapest were searched; missing if the search has ended.
	AtLeast     *int     `json:"atLeast,omitempty"`
	CostAtLeast *float64 `json:"costAtLeast,omitempty"`
	// Tried is how many clusters were tried.
	Tried int `json:"tried"`
	// Pods is the number of pods that do not come with a node, those that were set aside among them.
	Pods int `json:"pods"`
	// Unbound is the number of pods that had nodes and were placed again.
	Unbound int `json:"unbound,omitempty"`
	// Foreign is the number of pods of schedulers that are not configured, which are left out.
	Foreign int `json:"foreign,omitempty"`
	// Autoscaled is what the Cluster Autoscaler makes of these groups; missing without one.
	Autoscaled *Autoscaled `json:"autoscaled,omitempty"`
	// CronJobs are those of which a run is counted as being under way.
	CronJobs []controller.CronJob `json:"cronJobs,omitempty"`
	// Aside are the pods that were set aside, since no number of these nodes would place them, or bring them back.
	Aside []Aside `json:"aside,omitempty"`
	// Fewer is what goes wrong with one node fewer, for each number that can be lowered.
	Fewer []Fewer `json:"fewer,omitempty"`
	// Mutated says what new pods get that their templates lack; see simulation.Result.Mutated.
	Mutated []string `json:"-"`
	// Partial says how far a search came that was interrupted; empty for a whole one.
	Partial string `json:"-"`
	// What the answer claims of the scenario; see Claims.
	scenario *scenario.Scenario
	claims   []claim.Claim
	claimed  error
}

// Group is a number of nodes that are alike.
type Group struct {
	Name string `json:"name"`
	// Kept means that its nodes stay as they are.
	Kept bool `json:"kept,omitempty"`
	// ControlPlane means that they are control planes.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Price is what a node costs per hour; missing if that is not known.
	Price *float64 `json:"price,omitempty"`
	// Zones are its nodes by zone.
	Zones []Zone `json:"zones"`
}

// Zone is a number of nodes of a group in a zone.
type Zone struct {
	// Zone is the zone; missing for nodes without one.
	Zone string `json:"zone,omitempty"`
	// Nodes is the number found, and Before that of the scenario.
	Nodes  int `json:"nodes"`
	Before int `json:"before"`
}

// Cheaper is a cluster whose numbers differ from zone to zone.
type Cheaper struct {
	// Nodes and Cost are those of the groups that may change.
	Nodes int      `json:"nodes"`
	Cost  *float64 `json:"cost,omitempty"`
	// Groups are the groups that may change.
	Groups []Group `json:"groups"`
}

// Autoscaled is the cluster to which the Cluster Autoscaler comes from one node of each group in each of its zones.
type Autoscaled struct {
	// Nodes and Cost are those of the groups that may change.
	Nodes int      `json:"nodes"`
	Cost  *float64 `json:"cost,omitempty"`
	// Pending is the number of pods that then have no node, without those that were set aside.
	Pending int `json:"pending"`
}

// Fewer is what goes wrong on a smaller cluster.
type Fewer struct {
	// Group has one node fewer, in Zone, or in each of its zones if that is missing.
	Group string `json:"group,omitempty"`
	Zone  string `json:"zone,omitempty"`
	// Level and Domain are the failure that is not survived; missing if pods have no node even without a failure.
	Level  string `json:"level,omitempty"`
	Domain string `json:"domain,omitempty"`
	// Stranded is the number of pods without a node, Pod the first of them as namespace/name, and Message kube-scheduler's text.
	Stranded int    `json:"stranded"`
	Pod      string `json:"pod"`
	Message  string `json:"message,omitempty"`
}
