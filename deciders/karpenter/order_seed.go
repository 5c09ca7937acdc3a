//go:build ordered

package main

import "sigs.k8s.io/karpenter/pkg/scheduling"

const ordered = true

// order lets the seed decide what Karpenter takes from the order of a map.
func order(seed uint64) { scheduling.Salt = seed }
