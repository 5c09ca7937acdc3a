package stackable

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/input/operator"
)

// containerRequests returns the containers of a workload's pods, init containers first, with their requests.
func containerRequests(spec v1.PodSpec) []string {
	var found []string
	for _, c := range append(append([]v1.Container(nil), spec.InitContainers...), spec.Containers...) {
		found = append(found, fmt.Sprintf("%s %s %s", c.Name, c.Resources.Requests.Cpu(), c.Resources.Requests.Memory()))
	}
	return found
}

// The operators' own templates have these containers beside the product's, if they request resources: from the sources of each operator.
func TestContainersBeside(t *testing.T) {
	with := func(name, config string) string {
		return strings.Replace(minimalResources[name], "clusterConfig: {", "clusterConfig: {"+config, 1)
	}
	static := "apiVersion: authentication.stackable.tech/v1alpha1\nkind: AuthenticationClass\nmetadata: {name: users}\n" +
		"spec: {provider: {static: {userCredentialsSecret: {name: s}}}}\n---\n"
	tests := []struct {
		name, text, workload string
		want                 []string
	}{
		{"airflow", minimalResources["airflow"], "airflow-webserver-default", []string{"airflow 1 3Gi", "metrics 100m 64Mi"}},
		{"airflow with DAGs from git", with("airflow", "dagsGitSync: [{repo: a}, {repo: b}], "), "airflow-scheduler-default",
			[]string{"airflow 1 1536Mi", "git-sync-0 100m 64Mi", "git-sync-1 100m 64Mi", "metrics 100m 64Mi"}},
		{"druid", minimalResources["druid"], "simple-druid-router-default", []string{"prepare 100m 512Mi", "druid 300m 512Mi"}},
		{"kafka brokers", minimalResources["kafka"], "simple-kafka-broker-default", []string{"kafka 250m 2Gi", "kcat-prober 100m 128Mi"}},
		{"kafka controllers", minimalResources["kafka"], "simple-kafka-controller-default", []string{"kafka 250m 1Gi"}},
		{"nifi", minimalResources["nifi"], "simple-nifi-node-default", []string{"prepare 500m 4Gi", "nifi 500m 4Gi"}},
		{"opa", minimalResources["opa"], "simple-opa-server-default", []string{"opa 250m 256Mi", "bundle-builder 100m 128Mi"}},
		{"opa with users", with("opa", "userInfo: {backend: {keycloak: {}}}"), "simple-opa-server-default",
			[]string{"opa 250m 256Mi", "bundle-builder 100m 128Mi", "user-info-fetcher 100m 128Mi"}},
		{"superset", minimalResources["superset"], "simple-superset-beat-default", []string{"superset 100m 1Gi", "metrics 100m 64Mi"}},
		{"trino", minimalResources["trino"], "simple-trino-worker-default", []string{"prepare 500m 4Gi", "trino 1 4Gi"}},
		{"trino with a file of passwords", static + with("trino", "authentication: [{authenticationClass: users}], "), "simple-trino-coordinator-default",
			[]string{"prepare 500m 4Gi", "trino 500m 4Gi", "password-file-updater 100m 32Mi"}},
		{"its workers", static + with("trino", "authentication: [{authenticationClass: users}], "), "simple-trino-worker-default",
			[]string{"prepare 500m 4Gi", "trino 1 4Gi"}},
		{"trino with LDAP", strings.Replace(static, "static: {userCredentialsSecret: {name: s}}", "ldap: {hostname: h}", 1) +
			with("trino", "authentication: [{authenticationClass: users}], "), "simple-trino-coordinator-default",
			[]string{"prepare 500m 4Gi", "trino 500m 4Gi"}},
		{"zookeeper", minimalResources["zookeeper"], "simple-zk-server-default", []string{"prepare 200m 512Mi", "zookeeper 200m 512Mi"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := mustExpand(t, Options{}, test.text)
			if diff := cmp.Diff(test.want, containerRequests(templates(result)[test.workload].Spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The class that decides whether there is a password-file-updater is missing.
func TestAuthenticationClassIsMissing(t *testing.T) {
	result := mustExpand(t, Options{}, strings.Replace(minimalResources["trino"], "clusterConfig: {", "clusterConfig: {authentication: [{authenticationClass: users}], ", 1))
	want := "TrinoCluster default/simple-trino: spec.clusterConfig.authentication: there is no AuthenticationClass users among the resources; " +
		"with a static provider the coordinators would have a container password-file-updater (100m CPU, 32Mi), too"
	if diff := cmp.Diff([]string{want}, result.Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// rust/operator-binary/src/controller/build/resource/daemonset/mod.rs of opa-operator at d877bbf3.
func TestUpdateStrategyOfOPA(t *testing.T) {
	for _, obj := range mustExpand(t, Options{}, minimalResources["opa"]).Objects {
		if set, is := obj.Object.(*appsv1.DaemonSet); is {
			one, zero := intstr.FromInt32(1), intstr.FromInt32(0)
			want := &appsv1.RollingUpdateDaemonSet{MaxSurge: &one, MaxUnavailable: &zero}
			if diff := cmp.Diff(want, set.Spec.UpdateStrategy.RollingUpdate); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("there is no DaemonSet")
}

// These labels are specific to a product.
func TestLabelsOfProducts(t *testing.T) {
	for _, test := range []struct {
		name, workload string
		want           map[string]string
	}{
		{"hdfs", "simple-hdfs-namenode-default", map[string]string{"role": "namenode", "group": "default"}},
		{"hbase", "simple-hbase-master-default", map[string]string{"app.kubernetes.io/managed-by": "hbase.stackable.com_hbasecluster"}},
		{"spark-connect", "connect-server", map[string]string{roleGroupLabel: "default"}},
		{"spark-connect", "connect-executor", map[string]string{roleGroupLabel: "default"}},
	} {
		var got map[string]string
		if template, found := templates(mustExpand(t, Options{}, minimalResources[test.name]))[test.workload]; found {
			got = map[string]string{}
			for key := range test.want {
				got[key] = template.Labels[key]
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.workload, diff)
		}
	}
}

// These podOverrides come from the operators' own documentation and tests. They name parts of the pod that do not affect where it goes.
func TestPodOverridesOfTheOperatorsOwnParts(t *testing.T) {
	at := "ZookeeperCluster data/zk: "
	for _, test := range []struct {
		name, overrides string
		asked, notes    []string
	}{
		{"a container of the operator's", "{containers: [{name: kcat, resources: {requests: {cpu: 1}}}], initContainers: [{name: init, env: [{name: A, value: b}]}]}",
			[]string{"prepare 200m 512Mi", "init 0 0", "zookeeper 200m 512Mi", "kcat 1 0"}, []string{
				at + "assumed: container init, which podOverrides give no image, is one that the operator makes, and asks for what they say alone",
				at + "assumed: container kcat, which podOverrides give no image, is one that the operator makes, and asks for what they say alone",
			}},
		{"a volume of the operator's", "{containers: [{name: extra, image: x, volumeMounts: [{name: log, mountPath: /log}, {name: data, mountPath: /data}, {name: mine, mountPath: /mine}]}], volumes: [{name: mine, emptyDir: {}}]}",
			[]string{"prepare 200m 512Mi", "zookeeper 200m 512Mi", "extra 0 0"},
			[]string{at + "assumed: volume log, which podOverrides name, is one that the operator makes"}},
		{"a part of a volume", "{volumes: [{name: kerberos, ephemeral: {volumeClaimTemplate: {metadata: {annotations: {a: b}}}}}]}",
			[]string{"prepare 200m 512Mi", "zookeeper 200m 512Mi"},
			[]string{at + "assumed: volume kerberos, which podOverrides name, is one that the operator makes"}},
		{"a secret of the platform's", "{containers: [{name: zookeeper, volumeMounts: [{name: tls, mountPath: /tls}]}], volumes: [{name: tls, ephemeral: {volumeClaimTemplate: {spec: {" +
			"storageClassName: secrets.stackable.tech, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}}}}]}",
			[]string{"prepare 200m 512Mi", "zookeeper 200m 512Mi"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := mustExpand(t, Options{}, zookeeper("podOverrides: {spec: "+test.overrides+"}", ""))
			if diff := cmp.Diff(test.asked, containerRequests(templates(result)["zk-server-default"].Spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, result.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// A user's own claim decides where the pod goes, and stays.
func TestPodOverridesKeepClaims(t *testing.T) {
	result := mustExpand(t, Options{}, zookeeper("podOverrides: {spec: {volumes: [{name: mine, persistentVolumeClaim: {claimName: c}}]}}", ""))
	volumes := templates(result)["zk-server-default"].Spec.Volumes
	if len(volumes) != 1 || volumes[0].PersistentVolumeClaim == nil {
		t.Errorf("%v", volumes)
	}
}

// docs/modules/spark-k8s/examples/example-sparkapp-image.yaml: the image with the job is a string beside that of Spark.
func TestImageOfSparkApplication(t *testing.T) {
	result := mustExpand(t, Options{}, strings.Replace(minimalResources["spark-application"], "spec: {", "spec: {image: 'oci.stackable.tech/x:1', ", 1))
	if diff := cmp.Diff([]string{"spark 250m 1Gi"}, containerRequests(templates(result)["pi-driver"].Spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := templates(result)["pi-driver"].Spec.Containers[0].Image; got != "oci.stackable.tech/sdp/spark-k8s:4.0.1" {
		t.Error(got)
	}
	if _, err := expanded(t, Options{}, strings.Replace(minimalResources["spark-application"], "sparkImage", "image", 1)); err == nil ||
		!strings.Contains(err.Error(), "spec.sparkImage.productVersion: missing") {
		t.Error(err)
	}
}

// objectOverrides are merged in the last step into the objects that the operator creates: deep_merger of the library at 7b9f9ac.
func TestObjectOverrides(t *testing.T) {
	const overrides = "  objectOverrides:\n" +
		"  - {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: simple-zk-server-default, namespace: default, labels: {team: x}}, spec: {template: {spec: {priorityClassName: high}}}}\n" +
		"  - {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: other}, spec: {replicas: 5}}\n" +
		"  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n---\n"
	result := mustExpand(t, Options{}, strings.TrimSuffix(minimalResources["zookeeper"], "---\n")+overrides)
	for i, obj := range result.Objects {
		set, is := obj.Object.(*appsv1.StatefulSet)
		if !is {
			continue
		}
		if set.Labels["team"] != "x" || set.Labels[nameLabel] != "zookeeper" || set.Spec.Template.Spec.PriorityClassName != "high" || *set.Spec.Replicas != 1 {
			t.Errorf("%v", set)
		}
		want := []operator.Origin{{Field: "affinity.podAntiAffinity", Level: "operator default"}, {Field: "priorityClassName", Level: "objectOverrides"}}
		if diff := cmp.Diff(want, result.Made[i].Origins); diff != "" {
			t.Errorf("origins (-want +got):\n%s", diff)
		}
	}
	want := []string{"ZookeeperCluster default/simple-zk: spec.objectOverrides[1]: the operator makes no StatefulSet /other, so that it has no effect"}
	if diff := cmp.Diff(want, result.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	_, err := expanded(t, Options{}, strings.TrimSuffix(minimalResources["zookeeper"], "---\n")+"  objectOverrides: [{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: simple-zk-server-default, namespace: default}, spec: {replicas: many}}]\n")
	if err == nil || !strings.HasPrefix(err.Error(), "cr.yaml: ZookeeperCluster default/simple-zk: spec.objectOverrides[0]: ") {
		t.Error(err)
	}
}

// ADR026 keeps the deprecated field at the top level, and makes the operator stop if affinity.nodeSelector is given, too.
func TestADRNodeSelectorOfTheSpec(t *testing.T) {
	spec := func(selector, servers string) string {
		return strings.Replace(zookeeper(servers, ""), "spec:\n", "spec:\n  nodeSelector: "+selector+"\n", 1)
	}
	got := templates(mustExpand(t, Options{ADR: true}, spec("{a: b}", "")))["zk-server-default"].Spec.NodeSelector
	if diff := cmp.Diff(map[string]string{"a": "b"}, got); diff != "" {
		t.Error(diff)
	}
	_, err := expanded(t, Options{ADR: true}, spec("{a: b}", "config: {affinity: {nodeSelector: {c: d}}}"))
	want := "cr.yaml: ZookeeperCluster data/zk: spec.servers.roleGroups.default: got both the deprecated nodeSelector and affinity.nodeSelector, " +
		"which ADR026 forbids; keep affinity.nodeSelector"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	notes := mustExpand(t, Options{}, spec("{a: b}", "")).Notes
	want = `ZookeeperCluster data/zk: unknown field "spec.nodeSelector"; the API server would leave it out; give it under config.affinity of a role`
	if diff := cmp.Diff([]string{want}, notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
