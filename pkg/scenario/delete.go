package scenario

// Delete removes objects: the objects of files, named objects, or pods by label. Give at least one of files, targets and pods.
type Delete struct {
	// Files lists files, folders and globs whose objects are deleted.
	Files []string `json:"files,omitempty"`
	// Targets lists objects as kind/name; in a federation also clusters, policies and custom resources.
	Targets []string `json:"targets,omitempty"`
	// Namespace is the namespace of the targets and pods. Default: default for targets, and all namespaces for pods.
	Namespace string `json:"namespace,omitempty"`
	// Pods deletes pods. Their controllers replace them.
	Pods *Pods `json:"pods,omitempty"`
	// Together deletes everything in one moment. Otherwise controllers and scheduler act between one object and the next, as they do
	// while kubectl goes through its list. Default: false.
	Together bool `json:"together,omitempty"`
}

// Pods selects pods. A field that is left out does not restrict the selection.
type Pods struct {
	// Selector is a label selector, as for kubectl -l. Default: all pods.
	Selector string `json:"selector,omitempty"`
	// Nodes restricts to the pods on these nodes. Default: all nodes, and Pending pods too.
	Nodes *Nodes `json:"nodes,omitempty"`
}

func (d *Delete) validate(c *actionChecks) {
	if len(d.Files) == 0 && len(d.Targets) == 0 && d.Pods == nil {
		c.Add(c.path, "deletes nothing; give files, targets or pods")
	}
	for i, target := range d.Targets {
		_, _, err := ParseTarget(target)
		if _, _, karmada := ParseKarmada(target); c.federated && (karmada || c.resources(Target{Target: target, Namespace: d.Namespace})) {
			continue
		}
		if err != nil && (c.federated || !isOtherKind(target)) { // the objects decide whether another kind exists
			c.Add(c.path.Child("targets").Index(i), "%s", err)
		}
	}
	if d.Pods == nil {
		return
	}
	path := c.path.Child("pods")
	if c.federated {
		c.Add(path, "is for a single cluster, since Karmada has no pods of members; make their nodes fail")
	}
	validateSelector(c.Problems, path.Child("selector"), d.Pods.Selector)
	if d.Pods.Nodes != nil {
		validateNodes(c.Problems, path.Child("nodes"), *d.Pods.Nodes)
	}
}

func (d *Delete) selected() *Nodes {
	if d.Pods == nil {
		return nil
	}
	return d.Pods.Nodes
}
