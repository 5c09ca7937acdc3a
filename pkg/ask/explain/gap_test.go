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
	const crashing = `  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d, annotations: {deployment.kubernetes.io/revision: "2"}}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "c:2"}]}}}}
  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: r1, labels: {app: web, pod-template-hash: "1"}, annotations: {deployment.kubernetes.io/revision: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, spec: {replicas: 1, selector: {matchLabels: {app: web, pod-template-hash: "1"}}, template: {metadata: {labels: {app: web, pod-template-hash: "1"}}, spec: {containers: [{name: c, image: "c:1"}]}}}}
  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-2, uid: r2, labels: {app: web, pod-template-hash: "2"}, annotations: {deployment.kubernetes.io/revision: "2"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, spec: {replicas: 1, selector: {matchLabels: {app: web, pod-template-hash: "2"}}, template: {metadata: {labels: {app: web, pod-template-hash: "2"}}, spec: {containers: [{name: c, image: "c:2"}]}}}}
  - {apiVersion: v1, kind: Pod, metadata: {name: web-1-a, labels: {app: web, pod-template-hash: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r1, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, image: "c:1"}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
  - {apiVersion: v1, kind: Pod, metadata: {name: web-2-b, labels: {app: web, pod-template-hash: "2"}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-2, uid: r2, controller: true}]}, spec: {nodeName: n1, containers: [{name: c, image: "c:2"}]}, status: {phase: Running, conditions: [{type: Ready, status: "False"}]}}
`
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
			want: []string{"its rollout stands still, 0 of 1 pod updated: pod web-7h46m is Terminating on node n2, which does not answer; the 1 old pod stays because maxUnavailable is 1",
				"maxUnavailable: 2 (now 1): replaces 1 pod of daemonset/web that runs", "delete node n2, once it is certain that it does not come back: replaces 1 pod of daemonset/web that runs"},
		},
		{
			name: "two nodes that do not answer", kind: "DaemonSet",
			scenario: nodes + node("n3", "a", "") + strings.Replace(fmt.Sprintf(daemons, "RollingUpdate", ", tolerations: [{key: role, operator: Exists}]"), "type: RollingUpdate", "type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}", 1) +
				"steps:\n- {name: lost, fail: {names: [n2, n3], mode: unreachable}}\n- {name: release, rollout: {target: ds/web, restart: true}}\n",
			want: []string{"its rollout stands still, 0 of 1 pod updated: pod web-7h46m is Terminating on node n2, which does not answer, as is one more; the 1 old pod stays because maxUnavailable is 1",
				"maxUnavailable: 3 (now 1): replaces 1 pod of daemonset/web that runs", "delete nodes n2 and n3, once it is certain that they do not come back: replaces 1 pod of daemonset/web that runs"},
		},
		{
			name: "Recreate behind a pod that does not end", kind: "Deployment",
			scenario: nodes + strings.Replace(workload("Deployment", 1, "cpu: 1", ", tolerations: [{key: role, operator: Exists}], nodeSelector: {kubernetes.io/hostname: n2}"), "replicas: 1", "replicas: 1\n      strategy: {type: Recreate}", 1) +
				"steps:\n- {name: lost, fail: {names: [n2], mode: unreachable}}\n- {name: release, patch: {target: deploy/web, patch: {spec: {template: {spec: {nodeSelector: {kubernetes.io/hostname: n1}}}}}}}\n",
			want: []string{"its rollout stands still, 0 of 1 pod updated: 1 old pod must go before a new one is created; web-6b7fd6997d-c6qcs is Terminating on node n2, which does not answer",
				"taint node n2 with node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, once it is certain that the machine is off: ", "delete node n2, once it is certain that it does not come back: "},
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
			name: "new pods of a Deployment that crash", kind: "Deployment", scenario: nodes + crashing,
			want: []string{"its rollout stands still, 1 of 1 pod updated: pod web-2-b (new revision) is not Ready; the 1 old pod stays because maxUnavailable is 25% (0)",
				"roll back to revision 1: kubectl rollout undo: the new template is given up; replaces 1 pod of deployment/web that runs",
				"let pod web-2-b become Ready: its log and readiness probe say why it is not: replaces 1 pod of deployment/web that runs"},
		},
		{
			name: "a new pod of a StatefulSet that crashes", kind: "StatefulSet",
			scenario: nodes + strings.Replace(workload("StatefulSet", 2, "cpu: 1", ""), "replicas: 2", "replicas: 2\n      updateStrategy: {rollingUpdate: {partition: 1}}", 1) + "steps:\n" +
				"- {name: release, rollout: {target: sts/web, restart: true}}\n- {name: fails, patch: {target: pod/web-1, patch: {status: {conditions: [{type: Ready, status: 'False'}]}}}}\n" +
				"- {name: all, patch: {target: sts/web, patch: {spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}}}\n",
			want: []string{"its rollout stands still, 1 of 2 pods updated: pod web-1 (new revision) is not Ready; the 1 old pod stays until the pods after them are Ready",
				"roll back to revision 1: kubectl rollout undo, then delete pod web-1: the new template is given up; replaces 1 pod of statefulset/web that runs",
				"let pod web-1 become Ready: its log and readiness probe say why it is not: replaces 1 pod of statefulset/web that runs"},
		},
		{
			name: "an autoscaler at its maximum", kind: "Deployment", scenario: nodes + workload("Deployment", 2, "cpu: 1", "") + "  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, " +
				"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 2, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}, " +
				"status: {currentReplicas: 2, desiredReplicas: 2, currentMetrics: [{type: Resource, resource: {name: cpu, current: {averageUtilization: 95, averageValue: 950m}}}], " +
				"conditions: [{type: ScalingLimited, status: 'True', reason: TooManyReplicas}]}}\n",
			want: []string{"no more than 2 replicas: horizontalpodautoscaler/web wants more and is at its maximum (maxReplicas 2), cpu is at 95 % and 50 % is wanted",
				"maxReplicas: 4 (now 2) in horizontalpodautoscaler/web: up to 2 more pods", "maxReplicas: 3 (now 2) in horizontalpodautoscaler/web: up to 1 more pod"},
		},
		{
			name: "a suspended Job", kind: "Job",
			scenario: nodes + "  - {apiVersion: batch/v1, kind: Job, metadata: {name: web}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}\n",
			want:     []string{"no pod: it is suspended (spec.suspend is true)", "resume the Job: suspend false: "},
		},
		{
			name: "a Job that has failed", kind: "Job",
			scenario: nodes + `  - {apiVersion: batch/v1, kind: Job, metadata: {name: web, uid: j, resourceVersion: "1"}, spec: {parallelism: 1, completions: 1, backoffLimit: 3, suspend: false, completionMode: NonIndexed, selector: {matchLabels: {batch.kubernetes.io/controller-uid: j}},
     template: {metadata: {labels: {batch.kubernetes.io/controller-uid: j, job-name: web}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}, status: {failed: 4, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: Job has reached the specified backoff limit}]}}
`,
			want: []string{"no more pods: it has failed: Job has reached the specified backoff limit (BackoffLimitExceeded), after 4 failed pods; the log of its pods says why",
				"delete the Job and create it again, once what fails is mended: "},
		},
		{
			name: "a CronJob whose last Job does not start", kind: "CronJob",
			scenario: nodes + `  - {apiVersion: batch/v1, kind: CronJob, metadata: {name: web, uid: c}, spec: {schedule: "0 * * * *", concurrencyPolicy: Forbid, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}}}
  - {apiVersion: batch/v1, kind: Job, metadata: {name: web-1, uid: j, resourceVersion: "1", ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: web, uid: c, controller: true}]}, spec: {parallelism: 1, completions: 1, backoffLimit: 3, suspend: false, completionMode: NonIndexed, selector: {matchLabels: {batch.kubernetes.io/controller-uid: j}},
     template: {metadata: {labels: {batch.kubernetes.io/controller-uid: j, job-name: web-1}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}, status: {active: 1}}
  - {apiVersion: v1, kind: Pod, metadata: {name: web-1-x, uid: p, creationTimestamp: "2026-11-01T10:00:00Z", resourceVersion: "2", labels: {batch.kubernetes.io/controller-uid: j, job-name: web-1}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: web-1, uid: j, controller: true}]}, spec: {nodeName: n1, priority: 0, restartPolicy: Never, containers: [{name: c, image: c}]},
     status: {phase: Pending, conditions: [{type: Ready, status: 'False'}], containerStatuses: [{name: c, image: c, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff}}}]}}
`,
			want: []string{"no further run as long as job/web-1 has not ended, since concurrencyPolicy is Forbid: its pod web-1-x on n1 does not start (ImagePullBackOff)",
				"delete job/web-1, and start a run: its pod starts only if what keeps this one is mended; replaces 1 pod of cronjob/web that runs"},
		},
		{
			name: "pods that the cluster refuses, and nothing in the dump", kind: "Deployment",
			scenario: nodes + `  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d, resourceVersion: "1", annotations: {deployment.kubernetes.io/revision: "1"}}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c}]}}}}
  - {apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: r, resourceVersion: "2", labels: {app: web, pod-template-hash: "1"}, annotations: {deployment.kubernetes.io/revision: "1", deployment.kubernetes.io/desired-replicas: "1"}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, spec: {replicas: 1, selector: {matchLabels: {app: web, pod-template-hash: "1"}}, template: {metadata: {labels: {app: web, pod-template-hash: "1"}}, spec: {containers: [{name: c, image: c}]}}},
     status: {replicas: 0, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, lastTransitionTime: "2026-11-01T10:00:00Z", message: 'admission webhook "images.example.com" denied the request: image c is not signed.'}]}}
`,
			want: []string{`the cluster of the dump creates no pods for it, since 2026-11-01T10:00:00Z: admission webhook "images.example.com" denied the request: image c is not signed; nothing in the dump refuses them, so they are created here`},
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
