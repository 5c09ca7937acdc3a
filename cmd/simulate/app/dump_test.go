package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/scenario"
)

// The documents dump a cluster with one command, which covers every kind that a target can name.
func TestOneCommandDumps(t *testing.T) {
	for _, file := range []string{"README.md", "docs/commands.md", "docs/scenario.md", "docs/verify.md"} {
		document, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for line := range strings.Lines(string(document)) {
			if strings.Contains(line, "kubectl get nodes") {
				found = true
				if !strings.Contains(line, kubectlGet) {
					t.Errorf("%s has another command: %s", file, line)
				}
			}
		}
		if !found {
			t.Errorf("%s does not show how to dump a cluster", file)
		}
	}
	got := map[string]bool{}
	for _, word := range strings.Split(strings.Fields(kubectlGet)[2], ",") {
		kind, _, err := scenario.ParseTarget(word + "/x")
		if err != nil {
			t.Fatal(err)
		}
		got[kind] = true
	}
	want := map[string]bool{}
	for _, kind := range []string{"Node", "Namespace", "Pod", "Service", "PersistentVolume", "PersistentVolumeClaim", "Deployment", "ReplicaSet", "StatefulSet",
		"DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler", "PodDisruptionBudget", "PriorityClass", "StorageClass", "CSINode", "CSIDriver",
		"CSIStorageCapacity", "ControllerRevision", "ReplicationController", "RuntimeClass", "LimitRange", "ResourceQuota"} {
		want[kind] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
