package scenario

// Finish lets the running pods of a Job succeed, in one moment.
type Finish struct {
	Target `json:",inline"`
}

func (*Finish) instead() string { return "delete the Job" }

func (f *Finish) validate(c *actionChecks) {
	validateTarget(c.Problems, c.path, f.Target, false, "Job")
}
