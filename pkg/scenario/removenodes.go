package scenario

// RemoveNodes removes nodes, as a failure of mode deleted does: all selected nodes, or some of them.
type RemoveNodes struct {
	Nodes `json:",inline"`
	// Count is the number of nodes that are removed, of the selected ones, or of all but control planes if none is selected. The emptiest
	// nodes go first, by the larger of the shares of cpu and memory that pods request, and by name among equals. Default: all selected
	// nodes.
	Count int `json:"count,omitempty" jsonschema:"minimum=1"`
}

func (*RemoveNodes) instead() string { return "make the nodes fail, with mode: deleted" }

func (r *RemoveNodes) validate(c *actionChecks) {
	switch {
	case r.Count < 0:
		c.Add(c.path.Child("count"), "%d is negative; give 1 or more", r.Count)
	case r.Count == 0:
		r.Nodes.validate(c)
	default:
		validateSelector(c.Problems, c.path.Child("selector"), r.Selector)
	}
}
