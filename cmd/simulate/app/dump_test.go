package app

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/input/live"
	"github.com/faultline/faultline/pkg/scenario"
)

// One place beside the quick start documents how to dump a cluster: the short command, and the same command with the kinds that not every API
// server has. Together they cover every kind that a target can name.
func TestOneCommandDumps(t *testing.T) {
	files, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, file := range append(files, "../../../README.md") {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(document)) {
			_, command, found := strings.Cut(line, "kubectl get nodes")
			command, _, _ = strings.Cut("kubectl get nodes"+command, "-o json")
			if found && strings.Contains(line, "-o json") {
				commands = append(commands, filepath.Base(file)+": "+command+"-o json")
			}
		}
	}
	full := strings.Replace(input.KubectlGet, " -A", "$more -A", 1)
	if diff := cmp.Diff([]string{"commands.md: " + full, "commands.md: " + input.KubectlGet, "README.md: " + full}, commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	got := map[string]bool{}
	untargeted := map[string]string{ // no step names one
		"validatingadmissionpolicies": "ValidatingAdmissionPolicy", "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
		"mutatingadmissionpolicies": "MutatingAdmissionPolicy", "mutatingadmissionpolicybindings": "MutatingAdmissionPolicyBinding",
		"validatingwebhookconfigurations": "ValidatingWebhookConfiguration", "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
	}
	for _, word := range strings.Split(strings.Fields(input.KubectlGet)[2]+moreKinds(t), ",") {
		if kind, found := untargeted[word]; found {
			got[kind] = true
			continue
		}
		kind, _, err := scenario.ParseTarget(word + "/x")
		if err != nil {
			t.Fatal(err)
		}
		got[kind] = true
	}
	want := map[string]bool{}
	for _, kind := range []string{"Node", "Namespace", "Pod", "Service", "PersistentVolume", "PersistentVolumeClaim", "Deployment", "ReplicaSet", "StatefulSet",
		"DaemonSet", "Job", "CronJob", "HorizontalPodAutoscaler", "PodDisruptionBudget", "PriorityClass", "StorageClass", "CSINode", "CSIDriver",
		"CSIStorageCapacity", "ControllerRevision", "ReplicationController", "RuntimeClass", "LimitRange", "ResourceQuota",
		"DeviceClass", "ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceTaintRule", "PodGroup", "CompositePodGroup", "Workload",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		want[kind] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	read := map[string]bool{}
	for _, kind := range live.Kinds() {
		read[kind] = true
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("kinds of a live cluster (-want +got):\n%s", diff)
	}
}

// moreKinds runs the documented pipeline against two API servers, of which only one has the kinds. It returns the arguments that this one
// adds.
func moreKinds(t *testing.T) string {
	t.Helper()
	document, err := os.ReadFile("../../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(document), "more=$(kubectl api-resources --verbs=list -o name")
	pipeline, _, found := strings.Cut(line, ")\n")
	if !found {
		t.Fatal("docs/commands.md does not list the kinds of the API server")
	}
	more := func(resources ...string) string {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s\n' "+strings.Join(resources, " ")+pipeline).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := more("pods", "deployments.apps", "queues.scheduling.volcano.sh", "priorityclasses.scheduling.k8s.io"); got != "" {
		t.Errorf("an older API server adds %q", got)
	}
	if got, want := more("podgroups.scheduling.x-k8s.io", "podgroups.scheduling.volcano.sh"), ",podgroups.scheduling.x-k8s.io,podgroups.scheduling.volcano.sh"; got != want {
		t.Errorf("an API server with the groups of other schedulers adds %q, want %q", got, want)
	}
	all := more("pods", "podgroups.scheduling.k8s.io", "compositepodgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io", "deviceclasses.resource.k8s.io", "resourceslices.resource.k8s.io",
		"resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io", "devicetaintrules.resource.k8s.io",
		"validatingadmissionpolicies.admissionregistration.k8s.io", "validatingadmissionpolicybindings.admissionregistration.k8s.io",
		"mutatingadmissionpolicies.admissionregistration.k8s.io", "mutatingadmissionpolicybindings.admissionregistration.k8s.io")
	return strings.NewReplacer(".scheduling.k8s.io", "", ".resource.k8s.io", "", ".admissionregistration.k8s.io", "").Replace(all)
}
