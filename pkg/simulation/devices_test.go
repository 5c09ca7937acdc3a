package simulation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/faultline/faultline/pkg/loader"
)

// Each file has a world with devices that is small enough to be worked out by hand. The file says why its pods get the devices in its last
// lines.
func TestDevices(t *testing.T) {
	files, err := filepath.Glob("testdata/devices/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d worlds: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, want, found := strings.Cut(string(data), "# Want:\n")
			if !found {
				t.Fatal("the file does not say what it wants")
			}
			s, err := loader.Load(file, loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want = strings.ReplaceAll(want, "# ", "")
			if diff := cmp.Diff(want, allocations(runCase(t, s))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			plain := *s
			plain.Config = s.Config.Plain()
			if diff := cmp.Diff(want, allocations(runCase(t, &plain))); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
		})
	}
}

// allocations lists, step by step, each pod with its node and the devices of its claims, and why pods wait.
func allocations(r *Result) string {
	var lines []string
	for _, step := range r.Steps {
		if len(r.Steps) > 1 {
			lines = append(lines, step.Name+":")
		}
		first := len(lines)
		devices := map[string][]string{}
		for _, claim := range step.State.ResourceClaims {
			for _, by := range claim.Status.ReservedFor {
				devices[by.Name] = append(devices[by.Name], devicesIn(claim))
			}
		}
		for _, pod := range step.State.Pods {
			if pod.Spec.NodeName != "" {
				state := ""
				if pod.DeletionTimestamp != nil {
					state = " (Terminating)"
				}
				lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s%s %s", shortName(pod.Name), pod.Spec.NodeName, state, strings.Join(devices[pod.Name], " "))))
			}
		}
		for _, pending := range step.Pending {
			lines = append(lines, fmt.Sprintf("%s Pending: %s", shortName(pending.Pod.Name), pending.Why()))
		}
		slices.Sort(lines[first:])
	}
	return strings.Join(lines, "\n") + "\n"
}

// devicesIn lists the devices of a claim, with the capacity that it consumes of shared devices.
func devicesIn(claim *resourcev1.ResourceClaim) string {
	if claim.Status.Allocation == nil {
		return "none"
	}
	var devices []string
	for _, result := range claim.Status.Allocation.Devices.Results {
		device := result.Pool + "/" + result.Device
		for name, quantity := range result.ConsumedCapacity {
			device += fmt.Sprintf("(%s %s)", name, quantity.String())
		}
		devices = append(devices, result.Request+"="+device)
	}
	return strings.Join(devices, ",")
}

// shortName returns the name of a workload's pod without the suffixes that controllers add.
func shortName(pod string) string {
	if parts := strings.Split(pod, "-"); len(parts) > 2 {
		return parts[0]
	}
	return pod
}
