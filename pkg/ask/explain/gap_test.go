package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

// A workload lacks pods, and none is Pending.
func TestFindGaps(t *testing.T) {
	const daemons = `  - apiVersion: apps/v1
    kind: DaemonSet
    metadata: {name: web}
    spec:
      updateStrategy: {type: %s}
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]%s}}
`
	nodes := "cluster:\n- objects:\n" + node("n1", "a", "") + node("n2", "a", "taints: [{key: role, value: master, effect: NoSchedule}]") + "workloads:\n- objects:\n"
	const release = "steps:\n- {name: pause, patch: {target: deploy/web, patch: {spec: {paused: true}}}}\n- {name: release, rollout: {target: deploy/web, restart: true}}\n"
	for _, c := range []struct {
		name, kind, scenario string
		want                 []string
	}{
		{
			name: "a taint", kind: "DaemonSet", scenario: nodes + fmt.Sprintf(daemons, "RollingUpdate", ""),
			want: []string{"no pod on n2, whose taint role=master:NoSchedule it does not tolerate", "tolerate role=master:NoSchedule: replaces 1 pod of daemonset/web that runs"},
		},
		{name: "a node that is not selected", kind: "DaemonSet", scenario: nodes + fmt.Sprintf(daemons, "RollingUpdate", ", nodeSelector: {kubernetes.io/hostname: n1}")},
		{
			name: "a label that no node has", kind: "DaemonSet", scenario: strings.Replace(nodes, "labels: {", "labels: {gpu-node: 'yes', ", 1) + fmt.Sprintf(daemons, "RollingUpdate", ", nodeSelector: {gpu_node: 'yes'}"),
			want: []string{"no pod on any node: no node has gpu_node=yes", "ask for nodes with gpu-node=yes (now gpu_node=yes): ", "label node n1 with gpu_node=yes: "},
		},
		{
			name: "OnDelete", kind: "DaemonSet",
			scenario: nodes + fmt.Sprintf(daemons, "OnDelete", ", nodeSelector: {kubernetes.io/hostname: n1}") + "steps:\n- {name: release, rollout: {target: ds/web, restart: true}}\n",
			want: []string{"its rollout stands still, 0 of 1 pod updated: the 1 old pod stays until somebody deletes them, because the update strategy is OnDelete",
				"replace old pods one after the other: updateStrategy RollingUpdate (now OnDelete): replaces 1 pod of daemonset/web that runs"},
		},
		{
			name: "a paused rollout", kind: "Deployment", scenario: nodes + workload("Deployment", 2, "cpu: 1", "") + release,
			want: []string{"its rollout stands still, 0 of 2 pods updated: the Deployment is paused", "resume the rollout: paused false: replaces 2 pods of deployment/web that run"},
		},
		{
			name: "a node that does not answer", kind: "DaemonSet",
			scenario: nodes + strings.Replace(fmt.Sprintf(daemons, "RollingUpdate", ", tolerations: [{key: role, operator: Exists}]"), "type: RollingUpdate", "type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}", 1) +
				"steps:\n- {name: lost, fail: {names: [n2], mode: unreachable}}\n- {name: release, rollout: {target: ds/web, restart: true}}\n",
			want: []string{"its rollout stands still, 0 of 1 pod updated: pod web-7h46m is Terminating on node n2, which does not answer; the 2 old pods stay because maxUnavailable is 1",
				"maxUnavailable: 2 (now 1): replaces 1 pod of daemonset/web that runs", "delete node n2, once it is certain that it does not come back: replaces 1 pod of daemonset/web that runs"},
		},
		{
			name: "a partition", kind: "StatefulSet",
			scenario: nodes + strings.Replace(workload("StatefulSet", 2, "cpu: 1", ""), "replicas: 2", "replicas: 2\n      updateStrategy: {rollingUpdate: {partition: 2}}", 1) + "steps:\n- {name: release, rollout: {target: sts/web, restart: true}}\n",
			want:     []string{"2 pods of 2 stay old: updateStrategy has partition 2, and pods of a lower ordinal keep their revision", "partition: 0 (now 2): replaces 2 pods of statefulset/web that run"},
		},
		{
			name: "a pod that is not ready", kind: "StatefulSet", scenario: nodes + workload("StatefulSet", 2, "cpu: 1", "") + "steps:\n" +
				"- {name: fails, patch: {target: pod/web-0, patch: {status: {conditions: [{type: Ready, status: 'False'}]}}}}\n- {name: gone, delete: {targets: [pod/web-1]}}\n",
			want: []string{"its rollout stands still, 1 of 2 pods updated: pod web-0 is not Ready; web-1 is not created before it is Ready, because podManagementPolicy is OrderedReady",
				"let pod web-0 become Ready: its log and readiness probe say why it is not: "},
		},
		{ // https://github.com/kubernetes/kubernetes/issues/67250
			name: "an old pod that never becomes ready", kind: "StatefulSet", scenario: nodes + workload("StatefulSet", 2, "cpu: 1", "") + "steps:\n" +
				"- {name: fails, patch: {target: pod/web-1, patch: {status: {conditions: [{type: Ready, status: 'False'}]}}}}\n- {name: mended, rollout: {target: sts/web, restart: true}}\n",
			want: []string{"its rollout stands still, 0 of 2 pods updated: pod web-1 is not Ready; the 2 old pods stay until the pods after them are Ready",
				"delete pod web-1 of the earlier revision: the template is right already: replaces 2 pods of statefulset/web that run",
				"let pod web-1 become Ready: its log and readiness probe say why it is not: replaces 2 pods of statefulset/web that run"},
		},
		{
			name: "a suspended Job", kind: "Job",
			scenario: nodes + "  - {apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}\n",
			want:     []string{"no pod: it is suspended (spec.suspend is true)", "resume the Job: suspend false: "},
		},
		{name: "Pending pods say more", kind: "Deployment", scenario: nodes + workload("Deployment", 2, "cpu: 3", "") + release},
	} {
		t.Run(c.name, func(t *testing.T) {
			gaps, err := FindGaps(t.Context(), simulated(t, c.scenario), Question{Ref: cluster.Ref{Kind: c.kind, Namespace: "default", Name: "web"}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, gap := range gaps {
				got = append(got, gap.Says)
				for _, fix := range gap.Fixes {
					got = append(got, fmt.Sprintf("%s: %s", fix.Change, strings.Join(fix.Price, "; ")))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
