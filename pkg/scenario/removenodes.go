package scenario

// RemoveNodes takes nodes away, as a failure of mode deleted does: those named, those that the selector matches, or some of them.
type RemoveNodes struct {
	Nodes `json:",inline"`
	// Count is how many of the selected nodes go, or of all but control planes if none is selected: the emptiest first, by the larger of the
	// shares of cpu and memory that pods request, and of equals in the order of their names. Default: all that are selected.
	Count int `json:"count,omitempty" jsonschema:"minimum=1"`
}

func (*RemoveNodes) instead() string { return "make the nodes fail, with mode: deleted" }

func (r *RemoveNodes) validate(c *checks) {
	switch {
	case r.Count < 0:
		c.Add(c.path.Child("count"), "%d is negative; give 1 or more", r.Count)
	case r.Count == 0:
		r.Nodes.validate(c)
	default:
		validateSelector(c.Problems, c.path.Child("selector"), r.Selector)
	}
}
