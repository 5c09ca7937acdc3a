package upgrade

import (
	"testing"

	"github.com/faultline/faultline/pkg/ask/upgrade"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

// answer has one change of each kind.
func answer() *upgrade.Answer {
	pod := func(name, node, from, to, message string) upgrade.Change {
		return upgrade.Change{PodRef: cluster.PodRef{Namespace: "shop", Name: name, Workload: "deployment/web"}, Node: node, From: from, To: to, Message: message}
	}
	ref := func(kind, name string) cluster.Ref { return cluster.Ref{Kind: kind, Namespace: "shop", Name: name} }
	return &upgrade.Answer{
		From: "1.35", To: "1.37", Pods: 1485,
		Changes: []upgrade.Change{
			pod("web-1", "n1", "n1", "n2", ""), pod("web-2", "n1", "n1", "n3", ""), pod("web-3", "n1", "n1", "", "0/3 nodes are available: 3 csi.example.com CSI driver is not installed on the node."),
			pod("web-4", "", "", "n2", ""),
			{PodRef: cluster.PodRef{Namespace: "shop", Name: "web-5", Workload: "deployment/web"}, Node: "n1", From: "n1", To: "n2", Plugin: "NodeResourcesBalancedAllocation",
				Why: "NodeResourcesBalancedAllocation scores n1 2 above n2 as 1.35, and 3 below as 1.37"},
		},
		Reasons: []upgrade.Reason{{Plugin: "NodeResourcesBalancedAllocation", Pods: 1, Since: "1.36", Text: "it scores in another way"}, {Plugin: "NodePorts", Pods: 1}},
		Refused: []cluster.Ref{ref("Service", "old")}, Accepted: []cluster.Ref{ref("HorizontalPodAutoscaler", "web")},
		Completed: []upgrade.Completed{{Ref: ref("Pod", "web-1"), Fields: []string{"spec.resources", "spec.volumes"}}},
		Gates: []upgrade.Gate{{Name: "VolumeLimitScaling", On: true, Effect: "a pod goes to no node that lacks the CSI driver of its volume",
			Objects: []cluster.Ref{ref("CSIDriver", "a"), ref("CSIDriver", "b"), ref("CSIDriver", "c"), ref("CSIDriver", "d"), ref("CSIDriver", "e")}}},
		Unserved:     []upgrade.Unserved{{APIVersion: "scheduling.k8s.io/v1alpha2", Ref: ref("Workload", "train")}},
		NotSimulated: []upgrade.Difference{{Since: "1.37", Text: "timeouts", Link: "https://example.com/1"}},
	}
}

func TestFormats(t *testing.T) {
	result := reporttest.Result(t, reporttest.Nodes("a-1", "b-1"), "apply")
	reporttest.Formats(t, Formats, New(result, answer(), []string{"pending"}, "v0.1.0"), "changes", "upgrade-report", Kind)
	same := &upgrade.Answer{From: "1.36", To: "1.37", Pods: 3, Changes: []upgrade.Change{}, NotSimulated: []upgrade.Difference{}}
	reporttest.Formats(t, Formats, New(result, same, nil, "v0.1.0"), "same", "upgrade-report", Kind)
	refused := &upgrade.Answer{From: "1.36", To: "1.37", Problems: []string{"app.yaml: spec.x: is no longer valid"}, Changes: []upgrade.Change{}, NotSimulated: []upgrade.Difference{}}
	reporttest.Formats(t, Formats, New(result, refused, nil, "v0.1.0"), "refused", "upgrade-report", Kind)
}

// The first line is the answer.
func TestVerdict(t *testing.T) {
	for want, of := range map[string]*upgrade.Answer{
		"Nothing changes for 1480 of 1485 pods; 3 would go elsewhere, 1 would stay Pending and 1 would get a node, from Kubernetes 1.35 to 1.37.": answer(),
		"Nothing changes for 1 of 1 pod, from Kubernetes 1.36 to 1.37.":                                                                           {From: "1.36", To: "1.37", Pods: 1},
		"Kubernetes 1.37 refuses the input, which 1.36 accepts: 1 problem.":                                                                       {From: "1.36", To: "1.37", Problems: []string{"x"}},
	} {
		r := &Report{Answer: *of}
		if got := document(r, report.Options{}).Answer(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestMet(t *testing.T) {
	for _, kind := range FailOns() {
		if r := (&Report{Answer: *answer(), FailOn: []string{kind}}); r.Met() {
			t.Errorf("%s: the answer has such a change", kind)
		}
		if r := (&Report{FailOn: []string{kind}}); !r.Met() {
			t.Errorf("%s: an answer without changes has none", kind)
		}
	}
}

func TestHostile(t *testing.T) {
	const h = reporttest.Hostile
	ref := cluster.Ref{Kind: h, Namespace: h, Name: h}
	r := &Report{Head: report.Head{Scenario: h}, Answer: upgrade.Answer{
		From: "1.36", To: "1.37", Pods: 1, Changes: []upgrade.Change{{PodRef: cluster.PodRef{Namespace: h, Name: h, Workload: h}, Node: h, From: h, Message: h}},
		Refused: []cluster.Ref{ref}, Completed: []upgrade.Completed{{Ref: ref, Fields: []string{h}}}, Unserved: []upgrade.Unserved{{APIVersion: h, Ref: ref}},
		Gates: []upgrade.Gate{{Name: "G", Effect: "e", Objects: []cluster.Ref{ref}}}, Problems: []string{h},
	}}
	reporttest.CheckHarmless(t, reporttest.Write(t, Formats, r, "markdown", report.Options{}))
}
