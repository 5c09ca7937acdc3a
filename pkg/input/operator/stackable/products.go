package stackable

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// product is a kind of resource, and the roles that its operator creates for it.
type product struct {
	group, kind    string
	versions       []string // of the CustomResourceDefinition, newest first
	app            string   // app.kubernetes.io/name of the pods
	affinityApp    string   // the name that default affinities select, if different
	operatorName   string   // first part of the label app.kubernetes.io/managed-by; empty means the group
	controller     string   // last part of that label; empty means the kind in lower case
	roleGroup      string   // role group label of the pods of flat roles; empty means none
	imageField     string   // field of the spec with the product's version; empty means image
	ownLabels      bool     // the pods also have role and group as labels, and otherwise only the labels that select them
	fields         []string // fields of the spec that do not affect where pods go
	requiredConfig []string // required fields of spec.clusterConfig
	assumes        []string // assumptions about values that are not published
	roles          []role   // empty for a resource without pods
}

// role is a role of a product, with the operator's defaults.
type role struct {
	key            string // field in the spec
	component      string // app.kubernetes.io/component of its pods
	workload       workload
	flat           bool // configured at the role itself; it has no role groups
	always         bool // if the resource leaves it out, it exists with its defaults
	optional       bool
	requests       requests                    // of the product's container
	sidecars       func(c *cluster) []requests // of the containers beside it; see containers.go
	initContainers []requests                  // of init containers that may request more than all containers together
	volumes        []volume
	moreVolumes    bool // the resource may add volumes with any name and count
	placing
	adr                      *placing // the placing of ADR026, if it differs
	noBudget                 bool
	disruptions              func(c *cluster, replicas int32) int32 // how many of its pods may be unavailable at once; nil means 1
	replicas                 int32                                  // the default number; 0 means 1
	minReplicas, maxReplicas int32                                  // bounds of replicas: fewer cause a warning, more are not created
}

// requests has the resources of a container: cpu is requested, cpuLimit is the limit, and memory is both. An empty name means the product's
// name.
type requests struct{ name, cpu, cpuLimit, memory string }

// volume is a claim template: its field under config.resources.storage, its name, and its default size.
type volume struct{ field, claim, capacity string }

// workload is the kind of workload that a role group becomes.
type workload int

const (
	parallelStatefulSet workload = iota // a StatefulSet that creates all its pods at once
	orderedStatefulSet                  // a StatefulSet that creates one pod after another
	deployment
	daemonSet
	job
	singlePod // a single pod
	taskPods  // no workload: pods come and go with tasks
)

func (p *product) groupKind() schema.GroupKind { return schema.GroupKind{Group: p.group, Kind: p.kind} }

// cluster20 prefers nodes with pods of the same cluster, and role70 avoids nodes with pods of the same role. Most default affinities are
// one of the two or both.
var (
	cluster20 = sameCluster(20)
	role70    = sameRole(70)

	rolesApart      = placing{apart: []rule{role70}}
	clusterTogether = placing{together: []rule{cluster20}, apart: []rule{role70}}
)

var quarterCore = requests{cpu: "250m", cpuLimit: "1", memory: "1Gi"}

