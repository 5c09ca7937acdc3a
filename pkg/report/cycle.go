package report

// Cycle is a pod's way through one scheduling cycle: what every plugin said of the nodes.
type Cycle struct {
	// PreFilter are what the PreFilter plugins said of the pod, in order.
	PreFilter []Verdict `json:"preFilter,omitempty"`
	// Searched is the number of nodes that the filters looked at, Filters the plugins that did, in order. A node is refused by
	// the first that refuses it.
	Searched int      `json:"searched"`
	Filters  []string `json:"filters,omitempty"`
	// Refusals are the nodes that were refused, by plugin and words, the most frequent first.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Scored is the number of nodes that were scored; a single feasible node is taken unscored.
	Scored int `json:"scored"`
	// Candidates are the feasible nodes, the best first; of many, the best ones, the chosen one, and those asked for.
	Candidates []Candidate `json:"candidates,omitempty"`
}

// Verdict is what a plugin said of the pod as a whole.
type Verdict struct {
	Plugin string `json:"plugin"`
	// Status is success, skip (it has nothing to say of this pod), or the refusal.
	Status string `json:"status"`
}

// Refusal is a plugin's refusal of a number of nodes.
type Refusal struct {
	Plugin  string `json:"plugin"`
	Message string `json:"message"`
	// Count is the number of nodes, Nodes the names of the first ones and of those asked for.
	Count int      `json:"count"`
	Nodes []string `json:"nodes"`
}

// Candidate is a feasible node.
type Candidate struct {
	Node string `json:"node"`
	// Rank is 1 for the nodes with the top score; nodes of the same score have the same rank. It is 0 where nothing was scored.
	Rank int `json:"rank,omitempty"`
	// Chosen tells that it is the pod's node.
	Chosen bool `json:"chosen,omitempty"`
	// Present tells that the pod runs there, and would be sent elsewhere now.
	Present bool `json:"present,omitempty"`
	// Total is the sum of the weighted scores.
	Total int64 `json:"total"`
	// Scores are those of each plugin, in the profile's order. Plugins that had nothing to say are left out.
	Scores []PluginScore `json:"scores,omitempty"`
}

// PluginScore is a plugin's score of a node.
type PluginScore struct {
	Plugin string `json:"plugin"`
	// Raw is what the plugin gave, Normalised that on a scale from 0 to 100, Weighted that times Weight.
	Raw        int64 `json:"raw"`
	Normalised int64 `json:"normalised"`
	Weight     int64 `json:"weight"`
	Weighted   int64 `json:"weighted"`
	// Parts are what each rule contributed to Raw, for InterPodAffinity, PodTopologySpread and NodeAffinity. They add up to it;
	// those of PodTopologySpread once their sum is rounded.
	Parts []Part `json:"parts,omitempty"`
}

// Part is what one rule contributed to a plugin's raw score of a node.
type Part struct {
	// Rule says whose rule it is and which, in words.
	Rule string `json:"rule"`
	// TopologyKey and Domain are the node's failure domain in which the rule counts; empty for a rule about the node itself.
	TopologyKey string `json:"topologyKey,omitempty"`
	Domain      string `json:"domain,omitempty"`
	// Weight is the term's weight, negative for anti-affinity; for a spread constraint the weight of one matching pod.
	Weight float64 `json:"weight"`
	// Count is the number of existing pods that it counts, Pods the first ones of them, as namespace/name.
	Count int      `json:"count"`
	Pods  []string `json:"pods,omitempty"`
	// Score is the contribution.
	Score float64 `json:"score"`
}
