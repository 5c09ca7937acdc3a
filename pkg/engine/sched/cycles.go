package sched

import "github.com/faultline/faultline/pkg/engine/memo"

// Cycles counts scheduling cycles: Kept are those in which plugins were spared what they had answered before, Plain the others.
type Cycles struct{ Kept, Plain int }

// Since returns the cycles since that count.
func (c Cycles) Since(before Cycles) Cycles {
	return Cycles{Kept: c.Kept - before.Kept, Plain: c.Plain - before.Plain}
}

// Cycles returns the engine's cycles so far.
func (e *Engine) Cycles() Cycles {
	c := Cycles{Plain: e.plain}
	for _, profile := range e.profiles {
		if kept, is := profile.Framework.(*memo.Framework); is {
			c.Kept += kept.Kept
			c.Plain += kept.Plain
		}
	}
	return c
}
