package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// TestAWS reads what the AWS CLI prints. An m5.large has 8192 MiB, of which a machine has 92.5 %: 7577 MiB; with 29 pods the kubelet reserves
// 11 MiB for each and 255 MiB, and 100 MiB are the eviction's threshold: 6903 MiB are left. Of its two CPUs 70m are reserved.
func TestAWS(t *testing.T) {
	const folder = "testdata/transcripts/aws/"
	types, err := os.ReadFile(folder + "types.json")
	if err != nil {
		t.Fatal(err)
	}
	if !isAWS(types) || isAWS([]byte("[]")) || isAWS([]byte("{}")) {
		t.Error("what is of AWS is not found")
	}
	a, err := newAWS(types, []string{folder + "prices.json", folder + "spot.json"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"eu-west-1a", "eu-west-1b"}, a.allZones()); diff != "" {
		t.Error(diff)
	}
	type offered struct {
		Zone, CapacityType string
		Price              float64
	}
	got := map[string][]offered{}
	for _, instanceType := range a.in(a.allZones()) {
		for _, of := range instanceType.Offerings {
			got[instanceType.Name] = append(got[instanceType.Name], offered{of.Zone(), of.CapacityType(), of.Price})
		}
		if instanceType.Name == "m5.large" {
			left := instanceType.Allocatable()
			if cpu, memory, pods := left.Cpu().MilliValue(), left.Memory().Value()>>20, left.Pods().Value(); cpu != 1930 || memory != 6903 || pods != 29 {
				t.Errorf("an m5.large has %dm CPU, %d MiB and %d pods", cpu, memory, pods)
			}
			if generation := instanceType.Requirements.Get("karpenter.k8s.aws/instance-generation").Any(); generation != "5" {
				t.Errorf("its generation is %q", generation)
			}
		}
	}
	onDemand := func(price float64) []offered {
		return []offered{{"eu-west-1a", v1.CapacityTypeOnDemand, price}, {"eu-west-1b", v1.CapacityTypeOnDemand, price}}
	}
	want := map[string][]offered{
		"c6g.2xlarge": onDemand(0.2912), "m5.large": onDemand(0.107),
		"m5.xlarge": {
			{"eu-west-1a", v1.CapacityTypeOnDemand, 0.214}, {"eu-west-1a", v1.CapacityTypeSpot, 0.091},
			{"eu-west-1b", v1.CapacityTypeOnDemand, 0.214}, {"eu-west-1b", v1.CapacityTypeSpot, 0.08},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("offerings (-want +got):\n%s", diff)
	}
	if _, err := newAWS([]byte("{}"), nil); err == nil {
		t.Error("a file with nothing in it is taken")
	}
}
