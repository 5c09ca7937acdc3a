// Package stats contains the statistics that answers need: seeded trials in parallel, the interval around a fraction counted in them, and
// the distribution of a sum.
//
// Results depend on the seed, but not on the number of workers and cores.
package stats
