package simulation

// What the tests of recorded cases that look at reports use of those that look at states.
var (
	StepOf    = stepOf
	Unreached = unreached
)

type OutcomeSeen = outcomeSeen
