package scenario

// maxAdded is how many nodes a step adds at most.
const maxAdded = 10000

// AddNodes adds nodes that are ready and have no pods, with the labels, taints, resources and devices of one that is there. A label whose
// value is that node's name, such as kubernetes.io/hostname, has theirs.
type AddNodes struct {
	// Count is how many nodes, from 0 to 10000.
	Count int `json:"count" jsonschema:"minimum=0,maximum=10000"`
	// Like is the name of the node that they are like.
	Like string `json:"like"`
}

func (*AddNodes) instead() string { return "give the nodes of a member in clusters" }

func (a *AddNodes) validate(c *checks) {
	if a.Count < 0 || a.Count > maxAdded {
		c.Add(c.path.Child("count"), "%d is not from 0 to %d", a.Count, maxAdded)
	}
	if a.Like == "" {
		c.Add(c.path.Child("like"), "is missing; give the name of the node that the new ones are like")
	}
}

func (a *AddNodes) selected() *Nodes { return &Nodes{Names: []string{a.Like}} }
