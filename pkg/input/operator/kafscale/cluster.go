package kafscale

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/operator"
)

// operatorDefault is the level of a rule that the operator always writes, whatever the resource says.
const operatorDefault = "operator default"

// expandCluster returns the objects that the operator creates for a cluster, with the chart's values.
func expandCluster(c *clusterSettings, values *operatorValues, warnings []string) *operator.Expansion {
	e := &operator.Expansion{Warnings: warnings}
	c.makeEtcd(e, values)
	c.makeBrokers(e, values)
	if c.lfsProxies > 0 {
		c.makeLfsProxy(e)
	}
	return e
}

// objectMeta returns the metadata of an object of the cluster. For the cluster main and the suffix broker, the name is main-broker.
func (c *clusterSettings) objectMeta(suffix string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: c.name + "-" + suffix, Namespace: c.namespace, Labels: labels}
}

// labels returns the labels of the pods of an app, which are also the app's selector.
func (c *clusterSettings) labels(app string) map[string]string {
	return map[string]string{"app": app, "cluster": c.name}
}

// addObjects adds objects that bring no rules for pods.
func addObjects(e *operator.Expansion, objects ...cluster.Object) {
	for _, obj := range objects {
		e.Objects = append(e.Objects, operator.WrittenObject{Object: obj})
	}
}

// addAntiAffineWorkload adds a workload whose pods have the operator's anti-affinity.
func addAntiAffineWorkload(e *operator.Expansion, workload cluster.Object) {
	e.Objects = append(e.Objects, operator.WrittenObject{
		Object: workload, Origins: []operator.Origin{{Field: "affinity.podAntiAffinity", Level: operatorDefault}},
	})
}

// makeBrokers creates the brokers, which are BestEffort, as in pkg/operator/cluster_controller.go. Each reconciliation resets their number
// to that of the resource, and so undoes what the HorizontalPodAutoscaler did.
func (c *clusterSettings) makeBrokers(e *operator.Expansion, values *operatorValues) {
	labels := c.labels("kafscale-broker")
	addObjects(e, c.service("broker-headless", labels, true, 9092, 9093), c.service("broker", labels, false, 9092, 9093))
	addAntiAffineWorkload(e, &appsv1.StatefulSet{
		ObjectMeta: c.objectMeta("broker", nil),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &c.brokers, ServiceName: c.name + "-broker-headless", Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: v1.PodSpec{
					Affinity: softAntiAffinity(labels),
					Containers: []v1.Container{{Name: "broker", Image: values.BrokerImage.String(), Ports: []v1.ContainerPort{
						{Name: "kafka", ContainerPort: 9092}, {Name: "metrics", ContainerPort: 9093},
					}}},
				},
			},
		},
	})
	target := func(resource v1.ResourceName, percent int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: resource, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		}}
	}
	addObjects(e, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: c.objectMeta("broker", nil),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: c.name + "-broker"},
			MinReplicas:    &c.brokers, MaxReplicas: 4 * c.brokers,
			Metrics: []autoscalingv2.MetricSpec{target(v1.ResourceCPU, 70), target(v1.ResourceMemory, 80)},
		},
	})
}

// makeLfsProxy creates the proxy for large files, which has no placement rules, as in pkg/operator/lfs_proxy_resources.go.
func (c *clusterSettings) makeLfsProxy(e *operator.Expansion) {
	labels := c.labels("kafscale-lfs-proxy")
	addObjects(e, &appsv1.Deployment{
		ObjectMeta: c.objectMeta("lfs-proxy", nil),
		Spec: appsv1.DeploymentSpec{
			Replicas: &c.lfsProxies, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "lfs-proxy", Image: "ghcr.io/kafscale/kafscale-lfs-proxy:latest"}}},
			},
		},
	})
	e.Assumptions = append(e.Assumptions, "the image of the lfs-proxy, which matters only where nodes say which images they have")
}

func (c *clusterSettings) service(suffix string, selector map[string]string, headless bool, ports ...int32) *v1.Service {
	names := map[int32]string{9092: "kafka", 9093: "metrics", 2379: "client", 2380: "peer"}
	service := &v1.Service{ObjectMeta: c.objectMeta(suffix, nil), Spec: v1.ServiceSpec{Selector: selector, Type: v1.ServiceTypeClusterIP}}
	if headless {
		service.Spec.ClusterIP = v1.ClusterIPNone
	}
	for _, port := range ports {
		service.Spec.Ports = append(service.Spec.Ports, v1.ServicePort{Name: names[port], Port: port, TargetPort: intstr.FromString(names[port])})
	}
	return service
}
