package lint_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/ask/lint"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/simulation"
)

// Objects of later steps count as much as objects that exist from the start: a policy and what it selects must exist together in some step.
func TestFederationOverSteps(t *testing.T) {
	files := fstest.MapFS{
		"web.yaml": {Data: []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: front}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}
`)},
		"policy.yaml": {Data: []byte(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: front}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {tier: front}}}]
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference: {staticWeightList: [{targetCluster: {labelSelector: {matchLabels: {size: large}}}, weight: 1}]}
`)},
		"override.yaml": {Data: []byte(`
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: front}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {a: b}}]}}]
`)},
	}
	const size = "- {name: size, patch: {target: cluster/m1, patch: {metadata: {labels: {size: large}}}}}\n"
	apply := func(file string) string { return "- {name: " + file + ", apply: {files: [" + file + ".yaml]}}\n" }
	const remove = "- {name: gone, delete: {targets: [deployment/web]}}\n"
	const relabel = "- {name: other, patch: {target: deployment/web, patch: {metadata: {labels: {tier: back}}}}}\n"
	const weight, nothing, unclaimed, override = "weight-of-no-cluster default/propagationpolicy/front", "policy-selects-nothing default/propagationpolicy/front",
		"workload-unclaimed default/deployment/web", "override-matches-nothing default/overridepolicy/front"
	for name, c := range map[string]struct {
		steps string
		want  []string
	}{
		"the workload, then its policy":    {size + apply("web") + apply("policy"), nil},
		"the policy, then a workload":      {size + apply("policy") + apply("web"), nil},
		"a label that goes":                {size + apply("policy") + apply("web") + relabel, nil},
		"a workload that goes":             {size + apply("policy") + apply("web") + remove, nil},
		"a policy that comes too late":     {size + apply("web") + remove + apply("policy"), []string{nothing, unclaimed}},
		"a label that goes before":         {size + apply("web") + relabel + apply("policy"), []string{nothing, unclaimed}},
		"an override, then its workload":   {size + apply("policy") + apply("override") + apply("web"), nil},
		"an override that comes too late":  {size + apply("policy") + apply("web") + remove + apply("override"), []string{override}},
		"the label of a cluster, too late": {apply("policy") + apply("web") + size, nil},
		"no label of a cluster":            {apply("policy") + apply("web"), []string{weight}},
	} {
		t.Run(name, func(t *testing.T) {
			all := fstest.MapFS{"scenario.yaml": {Data: []byte("apiVersion: faultline/v1alpha1\nkind: Scenario\nclusters:\n" +
				"- {name: m1, cluster: [{synthetic: {nodeGroups: [{count: 2}]}}]}\n- {name: m2, cluster: [{synthetic: {nodeGroups: [{count: 2}]}}]}\nsteps:\n" + c.steps)}}
			for file, data := range files {
				all[file] = data
			}
			s, err := loader.LoadFS(all, "scenario.yaml", loader.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := simulation.Run(t.Context(), s, simulation.Options{})
			if err != nil {
				t.Fatal(err)
			}
			found, err := lint.Run(t.Context(), result, lint.Options{Only: []string{"policy-selects-nothing", "workload-unclaimed", "override-matches-nothing", "weight-of-no-cluster"}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found.Findings {
				got = append(got, f.Check+" "+f.Namespace+"/"+f.Ref().String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
