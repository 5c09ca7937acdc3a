package scenario

// Drain evicts the pods of nodes, as far as disruption budgets allow. Pods of DaemonSets stay.
type Drain struct {
	Nodes `json:",inline"`
	// DeleteEmptyDirData evicts pods with emptyDir volumes too. Without it, a node that has one is not drained. Default: false.
	DeleteEmptyDirData bool `json:"deleteEmptyDirData,omitempty"`
	// Force evicts pods without a controller too. Without it, a node that has one is not drained. Default: false.
	Force bool `json:"force,omitempty"`
}

func (*Drain) instead() string { return "cordon the nodes, or make them fail" }
