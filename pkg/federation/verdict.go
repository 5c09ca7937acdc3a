package federation

// Verdict is the result of a scheduling attempt for one cluster.
type Verdict struct {
	Cluster string `json:"cluster"`
	// Filter is the plugin that refused the cluster, and Refusal is its reason; both are empty if no plugin did.
	Filter  string `json:"filter,omitempty"`
	Refusal string `json:"refusal,omitempty"`
	// Score is the score of a feasible cluster, and Room the estimate of how many more replicas fit there.
	Score int64 `json:"score"`
	Room  int32 `json:"room"`
	// Selected means that Karmada chose the cluster when it divided the replicas. Replicas is how many the cluster got.
	Selected bool  `json:"selected"`
	Replicas int32 `json:"replicas"`
}

// Verdicts returns the verdicts of the last scheduling attempt: first the feasible clusters, the best first, then the rejected ones. It is
// empty before the first attempt.
func (b *Binding) Verdicts() []Verdict { return b.verdicts }

// filter returns the clusters that no plugin rejects, and the verdicts on the others.
func (s *Scheduler) filter(b *Binding) (feasible []*Cluster, refused []Verdict) {
	for _, c := range s.Clusters {
		if c.DeletionTimestamp != nil {
			continue
		}
		if plugin, reason := s.refusal(b, c); reason != "" {
			refused = append(refused, Verdict{Cluster: c.Name, Filter: plugin, Refusal: reason})
			continue
		}
		feasible = append(feasible, c)
	}
	return feasible, refused
}

// verdictsOn returns the verdicts on the candidates.
func verdictsOn(candidates, selected []candidate, targets []Target) []Verdict {
	verdicts := make([]Verdict, len(candidates))
	for i, c := range candidates {
		v := &verdicts[i]
		*v = Verdict{Cluster: c.Name, Score: c.score, Room: c.room}
		for _, other := range selected {
			v.Selected = v.Selected || other.Name == c.Name
		}
		for _, target := range targets {
			if target.Cluster == c.Name {
				v.Replicas = target.Replicas
			}
		}
	}
	return verdicts
}
