package keda

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ name, spec, want string }{
		{"the defaults", "spec: {scaleTargetRef: {name: web}, triggers: [{type: cron, metadata: {timezone: UTC}}]}", "keda-hpa-o 1 100 apps/v1 Deployment web"},
		{"KEDA alone scales to 0", "spec: {scaleTargetRef: {name: web}, minReplicaCount: 0, maxReplicaCount: 7}", "keda-hpa-o 1 7 apps/v1 Deployment web"},
		{"its own name and target", "spec: {scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}, minReplicaCount: 3, maxReplicaCount: 3, advanced: {horizontalPodAutoscalerConfig: {name: mine}}}",
			"mine 3 3 argoproj.io/v1alpha1 Rollout web"},
		{"paused", "spec: {scaleTargetRef: {name: web}}\nmetadata: {annotations: {autoscaling.keda.sh/paused: 'true'}, name: o}",
			"ScaledObject default/o: assumed: it is paused by the annotation autoscaling.keda.sh/paused, so that nothing scales its target"},
		{"not paused", "spec: {scaleTargetRef: {name: web}}\nmetadata: {annotations: {autoscaling.keda.sh/paused: 'false'}, name: o}", "keda-hpa-o 1 100 apps/v1 Deployment web"},
		{"no target", "spec: {}", "r.yaml: ScaledObject default/o: spec.scaleTargetRef.name: Required value"},
		{"more at least than at most", "spec: {scaleTargetRef: {name: web}, minReplicaCount: 5, maxReplicaCount: 4}",
			"r.yaml: ScaledObject default/o: spec.maxReplicaCount: Invalid value: 4: must be at least minReplicaCount, 5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n" + tt.spec + "\n"
			if tt.name != "paused" && tt.name != "not paused" {
				text += "metadata: {name: o}\n"
			}
			set, err := manifest.Decode("r.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, describe(operator.Expand([]operator.Operator{New()}, set.Ignored))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// describe returns the only HorizontalPodAutoscaler in a line, or the notes, or the error.
func describe(made *operator.Result, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case len(made.Objects) == 0:
		return fmt.Sprint(made.Notes[0])
	}
	hpa := made.Objects[0].Object.(*autoscalingv2.HorizontalPodAutoscaler)
	of := hpa.Spec.ScaleTargetRef
	return fmt.Sprint(hpa.Name, " ", *hpa.Spec.MinReplicas, " ", hpa.Spec.MaxReplicas, " ", of.APIVersion, " ", of.Kind, " ", of.Name)
}
