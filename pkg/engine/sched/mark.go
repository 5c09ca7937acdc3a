package sched

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
)

// Reset makes the engine forget its decisions, so that it next answers like a new engine: the random sequence and the search for feasible
// nodes start over. The engine keeps the cluster, which makes it cheap to use again.
func (e *Engine) Reset() {
	e.started = 0
	e.random, e.source = nil, nil
	if e.ties.Random {
		e.source = rand.NewPCG(e.ties.Seed, e.ties.Seed)
		e.random = rand.New(e.source)
	}
	e.StartAt(0)
}

// ResetTo resets the engine and sets other ties.
func (e *Engine) ResetTo(ties Ties) error {
	if ties != e.ties {
		for _, name := range slices.SortedFunc(maps.Keys(e.timed), byName) {
			if err := e.removePod(e.bound[name]); err != nil {
				return fmt.Errorf("removing pod %s from the scheduler's cache: %w", name, err)
			}
			delete(e.bound, name)
			e.boundUnsure = true
		}
		clear(e.timed)
		e.ties = ties
	}
	e.Reset()
	return nil
}

// Mark is an engine's position: all that the next answer depends on, except the cluster.
type Mark struct {
	started, startAt int
	source           rand.PCG
}

// Mark returns the engine's position.
func (e *Engine) Mark() Mark {
	m := Mark{started: e.started, startAt: e.startNode()}
	if e.source != nil {
		m.source = *e.source
	}
	return m
}

// NextStart returns the index of the node at which the next search for feasible nodes begins.
func (m Mark) NextStart() int { return m.startAt }

// Return takes the engine, or another one with the same configuration and ties, back to the mark.
func (e *Engine) Return(m Mark) {
	e.started = m.started
	e.StartAt(m.startAt)
	if e.source != nil {
		*e.source = m.source
	}
}

// StartAt sets the node, by its index in the cluster's order, at which the next search for feasible nodes begins. The index matters only in
// clusters of 100 nodes or more, where a search ends as soon as it has found enough feasible nodes.
func (e *Engine) StartAt(node int) { e.nextStartNodeIndex().SetInt(int64(node)) }

// startNode returns the index of the node at which the next search for feasible nodes begins.
func (e *Engine) startNode() int { return int(e.nextStartNodeIndex().Int()) }

// nextStartNodeIndex returns an unexported field of upstream's scheduler: the node at which the next search begins. Upstream has no other
// way to set the field.
func (e *Engine) nextStartNodeIndex() reflect.Value {
	return unexported(e.scheduler, "nextStartNodeIndex")
}

// unexported returns the unexported field of the struct that the pointer points to, so that it can be set.
func unexported(pointer any, name string) reflect.Value {
	field := reflect.ValueOf(pointer).Elem().FieldByName(name)
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
}
