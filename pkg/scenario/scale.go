package scenario

// Scale sets the number of replicas of a Deployment, ReplicaSet, StatefulSet or ReplicationController.
type Scale struct {
	Target `json:",inline"`
	// Replicas is the new number, 0 or more.
	Replicas int32 `json:"replicas" jsonschema:"minimum=0"`
}

func (s *Scale) validate(c *actionChecks) {
	validateTarget(c.Problems, c.path, s.Target, !c.federated, ScalableKinds...)
	validateNotNegative(c.Problems, c.path.Child("replicas"), int(s.Replicas))
}