// products has the facts about each product: get_affinity in rust/operator-binary/src/crd/affinity.rs of its operator
// (https://github.com/stackabletech/<product>-operator), and its default_config. Roles are in the operators' order.
var products = []product{
	{
		group: "airflow.stackable.tech", kind: "AirflowCluster", versions: []string{"v1alpha2", "v1alpha1"}, app: "airflow",
		assumes: []string{"celeryExecutors ask for as much memory as webservers, 3Gi, unless they are told otherwise"},
		roles: []role{
			{key: "webservers", component: "webserver", requests: airflowRequests("3Gi"), sidecars: airflowSidecars, placing: clusterTogether},
			{key: "schedulers", component: "scheduler", workload: orderedStatefulSet, requests: airflowRequests("1536Mi"), sidecars: airflowSidecars, placing: clusterTogether},
			{key: "celeryExecutors", component: "worker", optional: true, requests: airflowRequests("3Gi"), sidecars: airflowSidecars, placing: clusterTogether},
			{key: "dagProcessors", component: "dagprocessor", optional: true, requests: airflowRequests("1Gi"), sidecars: airflowSidecars, placing: clusterTogether},
			{key: "triggerers", component: "triggerer", optional: true, requests: airflowRequests("1Gi"), sidecars: airflowSidecars, placing: clusterTogether},
			{key: "kubernetesExecutors", component: "executor", workload: taskPods, flat: true, optional: true, noBudget: true, placing: clusterTogether},
		},
	},
	{
		group: "druid.stackable.tech", kind: "DruidCluster", versions: []string{"v1alpha1"}, app: "druid",
		requiredConfig: []string{"deepStorage", "zookeeperConfigMapName"},
		roles: []role{
			{
				key: "brokers", component: "broker", requests: druidRequests("1500Mi"), initContainers: druidPrepare,
				placing: placing{[]rule{otherComponent("historical", 60), otherComponent("middlemanager", 40)}, []rule{role70}},
				adr:     &placing{[]rule{cluster20, otherComponent("router", 40)}, []rule{role70}},
			},
			{key: "coordinators", component: "coordinator", requests: requests{cpu: "100m", cpuLimit: "400m", memory: "768Mi"}, initContainers: druidPrepare, placing: rolesApart, adr: &clusterTogether},
			{
				key: "historicals", component: "historical", requests: druidRequests("1500Mi"), initContainers: druidPrepare,
				placing: placing{[]rule{nearProduct(dataNodes, deepStorage)}, []rule{role70}},
				adr:     &placing{[]rule{cluster20, nearProduct(dataNodes, deepStorage)}, []rule{role70}},
			},
			{
				key: "middleManagers", component: "middlemanager", requests: druidRequests("1500Mi"), initContainers: druidPrepare,
				placing: placing{[]rule{nearProduct(dataNodes, deepStorage)}, []rule{role70}},
				adr:     &clusterTogether,
			},
			{
				key: "routers", component: "router", requests: druidRequests("512Mi"), initContainers: druidPrepare,
				placing: placing{[]rule{otherComponent("broker", 40)}, []rule{role70}},
				adr:     &placing{[]rule{cluster20, otherComponent("broker", 40)}, []rule{role70}},
			},
		},
	},
	{
		group: "hbase.stackable.tech", kind: "HbaseCluster", versions: []string{"v1alpha1"}, app: "hbase", operatorName: "hbase.stackable.com",
		requiredConfig: []string{"hdfsConfigMapName", "zookeeperConfigMapName"},
		roles: []role{
			{
				key: "masters", component: "master", requests: quarterCore,
				placing: placing{[]rule{cluster20, nearProduct(opaServers, opaName)}, []rule{role70}},
				adr:     &clusterTogether,
			},
			{
				key: "regionServers", component: "regionserver", requests: quarterCore,
				placing: placing{[]rule{cluster20, nearProduct(dataNodes, clusterSetting("hdfsConfigMapName")), nearProduct(opaServers, opaName)}, []rule{role70}},
				adr:     &placing{[]rule{cluster20, nearProduct(dataNodes, clusterSetting("hdfsConfigMapName"))}, []rule{role70}},
			},
			{
				key: "restServers", component: "restserver", optional: true, requests: requests{cpu: "100m", cpuLimit: "400m", memory: "512Mi"},
				placing: clusterTogether, adr: &placing{together: []rule{cluster20}},
			},
		},
	},
	{
		group: "hdfs.stackable.tech", kind: "HdfsCluster", versions: []string{"v1alpha1"}, app: "hdfs", ownLabels: true,
		requiredConfig: []string{"zookeeperConfigMapName"},
		roles: []role{
			{
				key: "journalNodes", component: "journalnode", workload: orderedStatefulSet, minReplicas: 3,
				requests: requests{"journalnode", "100m", "400m", "512Mi"}, volumes: []volume{{"data", "data", "1Gi"}},
				placing: clusterTogether, adr: &placing{together: []rule{cluster20}},
			},
			{
				key: "nameNodes", component: "namenode", workload: orderedStatefulSet, minReplicas: 2,
				requests: requests{"namenode", "250m", "1", "1Gi"}, sidecars: fixedContainers(requests{"zkfc", "100m", "400m", "512Mi"}),
				volumes: []volume{{"data", "data", "2Gi"}}, placing: clusterTogether,
			},
			{
				key: "dataNodes", component: "datanode", workload: orderedStatefulSet, minReplicas: 1,
				requests: requests{"datanode", "100m", "400m", "512Mi"}, volumes: []volume{{"data", "data", "10Gi"}}, moreVolumes: true,
				placing: clusterTogether,
				disruptions: func(c *cluster, replicas int32) int32 {
					copies, found, _ := unstructured.NestedInt64(c.config, "dfsReplication")
					if !found {
						copies = 3
					}
					return min(int32(copies)-2, replicas-2)
				},
			},
		},
	},
	{
		group: "hive.stackable.tech", kind: "HiveCluster", versions: []string{"v1alpha1"}, app: "hive",
		roles: []role{{key: "metastore", component: "metastore", requests: requests{cpu: "250m", cpuLimit: "1", memory: "768Mi"}, placing: rolesApart}},
	},
	{
		group: "kafka.stackable.tech", kind: "KafkaCluster", versions: []string{"v1alpha1"}, app: "kafka",
		roles: []role{
			{
				key: "controllers", component: "controller", optional: true, requests: quarterCore, volumes: []volume{{"logDirs", "log-dirs", "2Gi"}},
				placing: rolesApart, adr: &placing{apart: []rule{sameCluster(70)}},
			},
			{
				key: "brokers", component: "broker", requests: requests{cpu: "250m", cpuLimit: "1", memory: "2Gi"}, sidecars: fixedContainers(kcatProber), volumes: []volume{{"logDirs", "log-dirs", "2Gi"}},
				placing: placing{[]rule{nearProduct(opaServers, opaName)}, []rule{role70}}, adr: &placing{apart: []rule{sameCluster(70)}},
			},
		},
	},
	{
		group: "nifi.stackable.tech", kind: "NifiCluster", versions: []string{"v1alpha1"}, app: "nifi",
		requiredConfig: []string{"authentication", "sensitiveProperties"},
		roles: []role{{
			key: "nodes", component: "node", requests: requests{cpu: "500m", cpuLimit: "2", memory: "4096Mi"}, sidecars: nifiSidecars, initContainers: prepareContainer("500m", "2", "4096Mi"),
			volumes: []volume{
				{"flowfileRepo", "flowfile-repository", "1Gi"}, {"provenanceRepo", "provenance-repository", "2Gi"},
				{"databaseRepo", "database-repository", "1Gi"}, {"contentRepo", "content-repository", "4Gi"}, {"stateRepo", "state-repository", "1Gi"},
			},
			placing: rolesApart,
		}},
	},
	{
		group: "opa.stackable.tech", kind: "OpaCluster", versions: []string{"v1alpha2", "v1alpha1"}, app: "opa",
		assumes: []string{"there is no PodDisruptionBudget for the servers, which are a DaemonSet"},
		roles: []role{{
			key: "servers", component: "server", workload: daemonSet, noBudget: true,
			requests: requests{cpu: "250m", cpuLimit: "500m", memory: "256Mi"}, sidecars: opaSidecars,
		}},
	},
	{
		// Defaults: docs/modules/spark-k8s/pages/usage-guide/resources.adoc at 019b18c.
		group: "spark.stackable.tech", kind: "SparkApplication", versions: []string{"v1alpha1"}, app: "spark-k8s", imageField: "sparkImage", roleGroup: "sparkapplication",
		fields: []string{
			"version", "mode", "mainClass", "mainApplicationFile", "args", "deps", "env", "sparkConf", "s3connection", "logFileDirectory",
			"vectorAggregatorConfigMapName", "volumes", "clusterConfig",
			"image", // holds the job, which is copied from it before Spark starts
		},
		assumes: []string{"the pods that Spark itself makes have the labels and the names that the operator gives to its own"},
		roles: []role{
			{key: "job", component: "job", workload: job, flat: true, always: true, noBudget: true, requests: requests{"spark-submit", "100m", "400m", "512Mi"}},
			{key: "driver", component: "driver", workload: singlePod, flat: true, always: true, noBudget: true, requests: requests{"spark", "250m", "1", "1Gi"}},
			{
				key: "executor", component: "executor", workload: job, flat: true, always: true, noBudget: true,
				requests: requests{"spark", "250m", "1", "4Gi"}, adr: &rolesApart,
			},
		},
	},
	{
		// The operator changed the name in the pods' labels, but not the name that the default anti-affinity selects: spark-k8s-operator
		// f415bad, #573.
		group: "spark.stackable.tech", kind: "SparkHistoryServer", versions: []string{"v1alpha1"}, app: "spark-history", affinityApp: "spark-k8s",
		controller: "history", fields: []string{"logFileDirectory", "sparkConf", "vectorAggregatorConfigMapName"},
		roles: []role{{key: "nodes", component: "node", requests: requests{cpu: "250m", cpuLimit: "1", memory: "512Mi"}, placing: rolesApart}},
	},
	{
		// rust/operator-binary/src/connect/crd.rs
		group: "spark.stackable.tech", kind: "SparkConnectServer", versions: []string{"v1alpha1"}, app: "spark-connect",
		controller: "connect", roleGroup: "default", fields: []string{"args", "connectors", "vectorAggregatorConfigMapName"},
		assumes: []string{
			"SparkConnectServer's pods ask for 250m CPU and 1Gi unless they are told otherwise",
			"there are two executors, which is Spark's own default; spark.executor.instances in configOverrides is not read",
		},
		roles: []role{
			{key: "server", component: "server", flat: true, always: true, noBudget: true, requests: requests{"spark", "250m", "1", "1Gi"}, maxReplicas: 1},
			{
				key: "executor", component: "executor", workload: job, flat: true, always: true, noBudget: true, replicas: 2,
				requests: requests{"spark", "250m", "1", "1Gi"}, placing: rolesApart,
			},
		},
	},
	{
		group: "superset.stackable.tech", kind: "SupersetCluster", versions: []string{"v1alpha1"}, app: "superset",
		roles: []role{
			{key: "nodes", component: "node", workload: orderedStatefulSet, requests: requests{cpu: "300m", cpuLimit: "1200m", memory: "2Gi"}, sidecars: fixedContainers(metricsExporter), placing: rolesApart, adr: &supersetPlacing},
			{key: "workers", component: "worker", workload: deployment, optional: true, requests: requests{cpu: "1", cpuLimit: "2", memory: "4Gi"}, sidecars: fixedContainers(metricsExporter), placing: rolesApart, adr: &supersetPlacing},
			{key: "beat", component: "beat", workload: deployment, optional: true, maxReplicas: 1, requests: requests{cpu: "100m", cpuLimit: "500m", memory: "1Gi"}, sidecars: fixedContainers(metricsExporter), placing: rolesApart, adr: &supersetPlacing},
		},
	},
	{
		group: "trino.stackable.tech", kind: "TrinoCluster", versions: []string{"v1alpha1"}, app: "trino",
		requiredConfig: []string{"catalogLabelSelector"},
		roles: []role{
			{
				key: "coordinators", component: "coordinator", requests: requests{cpu: "500m", cpuLimit: "2", memory: "4Gi"},
				sidecars: passwordFileUpdater, initContainers: prepareContainer("500m", "2", "4Gi"),
				placing: placing{[]rule{cluster20, nearProduct(metastores, catalogClusters("metastore"))}, []rule{role70}}, adr: &rolesApart,
			},
			{
				key: "workers", component: "worker", requests: requests{cpu: "1", cpuLimit: "4", memory: "4Gi"}, initContainers: prepareContainer("500m", "2", "4Gi"),
				placing: placing{[]rule{cluster20, nearProduct(dataNodes, catalogClusters("hdfs"))}, []rule{role70}}, adr: &rolesApart,
				disruptions: func(_ *cluster, replicas int32) int32 { return replicas / 10 },
			},
		},
	},
	{group: "trino.stackable.tech", kind: "TrinoCatalog", versions: []string{"v1alpha1"}},
	{group: authentication, kind: "AuthenticationClass", versions: []string{"v1alpha1"}},
	{group: "superset.stackable.tech", kind: "DruidConnection", versions: []string{"v1alpha1"}},
	{
		group: "zookeeper.stackable.tech", kind: "ZookeeperCluster", versions: []string{"v1alpha1"}, app: "zookeeper",
		roles: []role{{
			key: "servers", component: "server", requests: requests{cpu: "200m", cpuLimit: "800m", memory: "512Mi"},
			initContainers: prepareContainer("200m", "800m", "512Mi"), volumes: []volume{{"data", "data", "1Gi"}}, placing: rolesApart,
		}},
	},
}

