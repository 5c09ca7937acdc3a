package node

import "testing"

func TestCordon(t *testing.T) {
	state := nodesOf(map[string]int{"n": 2})
	next, err := Cordon(state, "n-1", "n-2")
	if err != nil {
		t.Fatal(err)
	}
	if taint := next.Node("n-1").Spec.Taints[0]; taint.ToString() != "node.kubernetes.io/unschedulable:NoSchedule" {
		t.Errorf("the taint is %s", taint.ToString())
	}
	if next, err = Uncordon(next, "n-1"); err != nil {
		t.Fatal(err)
	}
	if a, b := next.Node("n-1").Spec, next.Node("n-2").Spec; a.Unschedulable || len(a.Taints) > 0 || !b.Unschedulable || len(b.Taints) == 0 {
		t.Errorf("one uncordoned node of two: %+v and %+v", a, b)
	}
	if _, err := Cordon(state, "n-1", "n8", "n9"); err == nil || err.Error() != "no node is named n8, n9: use the names that kubectl get nodes shows" {
		t.Error(err)
	}
	if _, err := Fail(state, "melted", "n-1"); err == nil {
		t.Error("a failure mode that does not exist is accepted")
	}
}
