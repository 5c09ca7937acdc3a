package main

import "math/rand"

// order makes what Karpenter draws from the global random generator depend on the seed.
func order(seed uint64) { rand.Seed(int64(seed)) } //nolint:staticcheck // the go:debug line of main.go lets it have an effect
