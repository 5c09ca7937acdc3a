package scenario

import "time"

// Drain evicts the pods of nodes, as far as disruption budgets allow. Pods of DaemonSets stay.
type Drain struct {
	Nodes `json:",inline"`
	// DeleteEmptyDirData evicts pods with emptyDir volumes, too. Without it, a node with such a pod is not drained. Default: false.
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
	// Force evicts pods without a controller, too. Without it, a node with such a pod is not drained. Default: false.
	Force bool `json:"force,omitempty"`
	// Together drains all nodes at once, as the upgrade of a node pool does. Otherwise the nodes are drained one after the other, as by
	// kubectl. Default: false.
	Together bool `json:"together,omitempty"`
	// Timeout is how long the drain of a node may take, or the drain of all nodes if they are drained together, as a duration such as 15m.
	// Pods that are on the node at that time stay. Default: as long as anything moves.
	Timeout string `json:"timeout,omitempty"`
}

// TimeLimit returns how long a drain may take; 0 means without a limit.
func (d *Drain) TimeLimit() time.Duration { return parseDuration(d.Timeout) }

func (*Drain) instead() string { return "cordon the nodes, or make them fail" }

func (d *Drain) validate(c *actionChecks) {
	d.Nodes.validate(c)
	validateDuration(c.Problems, c.path.Child("timeout"), d.Timeout)
}