func airflowRequests(memory string) requests {
	return requests{cpu: "1", cpuLimit: "2", memory: memory}
}

func druidRequests(memory string) requests {
	return requests{cpu: "300m", cpuLimit: "1200m", memory: memory}
}

// supersetPlacing is the placing of Superset's roles. Only ADR026 has it.
var supersetPlacing = placing{together: []rule{nearProduct(routers, druidConnections)}, apart: []rule{sameCluster(70)}}

// opaName finds the name of the OpaCluster that authorizes requests: kafka-operator at 045b77c and hbase-operator at 08fe694.
var opaName = clusterSetting("authorization", "opa", "configMapName")

// deepStorage finds the name of the HdfsCluster in which a DruidCluster keeps its segments.
var deepStorage = clusterSetting("deepStorage", "hdfs", "configMapName")

// catalogClusters returns a function that finds clusters through the TrinoCatalogs that a TrinoCluster selects. part is metastore or hdfs.
func catalogClusters(part string) func(*cluster) []string {
	return func(c *cluster) []string {
		selected := c.catalogSelector()
		var names []string
		for _, catalog := range c.resourcesOfKind(c.group, "TrinoCatalog") {
			object := &unstructured.Unstructured{Object: decodeObject(catalog)}
			if !selected.Matches(labels.Set(object.GetLabels())) {
				continue
			}
			for _, connector := range []string{"hive", "iceberg", "deltaLake"} {
				if name, _, _ := unstructured.NestedString(object.Object, "spec", "connector", connector, part, "configMap"); name != "" {
					names = append(names, name)
				}
			}
		}
		return names
	}
}

func (c *cluster) catalogSelector() labels.Selector {
	wanted, _, _ := unstructured.NestedMap(c.config, "catalogLabelSelector")
	selector := &metav1.LabelSelector{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(wanted, selector)
	if err == nil {
		var selected labels.Selector
		if selected, err = metav1.LabelSelectorAsSelector(selector); err == nil {
			return selected
		}
	}
	c.addProblem("spec.clusterConfig.catalogLabelSelector: %s", err)
	return labels.Nothing()
}

// druidConnections returns the names of the DruidClusters that DruidConnections connect to the SupersetCluster.
func druidConnections(c *cluster) []string {
	var names []string
	for _, connection := range c.resourcesOfKind(c.group, "DruidConnection") {
		object := decodeObject(connection)
		if superset, _, _ := unstructured.NestedString(object, "spec", "superset", "name"); superset != c.resource.Name {
			continue
		}
		if name, _, _ := unstructured.NestedString(object, "spec", "druid", "name"); name != "" {
			names = append(names, name)
		}
	}
	return names
}
