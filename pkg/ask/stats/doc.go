// Package stats contains the statistics that answers need: seeded trials in parallel, the interval around a fraction counted in them, and
// the distribution of a sum.
//
// Every result is the same for the same seed, whatever the number of workers and cores.
package stats
