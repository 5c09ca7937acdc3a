package scenario

// maxFactor keeps products of replicas within an int32 that MaxPods can refuse.
const maxFactor = 1000

// ScaleBy multiplies the replicas of workloads: of every Deployment, ReplicaSet, StatefulSet and ReplicationController that nothing else
// scales, or of those that workloads and namespace choose. A workload without replicas keeps none.
type ScaleBy struct {
	// Factor is by how much, above 0: 1.2 for 20 % more. Products are rounded up, and stay between minReplicas and maxReplicas for a
	// workload with a HorizontalPodAutoscaler.
	Factor float64 `json:"factor"`
	// Workloads lists workloads as kind/name or namespace/kind/name. Default: all.
	Workloads []string `json:"workloads,omitempty"`
	// Namespace is the namespace of the workloads. Default: default for workloads that are given as kind/name, otherwise all namespaces.
	Namespace string `json:"namespace,omitempty"`
}

func (*ScaleBy) instead() string { return "scale the workloads one by one" }

func (s *ScaleBy) validate(c *actionChecks) {
	if !(s.Factor > 0) || s.Factor > maxFactor {
		c.Add(c.path.Child("factor"), "%v is not above 0 and at most %d; give a factor such as 1.2 for 20 %% more", s.Factor, maxFactor)
	}
	for i, workload := range s.Workloads {
		validateWorkload(c.Problems, c.path.Child("workloads").Index(i), workload, ScalableKinds...)
	}
}
