package stackable

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
)

// expanded returns the expansion of all resources in a file.
func expanded(t *testing.T, opts Options, yaml string) (*operator.Result, error) {
	t.Helper()
	set, err := manifest.Decode("cr.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	result, err := operator.Expand([]operator.Operator{New(opts)}, set.Ignored)
	if err == nil && len(result.Ignored) > 0 {
		err = errors.New("a resource was not expanded")
	}
	return result, err
}

func mustExpand(t *testing.T, opts Options, yaml string) *operator.Result {
	t.Helper()
	result, err := expanded(t, opts, yaml)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// templates returns the pod templates of a result by the workloads' names.
func templates(result *operator.Result) map[string]v1.PodTemplateSpec {
	found := map[string]v1.PodTemplateSpec{}
	for _, obj := range result.Objects {
		switch o := obj.Object.(type) {
		case *appsv1.StatefulSet:
			found[o.Name] = o.Spec.Template
		case *appsv1.Deployment:
			found[o.Name] = o.Spec.Template
		case *appsv1.DaemonSet:
			found[o.Name] = o.Spec.Template
		case *batchv1.Job:
			found[o.Name] = o.Spec.Template
		case *v1.Pod:
			found[o.Name] = v1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
		}
	}
	return found
}

// describeTerms abbreviates an affinity: "+20 hbase/simple-hbase", "-70 hdfs/simple-hdfs/datanode". A term that is not preferred, not over hosts or
// not by these labels alone is spelled out.
func describeTerms(a *v1.Affinity) []string {
	if a == nil {
		return nil
	}
	found := []string{}
	list := func(sign string, preferred []v1.WeightedPodAffinityTerm) {
		for _, p := range preferred {
			by := p.PodAffinityTerm.LabelSelector.MatchLabels
			short := strings.TrimSuffix(by[nameLabel]+"/"+by[instanceLabel]+"/"+by[componentLabel], "/")
			if plain := operator.HostAffinityTerm(p.Weight, by); !cmp.Equal(plain, p) || len(by) != strings.Count(short, "/")+1 {
				short = p.String()
			}
			found = append(found, fmt.Sprintf("%s%d %s", sign, p.Weight, short))
		}
	}
	if a.PodAffinity != nil {
		list("+", a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		for _, r := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			found = append(found, "+required "+r.TopologyKey)
		}
	}
	if a.PodAntiAffinity != nil {
		list("-", a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		for _, r := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			found = append(found, "-required "+r.TopologyKey)
		}
	}
	return found
}

// minimalResources are the resources of the operators' own tests test_affinity_defaults, completed as the CustomResourceDefinitions require.
var minimalResources = map[string]string{
	"airflow": cr("airflow.stackable.tech/v1alpha2", "AirflowCluster", "airflow", "{credentialsSecretName: s}",
		"webservers", "schedulers", "celeryExecutors", "dagProcessors", "triggerers"),
	"druid": cr("druid.stackable.tech/v1alpha1", "DruidCluster", "simple-druid",
		"{deepStorage: {hdfs: {configMapName: simple-hdfs, directory: /druid}}, zookeeperConfigMapName: z}",
		"brokers", "coordinators", "historicals", "middleManagers", "routers"),
	"druid-s3": cr("druid.stackable.tech/v1alpha1", "DruidCluster", "simple-druid",
		"{deepStorage: {s3: {bucket: {reference: b}}}, zookeeperConfigMapName: z}",
		"brokers", "coordinators", "historicals", "middleManagers", "routers"),
	"hbase": cr("hbase.stackable.tech/v1alpha1", "HbaseCluster", "simple-hbase",
		"{hdfsConfigMapName: simple-hdfs, zookeeperConfigMapName: z}", "masters", "regionServers", "restServers"),
	"hbase-opa": cr("hbase.stackable.tech/v1alpha1", "HbaseCluster", "simple-hbase",
		"{hdfsConfigMapName: simple-hdfs, zookeeperConfigMapName: z, authorization: {opa: {configMapName: simple-opa, package: hbase}}}",
		"masters", "regionServers", "restServers"),
	"hdfs": cr("hdfs.stackable.tech/v1alpha1", "HdfsCluster", "simple-hdfs", "{zookeeperConfigMapName: z}",
		"nameNodes", "dataNodes", "journalNodes"),
	"hive": cr("hive.stackable.tech/v1alpha1", "HiveCluster", "simple-hive", "{metadataDatabase: {derby: {}}}", "metastore"),
	"kafka": cr("kafka.stackable.tech/v1alpha1", "KafkaCluster", "simple-kafka",
		"{zookeeperConfigMapName: z}", "brokers", "controllers"),
	"kafka-opa": cr("kafka.stackable.tech/v1alpha1", "KafkaCluster", "simple-kafka",
		"{zookeeperConfigMapName: z, authorization: {opa: {configMapName: simple-opa, package: kafka}}}", "brokers", "controllers"),
	"nifi": cr("nifi.stackable.tech/v1alpha1", "NifiCluster", "simple-nifi",
		"{authentication: [{authenticationClass: a}], sensitiveProperties: {keySecret: k}}", "nodes"),
	"opa":                  cr("opa.stackable.tech/v1alpha2", "OpaCluster", "simple-opa", "{}", "servers"),
	"spark-history":        cr("spark.stackable.tech/v1alpha1", "SparkHistoryServer", "spark-history", "", "nodes"),
	"superset":             cr("superset.stackable.tech/v1alpha1", "SupersetCluster", "simple-superset", "{credentialsSecret: s}", "nodes", "workers", "beat"),
	"trino":                cr("trino.stackable.tech/v1alpha1", "TrinoCluster", "simple-trino", "{catalogLabelSelector: {matchLabels: {trino: simple-trino}}}", "coordinators", "workers"),
	"zookeeper":            cr("zookeeper.stackable.tech/v1alpha1", "ZookeeperCluster", "simple-zk", "", "servers"),
	"spark-connect":        "apiVersion: spark.stackable.tech/v1alpha1\nkind: SparkConnectServer\nmetadata: {name: connect}\nspec: {image: {productVersion: 4.0.1}, server: {}, executor: {}}\n---\n",
	"spark-application":    "apiVersion: spark.stackable.tech/v1alpha1\nkind: SparkApplication\nmetadata: {name: pi}\nspec: {sparkImage: {productVersion: 4.0.1}, mode: cluster, mainApplicationFile: local:///pi.jar, executor: {replicas: 3}}\n---\n",
	"trino-catalogs-first": catalog("hive-1", "simple-trino", "hive", "simple-hive-1", "simple-hdfs") + catalog("tpch", "simple-trino", "tpch", "", "") + catalog("lake", "simple-trino", "iceberg", "simple-hive-2", "") + catalog("foreign", "other", "deltaLake", "other-hive", "other-hdfs"),
}

// cr returns a resource whose roles have a role group "default" with one replica.
func cr(apiVersion, kind, name, clusterConfig string, roles ...string) string {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec:\n  image: {productVersion: 1.2.3}\n", apiVersion, kind, name)
	if clusterConfig != "" {
		text += "  clusterConfig: " + clusterConfig + "\n"
	}
	for _, role := range roles {
		text += fmt.Sprintf("  %s: {roleGroups: {default: {replicas: 1}}}\n", role)
	}
	return text + "---\n"
}

func catalog(name, label, connector, metastore, hdfs string) string {
	inside := "{}"
	if metastore != "" {
		inside = fmt.Sprintf("{metastore: {configMap: %s}}", metastore)
	}
	if hdfs != "" {
		inside = fmt.Sprintf("{metastore: {configMap: %s}, hdfs: {configMap: %s}}", metastore, hdfs)
	}
	return fmt.Sprintf("apiVersion: trino.stackable.tech/v1alpha1\nkind: TrinoCatalog\nmetadata: {name: %s, labels: {trino: %s}}\nspec: {connector: {%s: %s}}\n---\n",
		name, label, connector, inside)
}

// These are the operators' own tests of their default affinities, in rust/operator-binary/src/crd/affinity.rs.
func TestDefaultAffinities(t *testing.T) {
	tests := map[string]map[string][]string{
		"airflow": {
			"airflow-webserver-default":    {"+20 airflow/airflow", "-70 airflow/airflow/webserver"},
			"airflow-scheduler-default":    {"+20 airflow/airflow", "-70 airflow/airflow/scheduler"},
			"airflow-worker-default":       {"+20 airflow/airflow", "-70 airflow/airflow/worker"},
			"airflow-dagprocessor-default": {"+20 airflow/airflow", "-70 airflow/airflow/dagprocessor"},
			"airflow-triggerer-default":    {"+20 airflow/airflow", "-70 airflow/airflow/triggerer"},
		},
		"druid": {
			"simple-druid-broker-default": {"+60 druid/simple-druid/historical", "+40 druid/simple-druid/middlemanager",
				"-70 druid/simple-druid/broker"},
			"simple-druid-coordinator-default":   {"-70 druid/simple-druid/coordinator"},
			"simple-druid-historical-default":    {"+50 hdfs/simple-hdfs/datanode", "-70 druid/simple-druid/historical"},
			"simple-druid-middlemanager-default": {"+50 hdfs/simple-hdfs/datanode", "-70 druid/simple-druid/middlemanager"},
			"simple-druid-router-default":        {"+40 druid/simple-druid/broker", "-70 druid/simple-druid/router"},
		},
		"druid-s3": {
			"simple-druid-broker-default": {"+60 druid/simple-druid/historical", "+40 druid/simple-druid/middlemanager",
				"-70 druid/simple-druid/broker"},
			"simple-druid-coordinator-default":   {"-70 druid/simple-druid/coordinator"},
			"simple-druid-historical-default":    {"-70 druid/simple-druid/historical"},
			"simple-druid-middlemanager-default": {"-70 druid/simple-druid/middlemanager"},
			"simple-druid-router-default":        {"+40 druid/simple-druid/broker", "-70 druid/simple-druid/router"},
		},
		"hbase": {
			"simple-hbase-master-default":       {"+20 hbase/simple-hbase", "-70 hbase/simple-hbase/master"},
			"simple-hbase-regionserver-default": {"+20 hbase/simple-hbase", "+50 hdfs/simple-hdfs/datanode", "-70 hbase/simple-hbase/regionserver"},
			"simple-hbase-restserver-default":   {"+20 hbase/simple-hbase", "-70 hbase/simple-hbase/restserver"},
		},
		"hbase-opa": {
			"simple-hbase-master-default": {"+20 hbase/simple-hbase", "+50 opa/simple-opa/server", "-70 hbase/simple-hbase/master"},
			"simple-hbase-regionserver-default": {"+20 hbase/simple-hbase", "+50 hdfs/simple-hdfs/datanode", "+50 opa/simple-opa/server",
				"-70 hbase/simple-hbase/regionserver"},
			"simple-hbase-restserver-default": {"+20 hbase/simple-hbase", "-70 hbase/simple-hbase/restserver"},
		},
		"hdfs": {
			"simple-hdfs-namenode-default":    {"+20 hdfs/simple-hdfs", "-70 hdfs/simple-hdfs/namenode"},
			"simple-hdfs-datanode-default":    {"+20 hdfs/simple-hdfs", "-70 hdfs/simple-hdfs/datanode"},
			"simple-hdfs-journalnode-default": {"+20 hdfs/simple-hdfs", "-70 hdfs/simple-hdfs/journalnode"},
		},
		"hive": {"simple-hive-metastore-default": {"-70 hive/simple-hive/metastore"}},
		"kafka": {
			"simple-kafka-broker-default":     {"-70 kafka/simple-kafka/broker"},
			"simple-kafka-controller-default": {"-70 kafka/simple-kafka/controller"},
		},
		"kafka-opa": {
			"simple-kafka-broker-default":     {"+50 opa/simple-opa/server", "-70 kafka/simple-kafka/broker"},
			"simple-kafka-controller-default": {"-70 kafka/simple-kafka/controller"},
		},
		"nifi":          {"simple-nifi-node-default": {"-70 nifi/simple-nifi/node"}},
		"opa":           {"simple-opa-server-default": {}},
		"spark-history": {"spark-history-node-default": {"-70 spark-k8s/spark-history/node"}},
		"spark-connect": {"connect-server": {}, "connect-executor": {"-70 spark-connect/connect/executor"}},
		"superset": {
			"simple-superset-node-default":   {"-70 superset/simple-superset/node"},
			"simple-superset-worker-default": {"-70 superset/simple-superset/worker"},
			"simple-superset-beat-default":   {"-70 superset/simple-superset/beat"},
		},
		"trino": {
			"simple-trino-coordinator-default": {"+20 trino/simple-trino", "-70 trino/simple-trino/coordinator"},
			"simple-trino-worker-default":      {"+20 trino/simple-trino", "-70 trino/simple-trino/worker"},
		},
		"zookeeper": {"simple-zk-server-default": {"-70 zookeeper/simple-zk/server"}},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for workload, template := range templates(mustExpand(t, Options{}, minimalResources[name])) {
				got[workload] = describeTerms(template.Spec.Affinity)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("affinities (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSparkApplicationHasNoAffinity(t *testing.T) {
	want := map[string][]string{"pi": {}, "pi-driver": {}, "pi-executor": {}}
	got := map[string][]string{}
	for workload, template := range templates(mustExpand(t, Options{}, minimalResources["spark-application"])) {
		got[workload] = describeTerms(template.Spec.Affinity)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// test_hms_and_hdfs_affinity of trino-operator; the catalogs of others do not count, wherever they are.
func TestTrinoCatalogs(t *testing.T) {
	for _, text := range []string{minimalResources["trino"] + minimalResources["trino-catalogs-first"], minimalResources["trino-catalogs-first"] + minimalResources["trino"]} {
		found := templates(mustExpand(t, Options{}, text))
		want := map[string][]string{
			"coordinator": {"+20 trino/simple-trino", "+50 hive/simple-hive-1/metastore", "+50 hive/simple-hive-2/metastore", "-70 trino/simple-trino/coordinator"},
			"worker":      {"+20 trino/simple-trino", "+50 hdfs/simple-hdfs/datanode", "-70 trino/simple-trino/worker"},
		}
		got := map[string][]string{}
		for role := range want {
			got[role] = describeTerms(found["simple-trino-"+role+"-default"].Spec.Affinity)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// ADR026 differs from the code in these affinities.
func TestADRAffinities(t *testing.T) {
	connection := "apiVersion: superset.stackable.tech/v1alpha1\nkind: DruidConnection\nmetadata: {name: c}\nspec: {superset: {name: simple-superset}, druid: {name: simple-druid}}\n---\n"
	found := templates(mustExpand(t, Options{ADR: true}, connection+minimalResources["druid"]+minimalResources["hbase-opa"]+minimalResources["hdfs"]+minimalResources["kafka-opa"]+
		minimalResources["superset"]+minimalResources["trino"]+minimalResources["spark-application"]+minimalResources["zookeeper"]))
	want := map[string][]string{
		"simple-druid-broker-default":        {"+20 druid/simple-druid", "+40 druid/simple-druid/router", "-70 druid/simple-druid/broker"},
		"simple-druid-historical-default":    {"+20 druid/simple-druid", "+50 hdfs/simple-hdfs/datanode", "-70 druid/simple-druid/historical"},
		"simple-druid-middlemanager-default": {"+20 druid/simple-druid", "-70 druid/simple-druid/middlemanager"},
		"simple-hbase-master-default":        {"+20 hbase/simple-hbase", "-70 hbase/simple-hbase/master"},
		"simple-hbase-restserver-default":    {"+20 hbase/simple-hbase"},
		"simple-hdfs-journalnode-default":    {"+20 hdfs/simple-hdfs"},
		"simple-hdfs-datanode-default":       {"+20 hdfs/simple-hdfs", "-70 hdfs/simple-hdfs/datanode"},
		"simple-kafka-broker-default":        {"-70 kafka/simple-kafka"},
		"simple-superset-node-default":       {"+50 druid/simple-druid/router", "-70 superset/simple-superset"},
		"simple-trino-worker-default":        {"-70 trino/simple-trino/worker"},
		"pi-executor":                        {"-70 spark-k8s/pi/executor"},
		"simple-zk-server-default":           {"-70 zookeeper/simple-zk/server"},
	}
	got := map[string][]string{}
	for workload := range want {
		got[workload] = describeTerms(found[workload].Spec.Affinity)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// zookeeper returns a ZookeeperCluster of one role group, with the given fields in the role and the role group.
func zookeeper(role, group string) string {
	return fmt.Sprintf(`apiVersion: zookeeper.stackable.tech/v1alpha1
kind: ZookeeperCluster
metadata: {name: zk, namespace: data}
spec:
  image: {productVersion: 3.9.4}
  servers: {%s, roleGroups: {default: {%s}}}
`, strings.TrimSuffix("roleConfig: {podDisruptionBudget: {enabled: true}}, "+role, ", "), group)
}

const (
	operatorDefault = "-70 zookeeper/zk/server"
	required        = "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}"
)

// These are the rows of merge_new_attributes and merge_overwrite_existing_attribute of the library, and the meaning of null and {}.
func TestMerge(t *testing.T) {
	type outcome struct {
		Terms        []string
		NodeSelector map[string]string
		NodeAffinity bool
		Origins      []operator.Origin
	}
	origin := func(pairs ...string) []operator.Origin {
		var origins []operator.Origin
		for pair := range slices.Chunk(pairs, 2) {
			origins = append(origins, operator.Origin{Field: pair[0], Level: pair[1]})
		}
		return origins
	}
	const anti, node, selector = "affinity.podAntiAffinity", "affinity.nodeAffinity", "nodeSelector"
	tests := map[string]struct {
		role, group string
		want        outcome
	}{
		"absent": {"", "", outcome{Terms: []string{operatorDefault}, Origins: origin(anti, "operator default")}},
		"empty affinity": {"config: {affinity: {}}", "config: {affinity: {}}",
			outcome{Terms: []string{operatorDefault}, Origins: origin(anti, "operator default")}},
		"null falls through": {"config: {affinity: {podAntiAffinity: null}}", "config: {affinity: {podAntiAffinity: null}}",
			outcome{Terms: []string{operatorDefault}, Origins: origin(anti, "operator default")}},
		"empty object opts out": {"config: {affinity: {podAntiAffinity: {}}}", "",
			outcome{Terms: []string{}, Origins: origin(anti, "role servers")}},
		"null at the role group falls through to the role": {"config: {affinity: {podAntiAffinity: {}}}", "config: {affinity: {podAntiAffinity: null}}",
			outcome{Terms: []string{}, Origins: origin(anti, "role servers")}},
		"role group before role": {"config: {affinity: {podAntiAffinity: {}}}", "config: {affinity: {podAntiAffinity: " + required + "}}",
			outcome{Terms: []string{"-required zone"}, Origins: origin(anti, "role group default")}},
		"a new attribute leaves the others": {"config: {affinity: {podAffinity: " + required + "}}", "",
			outcome{Terms: []string{"+required zone", operatorDefault}, Origins: origin("affinity.podAffinity", "role servers", anti, "operator default")}},
		"node selectors are not united": {"config: {affinity: {nodeSelector: {a: b}}}", "config: {affinity: {nodeSelector: {c: d}}}",
			outcome{Terms: []string{operatorDefault}, NodeSelector: map[string]string{"c": "d"},
				Origins: origin(anti, "operator default", selector, "role group default")}},
		"each field from its own level": {
			"config: {affinity: {nodeSelector: {a: b}}}",
			"config: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}}",
			outcome{Terms: []string{operatorDefault}, NodeSelector: map[string]string{"a": "b"}, NodeAffinity: true,
				Origins: origin(node, "role group default", anti, "operator default", selector, "role servers")}},
		"podOverrides add to what is there": {"podOverrides: {spec: {affinity: {podAntiAffinity: " + required + "}}}", "",
			outcome{Terms: []string{operatorDefault, "-required zone"}, Origins: origin(anti, "operator default, podOverrides of role servers")}},
		"podOverrides replace lists and node selectors as a whole, the role group last": {
			"config: {affinity: {nodeSelector: {a: b}}}, podOverrides: {spec: {nodeSelector: {c: d, e: f}, affinity: {podAntiAffinity: " +
				"{preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, " +
				"labelSelector: {matchLabels: {app.kubernetes.io/name: x, app.kubernetes.io/instance: z}}}}]}}}}",
			"podOverrides: {spec: {nodeSelector: {c: later}}}",
			outcome{Terms: []string{"-1 x/z"}, NodeSelector: map[string]string{"c": "later"},
				Origins: origin(anti, "operator default, podOverrides of role servers",
					selector, "role servers, podOverrides of role servers, podOverrides of role group default")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result := mustExpand(t, Options{}, zookeeper(test.role, test.group))
			at := slices.IndexFunc(result.Objects, func(o manifest.Object) bool { return o.Object.GetName() == "zk-server-default" })
			set := result.Objects[at].Object.(*appsv1.StatefulSet)
			spec := set.Spec.Template.Spec
			got := outcome{describeTerms(spec.Affinity), spec.NodeSelector, spec.Affinity.NodeAffinity != nil, operator.OriginsOf(set)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if set.Namespace != "data" || len(spec.Containers) != 1 || spec.Containers[0].Image == "" {
				t.Errorf("namespace %q, containers %v", set.Namespace, spec.Containers)
			}
		})
	}
}

func TestPodOverridesMergeContainersByName(t *testing.T) {
	result := mustExpand(t, Options{}, zookeeper("", "podOverrides: {metadata: {labels: {team: x}}, spec: {priorityClassName: high, tolerations: [{key: k, operator: Exists}], "+
		"containers: [{name: zookeeper, resources: {requests: {cpu: 2}, limits: {cpu: 3}}}, {name: extra, image: x}]}}"))
	spec := templates(result)["zk-server-default"].Spec
	got := []string{}
	for _, c := range spec.Containers {
		got = append(got, fmt.Sprintf("%s %s %s %s", c.Name, c.Image, c.Resources.Requests.Cpu(), c.Resources.Requests.Memory()))
	}
	want := []string{"zookeeper oci.stackable.tech/sdp/zookeeper:3.9.4 2 512Mi", "extra x 0 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if spec.PriorityClassName != "high" || len(spec.Tolerations) != 1 {
		t.Errorf("priority %q, tolerations %v", spec.PriorityClassName, spec.Tolerations)
	}
	if l := templates(result)["zk-server-default"].Labels; l["team"] != "x" || l[nameLabel] != "zookeeper" {
		t.Errorf("labels %v", l)
	}
	if len(result.Notes) > 0 {
		t.Errorf("notes %q", result.Notes)
	}
}

func TestLabels(t *testing.T) {
	zk := templates(mustExpand(t, Options{}, minimalResources["zookeeper"]))["simple-zk-server-default"].Labels
	want := map[string]string{
		nameLabel: "zookeeper", instanceLabel: "simple-zk", componentLabel: "server", roleGroupLabel: "default",
		"app.kubernetes.io/version": "1.2.3", "app.kubernetes.io/managed-by": "zookeeper.stackable.tech_zookeepercluster",
		"stackable.tech/vendor": "Stackable",
	}
	if diff := cmp.Diff(want, zk); diff != "" {
		t.Error(diff)
	}
	hdfs := templates(mustExpand(t, Options{}, minimalResources["hdfs"]))["simple-hdfs-namenode-default"].Labels
	want = map[string]string{nameLabel: "hdfs", instanceLabel: "simple-hdfs", componentLabel: "namenode", roleGroupLabel: "default", "role": "namenode", "group": "default"}
	if diff := cmp.Diff(want, hdfs); diff != "" {
		t.Error(diff)
	}
}

// spark-k8s-operator f415bad renamed the pods, but not the selector of the default anti-affinity.
func TestHistoryServerKeepsApartFromNobody(t *testing.T) {
	pods := templates(mustExpand(t, Options{}, minimalResources["spark-history"]))["spark-history-node-default"]
	selector := pods.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector
	if labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(pods.Labels)) {
		t.Errorf("%v selects the pods themselves, %v", selector.MatchLabels, pods.Labels)
	}
	if pods.Labels[nameLabel] != "spark-history" {
		t.Errorf("labels %v", pods.Labels)
	}
}

// Every other default anti-affinity selects the pods that it should keep apart.
func TestOtherAntiAffinitiesSelectTheirPods(t *testing.T) {
	for name, text := range minimalResources {
		if name == "spark-history" {
			continue
		}
		for workload, pods := range templates(mustExpand(t, Options{}, text)) {
			if anti := pods.Spec.Affinity.PodAntiAffinity; anti != nil {
				selector := anti.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector
				if !labels.SelectorFromSet(selector.MatchLabels).Matches(labels.Set(pods.Labels)) {
					t.Errorf("%s: %v does not select %v", workload, selector.MatchLabels, pods.Labels)
				}
			}
		}
	}
}

func TestBudgets(t *testing.T) {
	with := func(name, key, group string) string {
		return strings.Replace(minimalResources[name], key+": {roleGroups: {default: {replicas: 1}}}", key+": "+group, 1)
	}
	tests := []struct {
		name, text, budget string
		want               int // -1: none
	}{
		{"by default", minimalResources["zookeeper"], "simple-zk-server", 1},
		{"told", with("zookeeper", "servers", "{roleConfig: {podDisruptionBudget: {maxUnavailable: 2}}, roleGroups: {a: {}}}"), "simple-zk-server", 2},
		{"switched off", with("zookeeper", "servers", "{roleConfig: {podDisruptionBudget: {enabled: false}}, roleGroups: {a: {}}}"), "simple-zk-server", -1},
		{"one replica of data nodes", minimalResources["hdfs"], "simple-hdfs-datanode", 1},
		{"data nodes by replication", with("hdfs", "dataNodes", "{roleGroups: {a: {replicas: 10}, b: {replicas: 10}}}"), "simple-hdfs-datanode", 1},
		{"data nodes replicated five times", strings.Replace(with("hdfs", "dataNodes", "{roleGroups: {a: {replicas: 10}, b: {replicas: 10}}}"),
			"{zookeeperConfigMapName: z}", "{zookeeperConfigMapName: z, dfsReplication: 5}", 1), "simple-hdfs-datanode", 3},
		{"few data nodes replicated five times", strings.Replace(with("hdfs", "dataNodes", "{roleGroups: {a: {replicas: 4}}}"),
			"{zookeeperConfigMapName: z}", "{zookeeperConfigMapName: z, dfsReplication: 5}", 1), "simple-hdfs-datanode", 2},
		{"name nodes", with("hdfs", "nameNodes", "{roleGroups: {a: {replicas: 5}}}"), "simple-hdfs-namenode", 1},
		{"nine workers", with("trino", "workers", "{roleGroups: {a: {replicas: 9}}}"), "simple-trino-worker", 1},
		{"workers of two role groups", with("trino", "workers", "{roleGroups: {a: {replicas: 19}, b: {replicas: 11}}}"), "simple-trino-worker", 3},
		{"executors of Kubernetes", strings.Replace(minimalResources["airflow"], "---", "  kubernetesExecutors: {}", 1), "airflow-executor", -1},
		{"a DaemonSet", minimalResources["opa"], "simple-opa-server", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := -1
			for _, obj := range mustExpand(t, Options{}, test.text).Objects {
				if b, is := obj.Object.(*policyv1.PodDisruptionBudget); is && b.Name == test.budget {
					got = b.Spec.MaxUnavailable.IntValue()
				}
			}
			if got != test.want {
				t.Errorf("maxUnavailable %d, want %d", got, test.want)
			}
		})
	}
}

// workloads describes every workload: its kind, how its pods are created, their number and requests.
func workloads(result *operator.Result) []string {
	var found []string
	ask := func(spec v1.PodSpec) string {
		var each []string
		for _, c := range spec.Containers {
			r := c.Resources
			each = append(each, fmt.Sprintf("%s %s-%s %s", c.Name, r.Requests.Cpu(), r.Limits.Cpu(), r.Requests.Memory()))
		}
		return strings.Join(each, " + ")
	}
	for _, obj := range result.Objects {
		switch o := obj.Object.(type) {
		case *appsv1.StatefulSet:
			line := fmt.Sprintf("%s StatefulSet %s %d, %s", o.Name, o.Spec.PodManagementPolicy, *o.Spec.Replicas, ask(o.Spec.Template.Spec))
			for _, claim := range o.Spec.VolumeClaimTemplates {
				line += fmt.Sprintf(", %s %s", claim.Name, claim.Spec.Resources.Requests.Storage())
			}
			found = append(found, line)
		case *appsv1.Deployment:
			found = append(found, fmt.Sprintf("%s Deployment %d, %s", o.Name, *o.Spec.Replicas, ask(o.Spec.Template.Spec)))
		case *appsv1.DaemonSet:
			found = append(found, fmt.Sprintf("%s DaemonSet %v, %s", o.Name, o.Spec.Template.Spec.NodeSelector, ask(o.Spec.Template.Spec)))
		case *batchv1.Job:
			found = append(found, fmt.Sprintf("%s Job %d suspended %t, %s", o.Name, *o.Spec.Parallelism, *o.Spec.Suspend, ask(o.Spec.Template.Spec)))
		case *v1.Pod:
			found = append(found, fmt.Sprintf("%s Pod, %s", o.Name, ask(o.Spec)))
		}
	}
	return found
}

func TestWorkloads(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"hdfs", minimalResources["hdfs"], []string{
			"simple-hdfs-journalnode-default StatefulSet OrderedReady 1, journalnode 100m-400m 512Mi, data 1Gi",
			"simple-hdfs-namenode-default StatefulSet OrderedReady 1, namenode 250m-1 1Gi + zkfc 100m-400m 512Mi, data 2Gi",
			"simple-hdfs-datanode-default StatefulSet OrderedReady 1, datanode 100m-400m 512Mi, data 10Gi",
		}},
		{"superset", minimalResources["superset"], []string{
			"simple-superset-node-default StatefulSet OrderedReady 1, superset 300m-1200m 2Gi + metrics 100m-200m 64Mi",
			"simple-superset-worker-default Deployment 1, superset 1-2 4Gi + metrics 100m-200m 64Mi",
			"simple-superset-beat-default Deployment 1, superset 100m-500m 1Gi + metrics 100m-200m 64Mi",
		}},
		{"opa", minimalResources["opa"], []string{"simple-opa-server-default DaemonSet map[], opa 250m-500m 256Mi + bundle-builder 100m-200m 128Mi"}},
		{"spark", minimalResources["spark-application"], []string{
			"pi Job 1 suspended false, spark-submit 100m-400m 512Mi", "pi-driver Pod, spark 250m-1 1Gi", "pi-executor Job 3 suspended false, spark 250m-1 4Gi",
		}},
		{"resources are merged by field", zookeeper("config: {resources: {cpu: {min: 1, max: 2}, memory: {limit: 1Gi}, storage: {data: {capacity: 5Gi}}}}",
			"config: {resources: {cpu: {max: 4}}, logging: {enableVectorAgent: true}}, replicas: 0"),
			[]string{"zk-server-default StatefulSet Parallel 0, zookeeper 1-4 1Gi + vector 250m-500m 128Mi, data 5Gi"}},
		{"more disks", strings.Replace(minimalResources["hdfs"], "dataNodes: {",
			"dataNodes: {config: {resources: {storage: {data: {count: 2, capacity: 1Ti}, ssd: {capacity: 2Gi, hdfsStorageType: SSD}}}}, ", 1),
			[]string{
				"simple-hdfs-journalnode-default StatefulSet OrderedReady 1, journalnode 100m-400m 512Mi, data 1Gi",
				"simple-hdfs-namenode-default StatefulSet OrderedReady 1, namenode 250m-1 1Gi + zkfc 100m-400m 512Mi, data 2Gi",
				"simple-hdfs-datanode-default StatefulSet OrderedReady 1, datanode 100m-400m 512Mi, data 1Ti, data-1 1Ti, ssd 2Gi",
			}},
		{"stopped", stoppedResource("superset"), []string{
			"simple-superset-node-default StatefulSet OrderedReady 0, superset 300m-1200m 2Gi + metrics 100m-200m 64Mi",
			"simple-superset-worker-default Deployment 0, superset 1-2 4Gi + metrics 100m-200m 64Mi",
			"simple-superset-beat-default Deployment 0, superset 100m-500m 1Gi + metrics 100m-200m 64Mi",
		}},
		{"stopped DaemonSet", stoppedResource("opa"), []string{
			"simple-opa-server-default DaemonSet map[stackable.tech/do-not-schedule:cluster-stopped], opa 250m-500m 256Mi + bundle-builder 100m-200m 128Mi",
		}},
		{"stopped executors", stoppedResource("spark-connect"), []string{
			"connect-server StatefulSet Parallel 0, spark 250m-1 1Gi", "connect-executor Job 2 suspended true, spark 250m-1 1Gi",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, workloads(mustExpand(t, Options{}, test.text))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func stoppedResource(name string) string {
	return strings.NewReplacer("spec: {", "spec: {clusterOperation: {stopped: true}, ", "spec:\n", "spec:\n  clusterOperation: {stopped: true}\n").Replace(minimalResources[name])
}

func TestLongNamesAreCut(t *testing.T) {
	long := strings.Replace(minimalResources["zookeeper"], "simple-zk", strings.Repeat("z", 40), 1)
	for name := range templates(mustExpand(t, Options{}, long)) {
		if len(name) != 52 || !strings.HasPrefix(name, strings.Repeat("z", 40)+"-serv") {
			t.Errorf("%q", name)
		}
	}
}

func TestHeadlessService(t *testing.T) {
	result := mustExpand(t, Options{}, minimalResources["zookeeper"])
	var services, sets []string
	for _, obj := range result.Objects {
		switch o := obj.Object.(type) {
		case *v1.Service:
			services = append(services, o.Name)
			if o.Spec.ClusterIP != v1.ClusterIPNone || o.Spec.Selector[roleGroupLabel] != "default" {
				t.Errorf("%+v", o.Spec)
			}
		case *appsv1.StatefulSet:
			sets = append(sets, o.Spec.ServiceName)
		}
	}
	if diff := cmp.Diff([]string{"simple-zk-server-default-headless"}, services); diff != "" || !slices.Equal(services, sets) {
		t.Errorf("%v, %v", services, sets)
	}
}

func TestProblems(t *testing.T) {
	replace := func(name, old, new string) string { return strings.Replace(minimalResources[name], old, new, 1) }
	at := "cr.yaml: ZookeeperCluster default/simple-zk: "
	tests := []struct {
		name, text string
		opts       Options
		want       []string
	}{
		{"version", replace("zookeeper", "v1alpha1", "v1"), Options{},
			[]string{at + "apiVersion: unknown version v1 of ZookeeperCluster: use zookeeper.stackable.tech/v1alpha1"}},
		{"no role", cr("hdfs.stackable.tech/v1alpha1", "HdfsCluster", "h", "{zookeeperConfigMapName: z}", "dataNodes"), Options{}, []string{
			"cr.yaml: HdfsCluster default/h: spec.journalNodes: missing; give the role with its role groups",
			"cr.yaml: HdfsCluster default/h: spec.nameNodes: missing; give the role with its role groups",
		}},
		{"no role groups", replace("zookeeper", "{roleGroups: {default: {replicas: 1}}}", "{}"), Options{},
			[]string{at + "spec.servers.roleGroups: missing; give at least one role group"}},
		{"negative replicas", replace("zookeeper", "replicas: 1", "replicas: -1"), Options{},
			[]string{at + "spec.servers.roleGroups.default.replicas: -1 is less than 0; give 0 or more"}},
		{"no product version", replace("zookeeper", "{productVersion: 1.2.3}", "{}"), Options{},
			[]string{at + "spec.image.productVersion: missing; give the version of the product"}},
		{"no reference", replace("hbase", "hdfsConfigMapName: simple-hdfs, ", ""), Options{}, []string{
			"cr.yaml: HbaseCluster default/simple-hbase: spec.clusterConfig.hdfsConfigMapName: missing; the CustomResourceDefinition requires it",
		}},
		{"wrong type", replace("zookeeper", "replicas: 1", "replicas: many"), Options{},
			[]string{at + `spec.servers: roleGroups[default].replicas: Invalid value: "many"`}},
		{"no topologyKey", zookeeper("", "config: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}}]}}}"), Options{},
			[]string{
				"cr.yaml: ZookeeperCluster data/zk: StatefulSet data/zk-server-default: " +
					"spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value",
			}},
		{"ADR: both node selectors", zookeeper("", "nodeSelector: {a: b}, config: {affinity: {nodeSelector: {c: d}}}"), Options{ADR: true}, []string{
			"cr.yaml: ZookeeperCluster data/zk: spec.servers.roleGroups.default: got both the deprecated nodeSelector and affinity.nodeSelector",
		}},
		{"ADR: both, at two levels", zookeeper("config: {affinity: {nodeSelector: {c: d}}}", "nodeSelector: {a: b}"), Options{ADR: true}, []string{
			"cr.yaml: ZookeeperCluster data/zk: spec.servers.roleGroups.default: got both the deprecated nodeSelector and affinity.nodeSelector",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := expanded(t, test.opts, test.text)
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			for i, want := range test.want {
				if len(lines) <= i || !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d:\ngot  %s\nwant %s", i, strings.Join(lines, "\n     "), want)
				}
			}
		})
	}
}

func TestNotes(t *testing.T) {
	at := "ZookeeperCluster data/zk: "
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", minimalResources["zookeeper"], nil},
		{"what is documented", `apiVersion: zookeeper.stackable.tech/v1alpha1
kind: ZookeeperCluster
metadata: {name: zk, labels: {a: b}}
spec:
  image: {productVersion: 3.9.4, stackableVersion: 26.7.0, pullPolicy: Always, pullSecrets: [{name: s}]}
  clusterConfig: {tls: {quorumSecretClass: tls}, vectorAggregatorConfigMapName: v}
  clusterOperation: {stopped: false, reconciliationPaused: false}
  servers:
    roleConfig: {listenerClass: cluster-internal}
    config: {initLimit: 1, gracefulShutdownTimeout: 1m, logging: {containers: {}}, resources: {memory: {runtimeLimits: {}}}}
    configOverrides: {zoo.cfg: {a: b}}
    envOverrides: {A: b}
    cliOverrides: {A: b}
    jvmArgumentOverrides: {add: [x]}
    roleGroups: {default: }
status: {conditions: []}
`, nil},
		{"legacy node selectors", zookeeper("nodeSelector: {a: b}", "selector: {matchLabels: {a: b}}, config: {nodeSelector: {a: b}}"), []string{
			at + `spec.servers: unknown field "roleGroups.default.selector"; the API server would leave it out`,
			at + `spec.servers: unknown field "nodeSelector"; the API server would leave it out; give it under config.affinity`,
			at + `spec.servers.roleGroups.default: unknown field "config.nodeSelector"; the API server would leave it out; give it under config.affinity`,
		}},
		{"unknown role", zookeeper("", "") + "  brokers: {}\n", []string{
			at + `unknown field "spec.brokers"; the API server would leave it out; the roles are servers`,
		}},
		{"hdfs is small", minimalResources["hdfs"], []string{
			"HdfsCluster default/simple-hdfs: spec.journalNodes: replicas add up to 1, and the operator warns of fewer than 3",
			"HdfsCluster default/simple-hdfs: spec.nameNodes: replicas add up to 1, and the operator warns of fewer than 2",
		}},
		{"the other cluster is missing", minimalResources["hbase"], []string{
			"HbaseCluster default/simple-hbase: spec.regionServers: the affinity to datanodes of HdfsCluster simple-hdfs selects no pod unless a cluster of that very name is in the namespace; none is given",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, mustExpand(t, Options{}, test.text).Notes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// With ADR026 the deprecated field counts as part of the affinity.
func TestADRNodeSelector(t *testing.T) {
	got := templates(mustExpand(t, Options{ADR: true}, zookeeper("nodeSelector: {a: b}", "")))["zk-server-default"].Spec.NodeSelector
	if diff := cmp.Diff(map[string]string{"a": "b"}, got); diff != "" {
		t.Error(diff)
	}
}
