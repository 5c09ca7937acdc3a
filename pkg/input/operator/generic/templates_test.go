package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// summary describes a workload in one line: kind, name, replicas, CPU of each container, the labels that select its pods, and its pod group.
func summary(obj manifest.Object) string {
	replicas, labels := int32(-1), ""
	switch o := obj.Object.(type) {
	case *appsv1.Deployment:
		replicas, labels = *o.Spec.Replicas, fmt.Sprint(o.Spec.Selector.MatchLabels)
	case *appsv1.StatefulSet:
		replicas, labels = *o.Spec.Replicas, fmt.Sprint(o.Spec.Selector.MatchLabels)
	case *batchv1.Job:
		replicas = *o.Spec.Parallelism
	case *schedulingv1beta1.PodGroup:
		return fmt.Sprintf("PodGroup %s %d", o.Name, o.Spec.SchedulingPolicy.Gang.MinCount)
	}
	line := fmt.Sprintf("%s %s %d", cluster.KindOf(obj.Object), obj.GetName(), replicas)
	spec, _ := cluster.PodSpec(obj.Object)
	for _, c := range spec.Containers {
		line += fmt.Sprintf(" %s=%s", c.Name, c.Resources.Requests.Cpu())
	}
	if obj.PodGroup != "" {
		line += " in " + obj.PodGroup
	}
	return strings.TrimSpace(line + " " + strings.ReplaceAll(labels, "map[]", ""))
}

