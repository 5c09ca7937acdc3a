package capacity

import (
	"github.com/faultline/faultline/pkg/ask/claim"
	"github.com/faultline/faultline/pkg/ask/cronjob"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// SizeOptions are the options of Size.
type SizeOptions struct {
	Options
	// Groups are the names of the groups that may change; if empty, all but control planes and cordoned nodes.
	Groups []string
	// Catalogue, if set, has the node types that can replace the nodes of these groups, in any mix.
	Catalogue *topology.Catalogue
	// Free lets the number of nodes of a group differ from zone to zone.
	Free bool
	// Most is the maximum number of clusters to try. With Less, it is lower, at least 20, if each try takes long.
	Most int
	Less bool
}

// Sizing is the cheapest cluster on which every pod has a node, and has one again after each failure to survive.
type Sizing struct {
	// Found says whether there is such a cluster. If not, Fewer says what goes wrong on the largest cluster that was tried. If no group may
	// change, the only cluster is the present one.
	Found bool `json:"found"`
	// Survive are the topology keys of the levels to survive, of each of which any one domain may fail. Mode says how its nodes fail.
	Survive []string `json:"survive,omitempty"`
	Mode    string   `json:"mode,omitempty"`
	// Safety says, for each of these levels, whether every lost pod of the present cluster comes back.
	Safety []Safety `json:"safety,omitempty"`
	// Groups are the groups of nodes.
	Groups []Group `json:"groups"`
	// Even means that a group has the same number of nodes in each of its zones.
	Even bool `json:"even,omitempty"`
	// Uneven is a cluster of fewer or cheaper nodes that also suffices if numbers may differ from zone to zone; missing if none was found.
	// There may be clusters with even fewer nodes.
	Uneven *Cheaper `json:"uneven,omitempty"`
	// Nodes is the number of nodes found, of the groups that may change, and Before the number that the scenario has of them.
	Nodes  int `json:"nodes"`
	Before int `json:"before"`
	// Cost is what the nodes found cost per hour, and CostBefore what those of the scenario cost. They are missing if some price is not
	// known; the search then looks for the fewest nodes.
	Cost       *float64 `json:"cost,omitempty"`
	CostBefore *float64 `json:"costBefore,omitempty"`
	// Proven means that every cheaper cluster was tried, or has too few resources. Otherwise the search reached its bound.
	Proven bool `json:"proven"`
	// AtLeast is the lower bound that an interrupted search proved: no cluster with fewer nodes suffices. If the search is for the cheapest
	// nodes, CostAtLeast is the bound, in cost per hour. Both are missing if the search has ended.
	AtLeast     *int     `json:"atLeast,omitempty"`
	CostAtLeast *float64 `json:"costAtLeast,omitempty"`
	// Tried is the number of clusters that were tried.
	Tried int `json:"tried"`
	// Pods is the number of pods to place, including pods that were set aside, without pods that come with a node, such as a DaemonSet's.
	Pods int `json:"pods"`
	// Unbound is the number of pods that had nodes and were placed again.
	Unbound int `json:"unbound,omitempty"`
	// Foreign is the number of pods of schedulers that are not configured, which are left out.
	Foreign int `json:"foreign,omitempty"`
	// Autoscaled is the cluster that the Cluster Autoscaler makes of these groups; missing without an autoscaler.
	Autoscaled *Autoscaled `json:"autoscaled,omitempty"`
	// CronJobs are the CronJobs that count as having one run under way.
	CronJobs []cronjob.CronJob `json:"cronJobs,omitempty"`
	// Aside are the pods that were set aside because no number of these nodes would place them, or bring them back.
	Aside []Aside `json:"aside,omitempty"`
	// Fewer says what goes wrong with one node fewer, for each number that can be lowered.
	Fewer []Fewer `json:"fewer,omitempty"`
	// State is the cluster of the first try after its steps; nil if no try has ended. A report says what its new pods get that their
	// templates lack.
	State *cluster.State `json:"-"`
	// Partial says how far an interrupted search came; empty if the search has ended.
	Partial string `json:"-"`
	// The claims of the answer and the scenario for which they hold; see Claims.
	scenario *scenario.Scenario
	claims   []claim.Claim
	claimErr error
}

// Group is a node group and its numbers of nodes.
type Group struct {
	Name string `json:"name"`
	// Kept means that the group keeps its nodes.
	Kept bool `json:"kept,omitempty"`
	// ControlPlane means that the nodes are control planes.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Price is what one node costs per hour; missing if that is not known.
	Price *float64 `json:"price,omitempty"`
	// Zones are its nodes by zone.
	Zones []Zone `json:"zones"`
}

// Zone is a number of nodes of a group in a zone.
type Zone struct {
	// Zone is the zone; missing for nodes without one.
	Zone string `json:"zone,omitempty"`
	// Nodes is the number of nodes found, and Before the number that the scenario has.
	Nodes  int `json:"nodes"`
	Before int `json:"before"`
}

// Cheaper is a cheaper cluster whose numbers of nodes differ from zone to zone.
type Cheaper struct {
	// Nodes and Cost are the number of nodes of the groups that may change, and what they cost per hour; Cost is missing without prices.
	Nodes int      `json:"nodes"`
	Cost  *float64 `json:"cost,omitempty"`
	// Groups are the groups that may change.
	Groups []Group `json:"groups"`
}

// Autoscaled is the cluster that the Cluster Autoscaler builds, starting from one node of each group in each of its zones.
type Autoscaled struct {
	// Nodes and Cost are the number of nodes of the groups that may change, and what they cost per hour; Cost is missing without prices.
	Nodes int      `json:"nodes"`
	Cost  *float64 `json:"cost,omitempty"`
	// Pending is the number of pods without a node on this cluster, without the pods that were set aside.
	Pending int `json:"pending"`
}

// Fewer is what goes wrong on a smaller cluster.
type Fewer struct {
	// Group has one node fewer, in Zone, or in each of its zones if Zone is missing.
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
