package fleet_test

import (
	"fmt"
	"testing"

	"github.com/faultline/faultline/pkg/simulation"
)

// BenchmarkFederation divides 40 workloads of 25 pods among ten clusters of 50 nodes, of which one then fails.
func BenchmarkFederation(b *testing.B) {
	var members, workloads []string
	for i := range 10 {
		members = append(members, member(fmt.Sprint("m", i), 50, 8))
	}
	for i := range 40 {
		name := fmt.Sprint("app", i)
		workloads = append(workloads, policy(name, dynamic), deployment(name, 25, 1))
	}
	s := federationOf(b, members, "failover: {enabled: true}", workloads, "fail: {clusters: [m0]}")
	for b.Loop() {
		if _, err := simulation.Run(b.Context(), s, simulation.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
