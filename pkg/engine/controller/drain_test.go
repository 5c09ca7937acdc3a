package controller

import (
	"strings"
	"testing"

	"github.com/faultline/faultline/pkg/engine/node"
)

func TestDrainable(t *testing.T) {
	w := newWorld(t, 2, spread)
	const scratch = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: scratch}
spec:
  selector: {matchLabels: {app: scratch}}
  template:
    metadata: {labels: {app: scratch}}
    spec: {nodeName: n1, containers: [{name: c, image: a}], volumes: [{name: v, emptyDir: {}}]}
`
	mirror := strings.Replace(pod(", nodeName: n1"), "name: p,", "name: static, annotations: {kubernetes.io/config.mirror: x},", 1)
	w.apply(pod(", nodeName: n1") + "---" + mirror + "---" + daemonSet("a", "}\n") + "---" + scratch)
	w.apply(deployment("web", 4, "a", ""))

	apps := func(options node.DrainOptions) (evict string, blocked []string) {
		pods, refused, err := node.PodsToEvict(w.state, "n1", options)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods {
			evict += pod.Labels["app"] + " "
		}
		for _, b := range refused {
			reason, _, _ := strings.Cut(b.Reason, ":")
			blocked = append(blocked, reason)
		}
		return evict, blocked
	}
	evict, blocked := apps(node.DrainOptions{})
	w.check("without flags: evicted", evict, "web ")
	w.check("without flags: blocked", blocked, []string{
		"cannot delete Pods that declare no controller (use --force to override)",
		"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)",
		"cannot delete Pods with local storage (use --delete-emptydir-data to override)",
	})
	evict, blocked = apps(node.DrainOptions{Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true})
	w.check("with all flags: evicted", evict, " scratch web ") // the bare pod has no app
	w.check("with all flags: blocked", blocked, []string(nil))

	if _, _, err := node.PodsToEvict(w.state, "n9", node.DrainOptions{}); err == nil {
		t.Error("a node that does not exist is drained")
	}
}

// A dump may have the pods of a DaemonSet and lack the DaemonSet, which kubectl would find in the cluster.
func TestDrainWithoutTheDaemonSet(t *testing.T) {
	w := newWorld(t, 1, placeOnTarget)
	w.apply(daemonSet("a", "}\n"))
	w.state = w.state.Without(w.state.DaemonSets[0])
	evict, blocked, err := node.PodsToEvict(w.state, "n1", node.DrainOptions{IgnoreDaemonSets: true})
	if err != nil || len(evict)+len(blocked) > 0 {
		t.Errorf("evicted %d, blocked %v, error %v", len(evict), blocked, err)
	}
	if _, blocked, _ = node.PodsToEvict(w.state, "n1", node.DrainOptions{}); len(blocked) != 1 || !strings.Contains(blocked[0].Reason, "cannot delete DaemonSet-managed Pods") {
		t.Errorf("without --ignore-daemonsets blocked %v", blocked)
	}
}
