package sched

import "github.com/faultline/faultline/pkg/engine/memo"

// Cycles counts scheduling cycles. In the Kept cycles, a memo could reuse earlier answers of plugins; in the Plain cycles, none could.
type Cycles struct{ Kept, Plain int }

// Since returns the cycles since an earlier count.
func (c Cycles) Since(before Cycles) Cycles {
	return Cycles{Kept: c.Kept - before.Kept, Plain: c.Plain - before.Plain}
}

// Cycles returns the number of cycles that the engine has run.
func (e *Engine) Cycles() Cycles {
	c := Cycles{Plain: e.plainCycles}
	for _, profile := range e.profiles {
		if kept, is := profile.Framework.(*memo.Framework); is {
			c.Kept += kept.Kept
			c.Plain += kept.Plain
		}
	}
	return c
}
