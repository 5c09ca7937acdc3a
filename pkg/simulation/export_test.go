package simulation

// The tests of recorded cases that look at reports use these functions of the tests that look at states.
var (
	StepOf    = stepOf
	Unreached = unreached
)

type OutcomeSeen = outcomeSeen
