package scenario

// RolloutKinds lists the kinds of workloads that have rollouts.
var RolloutKinds = []string{"Deployment", "StatefulSet", "DaemonSet"}

// Rollout starts a rollout of a Deployment, StatefulSet or DaemonSet. Give either restart or images.
type Rollout struct {
	Target `json:",inline"`
	// Restart replaces the pods by ones of the same template, as kubectl rollout restart does. Default: false.
	Restart bool `json:"restart,omitempty"`
	// Images gives containers new images, by the container's name, as kubectl set image does.
	Images map[string]string `json:"images,omitempty"`
}

func (r *Rollout) validate(c *actionChecks) {
	validateTarget(c.Problems, c.path, r.Target, !c.federated, RolloutKinds...)
	if r.Restart == (len(r.Images) > 0) {
		c.Add(c.path, "give either restart: true or images")
	}
}
