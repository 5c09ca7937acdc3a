package playground_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/playground"
)

// There are two equal nodes in different zones, and the pods of web must be in different zones. Step one finds the nodes equal, so it has
// two right answers. The next step has one, since it begins with the state of the run.
const tiedScenario = `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{name: a}, {name: b}], nodeGroups: [{name: worker, count: 1}]}
steps:
- name: one
  apply:
    objects:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 1
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            affinity:
              podAntiAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                - {labelSelector: {matchLabels: {app: web}}, topologyKey: topology.kubernetes.io/zone}
            containers: [{name: web, image: web}]
  questions:
  - {ask: "Which node?", nodes: {new: true}}
  - {ask: "How many in each zone?", number: {topologyKey: topology.kubernetes.io/zone, selector: app=web}}
  - {ask: "Do all run?", holds: {pending: 0}}
  - {ask: "What is said?", message: [Insufficient cpu]}
- name: two
  scale: {target: deployment/web, replicas: 2}
  questions:
  - {ask: "Which node now?", nodes: {new: true}}
- name: three
  scale: {target: deployment/web, replicas: 3}
  questions:
  - {ask: "What is said?", message: [Insufficient cpu, node(s) didn't match pod anti-affinity rules]}
  - {ask: "Do all run?", holds: {pending: 0}}
- name: same
  expect: {pending: 1}
`

func TestQuiz(t *testing.T) {
	in := playground.Input{Main: "scenario.yaml", Files: map[string]string{"scenario.yaml": tiedScenario}}
	got := ask[playground.QuizResponse](t, playground.New("test"), "quiz", playground.QuizRequest{Input: in})
	zones := []string{"a", "b"}
	messages := []string{"Insufficient cpu", "node(s) didn't match pod anti-affinity rules"}
	want := playground.QuizResponse{Steps: []playground.QuizStep{
		{Step: "one", Questions: []playground.Question{
			{Ask: "Which node?", Kind: "nodes", Answers: [][]string{{"a-worker-1"}}, Equal: [][]string{{"b-worker-1"}}},
			{Ask: "How many in each zone?", Kind: "number", Fields: zones, Answers: [][]string{{"1", "0"}}, Equal: [][]string{{"0", "1"}}},
			{Ask: "Do all run?", Kind: "holds", Answers: [][]string{{"yes"}}},
			{Ask: "What is said?", Kind: "message", Fields: messages[:1], Answers: [][]string{{""}}},
		}},
		{Step: "two", Questions: []playground.Question{{Ask: "Which node now?", Kind: "nodes", Answers: [][]string{{"b-worker-1"}}}}},
		{Step: "three", Questions: []playground.Question{
			{Ask: "What is said?", Kind: "message", Fields: messages, Answers: [][]string{messages[1:]}},
			{Ask: "Do all run?", Kind: "holds", Answers: [][]string{{"no"}}},
		}},
		// A step without questions gets the questions of every step.
		{Step: "same", Questions: []playground.Question{{Ask: "How many pods are Pending?", Kind: "number", Answers: [][]string{{"1"}}}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
