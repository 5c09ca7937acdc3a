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
  - {ask: "Which node?", nodes: {new: true}, why: "Both were free."}
  - {ask: "How many in each zone?", number: {topologyKey: topology.kubernetes.io/zone, selector: app=web}}
  - {ask: "Do all run?", holds: {pending: 0}}
  - {ask: "What is said?", message: [Insufficient cpu]}
- name: two
  scale: {target: deployment/web, replicas: 2}
  questions:
  - {ask: "Which node now?", nodes: {new: true}}
  - {ask: "Why not a?", notOn: {node: a-worker-1}, why: "The rule is **hard**."}
  - {ask: "Why not b?", notOn: {node: b-worker-1}}
- name: three
  scale: {target: deployment/web, replicas: 3}
  questions:
  - {ask: "What is said?", message: [Insufficient cpu, node(s) didn't match pod anti-affinity rules]}
  - {ask: "What is said of db?", message: [Insufficient cpu], selector: app=db}
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
			{Ask: "Which node?", Kind: "nodes", Answers: [][]string{{"a-worker-1"}}, Equal: [][]string{{"b-worker-1"}}, Said: "a-worker-1, by chance among equal nodes.",
				Why: "a-worker-1, by chance among equal nodes. Both were free."},
			{Ask: "How many in each zone?", Kind: "number", Fields: zones, Answers: [][]string{{"1", "0"}}, Equal: [][]string{{"0", "1"}}, Said: "a 1, b 0, by chance among equal nodes."},
			{Ask: "Do all run?", Kind: "holds", Answers: [][]string{{"yes"}}, Said: "Yes."},
			{Ask: "What is said?", Kind: "message", Fields: messages[:1], Answers: [][]string{{""}}, Said: "Nothing, since no pod is Pending."},
		}},
		// The pod is on b-worker-1, so nobody can answer why it is not there.
		{Step: "two", Questions: []playground.Question{
			{Ask: "Which node now?", Kind: "nodes", Answers: [][]string{{"b-worker-1"}}, Said: "b-worker-1."},
			{Ask: "Why not a?", Kind: "notOn", Fields: []string{"node(s) didn't match pod affinity rules", messages[1],
				"it passes every filter, and has fewer points", "node(s) didn't satisfy existing pods anti-affinity rules"}, Answers: [][]string{messages[1:]}, Said: "`" + messages[1] + "`.", Why: "`" + messages[1] + "`. The rule is **hard**."},
		}},
		{Step: "three", Questions: []playground.Question{
			{Ask: "What is said?", Kind: "message", Fields: messages, Answers: [][]string{messages[1:]}, Said: "`" + messages[1] + "`."},
			{Ask: "What is said of db?", Kind: "message", Fields: messages[:1], Answers: [][]string{{""}}, Said: "Nothing, since no pod is Pending."},
			{Ask: "Do all run?", Kind: "holds", Answers: [][]string{{"no"}}, Said: "No."},
		}},
		// A step without questions gets the questions of every step.
		{Step: "same", Questions: []playground.Question{{Ask: "How many pods are Pending?", Kind: "number", Answers: [][]string{{"1"}}, Said: "1 pod."}}},
	}}
	// The rule of web keeps the second pod from the first one's zone. Before the first pod, nothing tells the nodes apart. Nothing is scheduled
	// in the last step, in which the third pod waits as before.
	const free, apart = "Look at the nodes before the step. No plugin tells them apart.", "Look at where the pods run that the rules match."
	hints := map[string]string{"one": free, "two": apart, "three": apart, "same": apart}
	for i := range want.Steps {
		for j := range want.Steps[i].Questions {
			want.Steps[i].Questions[j].Hint = hints[want.Steps[i].Step]
		}
	}
	want.Steps[2].Questions[1].Hint = "Look at which pods this step schedules. Rules are read when a pod is scheduled, and a pod that runs stays." // of db
	for i := range want.Steps {
		for j := range want.Steps[i].Questions {
			if q := &want.Steps[i].Questions[j]; q.Why == "" {
				q.Why = q.Said
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
