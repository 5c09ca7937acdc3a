package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
)

// A pod of a dump has a node and does not run. Its Events say why; that of the scheduler, which the simulation says anew, is left out.
func TestPodsHaveTheWarningsOfTheDump(t *testing.T) {
	const claim = "  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, uid: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n"
	events := []string{
		`{"type": "Warning", "reason": "FailedScheduling", "message": "no room", "lastTimestamp": "2026-11-01T10:00:03Z", "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}}`,
		`{"type": "Warning", "reason": "FailedMount", "message": "configmap \"app\" not found", "count": 12, "lastTimestamp": "2026-11-01T10:00:02Z", "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}}`,
		`{"type": "Warning", "reason": "ProvisioningFailed", "note": "no space", "series": {"count": 3, "lastObservedTime": "2026-11-01T10:00:01.000000Z"}, "regarding": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"}}`,
		`{"type": "Warning", "reason": "BackOff", "message": "of another pod", "involvedObject": {"kind": "Pod", "namespace": "default", "name": "db"}}`,
		`{"type": "Normal", "reason": "Pulled", "message": "no Warning", "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}}`,
	}
	pod := func(reason, message string) string {
		return `  - {apiVersion: v1, kind: Pod, metadata: {name: web, resourceVersion: "1", creationTimestamp: "2026-11-01T09:00:00Z"}, spec: {nodeName: n1, priority: 0, containers: [{name: c, image: c}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]},
     status: {phase: Pending, conditions: [{type: Ready, status: "False"}], containerStatuses: [{name: c, image: c, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ` + reason + message + `}}}]}}
`
	}
	all := []string{`FailedMount (12 times): configmap "app" not found`, "ProvisioningFailed (3 times): no space"}
	for _, test := range []struct {
		name, reason, message string
		events                []string
		halted                string
		warnings              []string
	}{
		{"being created, with warnings", "ContainerCreating", "", events, "container c waits (ContainerCreating)", all},
		{"being created, without", "ContainerCreating", "", nil, "", nil},
		{"an image", "ImagePullBackOff", ", message: Back-off pulling image", events, "container c waits (ImagePullBackOff): Back-off pulling image", all},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := loaded(t, "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n"+node("n1", "a", "")+claim+pod(test.reason, test.message))
			s.Ignored = list.Map(test.events, func(event string) manifest.Ignored {
				return manifest.Ignored{Ref: cluster.Ref{Kind: "Event"}, JSON: []byte(event)}
			})
			_, pods, _, err := Pods(t.Context(), s, Question{Ref: cluster.Ref{Kind: "Pod", Namespace: "default", Name: "web"}}, Options{})
			if err != nil || len(pods) != 1 {
				t.Fatal(err, len(pods))
			}
			if diff := cmp.Diff([]any{test.halted, test.warnings}, []any{pods[0].Halted, pods[0].Warnings}); diff != "" {
				t.Errorf("halted and warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// The names by which users ask that have no pods themselves.
func TestFollowTarget(t *testing.T) {
	s := loaded(t, "apiVersion: faultline/v1alpha1\nkind: Scenario\ncluster:\n- objects:\n"+node("n1", "a", "")+`  - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: good}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 2}}
  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: bad}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: site}, maxReplicas: 2}}
workloads:
- objects:
`+workload("Deployment", 1, "cpu: 1", ", volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"))
	for asked, want := range map[cluster.Ref]string{
		{Kind: "HorizontalPodAutoscaler", Name: "good"}:                      "deployment/web",
		{Kind: "HorizontalPodAutoscaler", Namespace: "default", Name: "bad"}: "horizontalpodautoscaler/bad scales deployment/site, which does not exist; there is deployment/web",
		{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"}:  "deployment/web",
		{Kind: "Deployment", Name: "web"}:                                    "deployment/web",
		{Kind: "PersistentVolumeClaim", Namespace: "other", Name: "data"}:    "persistentvolumeclaim/data",
	} {
		of := Question{Ref: asked}
		got := ""
		if err := of.FollowTarget(s); err != nil {
			got = err.Error()
		} else {
			got = of.Ref.String()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", asked, diff)
		}
	}
}