func TestTemplates(t *testing.T) {
	pod := func(name, cpu string) string {
		return "{spec: {containers: [{name: " + name + ", image: i, resources: {requests: {cpu: " + cpu + "}}}]}}"
	}
	resource := func(apiVersion, kind, rest string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a}\n" + rest
	}
	ray := "headGroupSpec: {rayStartParams: {}, template: " + pod("head", "2") + "}, workerGroupSpecs: [{groupName: small, replicas: 2, template: " + pod("worker", "1") + "}, {groupName: tpu, minReplicas: 1, numOfHosts: 4, template: " + pod("worker", "8") + "}]"
	pods := func(word string) string {
		return "{" + word + ": {template: " + pod("m", "1") + "}, Worker: {replicas: 3, restartPolicy: OnFailure, template: " + pod("w", "2") + "}}"
	}
	kruise := "spec: {replicas: 2, selector: {matchLabels: {x: z}}, template: {metadata: {labels: {x: z}}, spec: {containers: [{name: c, image: i}]}}}"
	rayed := []string{"Deployment a-head 1 head=2 map[ray.io/cluster:a ray.io/group:headgroup]",
		"Deployment a-small-worker 2 worker=1 map[ray.io/cluster:a ray.io/group:small]", "Deployment a-tpu-worker 4 worker=8 map[ray.io/cluster:a ray.io/group:tpu]"}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"RayCluster", resource("ray.io/v1", "RayCluster", "spec: {"+ray+"}"), rayed},
		{"RayCluster with its autoscaler, as a gang", strings.Replace(resource("ray.io/v1", "RayCluster", "spec: {enableInTreeAutoscaling: true, headGroupSpec: {template: "+pod("head", "2")+"}, workerGroupSpecs: [{groupName: w, replicas: 3, template: "+pod("worker", "1")+"}]}"),
			"{name: a}", "{name: a, labels: {ray.io/gang-scheduling-enabled: 'true'}}", 1),
			[]string{"Deployment a-head 1 autoscaler=500m head=2 in ray-a-pg map[ray.io/cluster:a ray.io/group:headgroup]",
				"Deployment a-w-worker 3 worker=1 in ray-a-pg map[ray.io/cluster:a ray.io/group:w]", "PodGroup ray-a-pg 4"}},
		{"RayService", resource("ray.io/v1", "RayService", "spec: {serveConfigV2: '', rayClusterConfig: {"+ray+"}}"), rayed},
		{"RayJob", resource("ray.io/v1", "RayJob", "spec: {entrypoint: x, rayClusterSpec: {"+ray+"}}"), append(rayed[:3:3], "Job a 1 ray-job-submitter=500m")},
		{"RayJob that is submitted by HTTP", resource("ray.io/v1", "RayJob", "spec: {submissionMode: HTTPMode, rayClusterSpec: {"+ray+"}}"), append(rayed[:3:3], "Job a 0 ray-job-submitter=500m")},
		{"RayJob with a submitter of its own", resource("ray.io/v1", "RayJob", "spec: {submitterPodTemplate: "+pod("s", "3")+", rayClusterSpec: {"+ray+"}}"), append(rayed[:3:3], "Job a 1 s=3")},
		{"JobSet", resource("jobset.x-k8s.io/v1alpha2", "JobSet", "spec: {replicatedJobs: [{name: leader, template: {spec: {template: "+pod("l", "1")+"}}}, {name: workers, replicas: 2, template: {spec: {parallelism: 4, completions: 4, template: "+pod("w", "2")+"}}}]}"),
			[]string{"Job a-leader-0 1 l=1", "Job a-workers-0 4 w=2", "Job a-workers-1 4 w=2"}},
		{"LeaderWorkerSet", resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "spec: {replicas: 2, leaderWorkerTemplate: {size: 4, leaderTemplate: "+pod("l", "1")+", workerTemplate: "+pod("w", "2")+"}}"),
			[]string{"StatefulSet a 2 l=1 map[leaderworkerset.sigs.k8s.io/name:a leaderworkerset.sigs.k8s.io/worker-index:0]",
				"StatefulSet a-0 3 w=2 map[leaderworkerset.sigs.k8s.io/group-index:0 leaderworkerset.sigs.k8s.io/name:a]", "StatefulSet a-1 3 w=2 map[leaderworkerset.sigs.k8s.io/group-index:1 leaderworkerset.sigs.k8s.io/name:a]"}},
		{"LeaderWorkerSet of one template", resource("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "spec: {leaderWorkerTemplate: {workerTemplate: "+pod("w", "2")+"}}"),
			[]string{"StatefulSet a 1 w=2 map[leaderworkerset.sigs.k8s.io/name:a leaderworkerset.sigs.k8s.io/worker-index:0]", "StatefulSet a-0 0 w=2 map[leaderworkerset.sigs.k8s.io/group-index:0 leaderworkerset.sigs.k8s.io/name:a]"}},
		{"CloneSet", resource("apps.kruise.io/v1alpha1", "CloneSet", kruise), []string{"Deployment a 2 c=0 map[x:z]"}},
		{"Advanced StatefulSet", resource("apps.kruise.io/v1beta1", "StatefulSet", strings.Replace(kruise, "replicas", "serviceName: a, replicas", 1)), []string{"StatefulSet a 2 c=0 map[x:z]"}},
		{"Advanced DaemonSet", resource("apps.kruise.io/v1alpha1", "DaemonSet", strings.Replace(kruise, "replicas: 2, ", "", 1)), []string{"DaemonSet a -1 c=0"}},
		{"PyTorchJob", resource("kubeflow.org/v1", "PyTorchJob", "spec: {pytorchReplicaSpecs: "+pods("Master")+"}"), []string{"Job a-master 1 m=1", "Job a-worker 3 w=2"}},
		{"TFJob as a gang", resource("kubeflow.org/v1", "TFJob", "spec: {runPolicy: {schedulingPolicy: {minAvailable: 4}}, tfReplicaSpecs: "+pods("Chief")+"}"), []string{"Job a-chief 1 m=1 in a", "Job a-worker 3 w=2 in a", "PodGroup a 4"}},
		{"XGBoostJob", resource("kubeflow.org/v1", "XGBoostJob", "spec: {xgbReplicaSpecs: "+pods("Master")+"}"), []string{"Job a-master 1 m=1", "Job a-worker 3 w=2"}},
		{"PaddleJob", resource("kubeflow.org/v1", "PaddleJob", "spec: {paddleReplicaSpecs: "+pods("Master")+"}"), []string{"Job a-master 1 m=1", "Job a-worker 3 w=2"}},
		{"JAXJob", resource("kubeflow.org/v1", "JAXJob", "spec: {jaxReplicaSpecs: {Worker: {replicas: 2, template: "+pod("w", "2")+"}}}"), []string{"Job a-worker 2 w=2"}},
		{"MPIJob", resource("kubeflow.org/v2beta1", "MPIJob", "spec: {slotsPerWorker: 1, mpiReplicaSpecs: "+pods("Launcher")+"}"), []string{"Job a-launcher 1 m=1", "Job a-worker 3 w=2"}},
		{"MPIJob of v1", resource("kubeflow.org/v1", "MPIJob", "spec: {mpiReplicaSpecs: "+pods("Launcher")+"}"), []string{"Job a-launcher 1 m=1", "Job a-worker 3 w=2"}},
		{"a PodGroup of scheduler-plugins", resource("scheduling.x-k8s.io/v1alpha1", "PodGroup", "spec: {minMember: 3, scheduleTimeoutSeconds: 10}"), []string{"PodGroup a 3"}},
		{"a PodGroup of an earlier release", resource("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "spec: {minMember: 2}"), []string{"PodGroup a 2"}},
		{"a PodGroup of Volcano", resource("scheduling.volcano.sh/v1beta1", "PodGroup", "spec: {minMember: 4, queue: default, minResources: {cpu: 8}}"), []string{"PodGroup a 4"}},
		{"a PodGroup that wants none", resource("scheduling.volcano.sh/v1beta1", "PodGroup", "spec: {minMember: 0}"), []string{"PodGroup a 1"}},
		{"Volcano's Job", resource("batch.volcano.sh/v1alpha1", "Job", "spec: {minAvailable: 3, schedulerName: volcano, tasks: [{name: ps, template: "+pod("p", "1")+"}, {name: worker, replicas: 4, template: "+pod("w", "2")+"}]}"),
			[]string{"Job a-ps 1 p=1 in a", "Job a-worker 4 w=2 in a", "PodGroup a 3"}},
		{"Volcano's Job, all of it", resource("batch.volcano.sh/v1alpha1", "Job", "spec: {tasks: [{name: ps, template: "+pod("p", "1")+"}, {name: worker, replicas: 4, template: "+pod("w", "2")+"}]}"),
			[]string{"Job a-ps 1 p=1 in a", "Job a-worker 4 w=2 in a", "PodGroup a 5"}},
		{"Elasticsearch", resource("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", "spec: {version: 8.0.0, nodeSets: [{name: hot, count: 3, podTemplate: "+pod("elasticsearch", "2")+"}, {name: ml, count: 1}]}"),
			[]string{"StatefulSet a-es-hot 3 elasticsearch=2 map[common.k8s.elastic.co/type:elasticsearch elasticsearch.k8s.elastic.co/cluster-name:a elasticsearch.k8s.elastic.co/statefulset-name:a-es-hot]",
				"StatefulSet a-es-ml 1 elasticsearch=0 map[common.k8s.elastic.co/type:elasticsearch elasticsearch.k8s.elastic.co/cluster-name:a elasticsearch.k8s.elastic.co/statefulset-name:a-es-ml]"}},
		{"Kibana", resource("kibana.k8s.elastic.co/v1", "Kibana", "spec: {count: 2}"), []string{"Deployment a-kb 2 kibana=0 map[common.k8s.elastic.co/type:kibana kibana.k8s.elastic.co/name:a]"}},
		{"DeploymentConfig", resource("apps.openshift.io/v1", "DeploymentConfig", "spec: {replicas: 2, selector: {x: z}, template: {metadata: {labels: {x: z}}, spec: {containers: [{name: c, image: i}]}}}"), []string{"Deployment a 2 c=0 map[x:z]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := manifest.Decode("r.yaml", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			result, err := operator.Expand(BuiltIn(), set.Ignored)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, obj := range result.Objects {
				got = append(got, summary(obj))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A shape with Each or Times has bounds, and its errors name the missing value.
func TestItemsProblems(t *testing.T) {
	for text, want := range map[string]string{
		"spec: {workerGroupSpecs: [{replicas: 1}]}":                     "item.groupName: missing; the operator derives names from it",
		"spec: {workerGroupSpecs: 3}":                                   "Invalid value: 3: a list or an object is wanted",
		"spec: {replicas: 1000000000, leaderWorkerTemplate: {size: 1}}": "spec.replicas, 1: Invalid value: 1e+09: a whole number from 0 to 10000 is wanted",
	} {
		head := "apiVersion: ray.io/v1\nkind: RayCluster\n"
		if strings.Contains(text, "leaderWorker") {
			head = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n"
		}
		set, err := manifest.Decode("r.yaml", []byte(head+"metadata: {name: a}\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operator.Expand(BuiltIn(), set.Ignored); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
