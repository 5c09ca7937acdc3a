package kafscale

import (
	"cmp"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/faultline/faultline/pkg/input/operator"
)

const (
	etcdImage  = "kubesphere/etcd:3.6.4-0"
	toolsImage = "ghcr.io/kafscale/kafscale-etcd-tools:" + appVersion
	awsImage   = "amazon/aws-cli:2.15.0"
)

// makeEtcd creates the cluster's own etcd, as in pkg/operator/etcd_resources.go, unless the resource or the chart's values name an existing
// etcd.
func (c *clusterSettings) makeEtcd(e *operator.Expansion, values *operatorValues) {
	if len(c.etcdEndpoints) > 0 {
		return
	}
	if given := dropBlank(values.EtcdEndpoints); len(given) > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("the operator makes no etcd, since the chart's value operator.etcdEndpoints is %q; set it to [] for an etcd of the cluster's own", given))
		return
	}
	labels := c.labels("kafscale-etcd")
	headless := c.service("etcd", labels, true, 2379, 2380)
	headless.Labels, headless.Spec.PublishNotReadyAddresses = labels, true
	client := c.service("etcd-client", labels, false, 2379)
	client.Labels = labels
	addObjects(e, headless, client)
	addAntiAffineWorkload(e, c.etcdStatefulSet(values, labels))
	one := intstr.FromInt32(1)
	addObjects(e, &policyv1.PodDisruptionBudget{
		ObjectMeta: c.objectMeta("etcd", labels),
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	})
	snapshot := c.cronJob("etcd-snapshot", "0 * * * *", labels, v1.Container{Name: "upload", Image: awsImage})
	pod := &snapshot.Spec.JobTemplate.Spec.Template.Spec
	pod.InitContainers = []v1.Container{{Name: "snapshot", Image: toolsImage}}
	pod.Volumes = []v1.Volume{emptyDirVolume("snapshots", "")}
	addObjects(e, snapshot)
	for _, task := range []struct{ name, schedule string }{{"maintenance", "0 */6 * * *"}, {"maintenance-check", "*/15 * * * *"}} {
		more := maps.Clone(labels)
		more[componentLabel], more["kafscale.io/etcd-task"] = "etcd-maintenance", task.name
		addObjects(e, c.cronJob("etcd-"+task.name, task.schedule, more, v1.Container{Name: task.name, Image: toolsImage}))
	}
	e.Warnings = append(e.Warnings, fmt.Sprintf("pods of the CronJobs %[1]s-etcd-snapshot, %[1]s-etcd-maintenance and %[1]s-etcd-maintenance-check have all labels of the etcd pods: "+
		"etcd keeps apart from them, too, and they count for PodDisruptionBudget %[1]s-etcd and as endpoints of its Services", c.name))
	e.Assumptions = append(e.Assumptions, "the pods of the maintenance CronJobs have one container without requests, and kafscale.io/etcd-task is the task's name",
		"maintenance starts at full hours; how often is published, and when is not",
		"the image of etcd's tools, which matters only where nodes say which images they have")
}

// etcdStatefulSet returns the StatefulSet. With its data on disk, it is BestEffort; with its data in memory, it requests as much memory as it may
// store.
func (c *clusterSettings) etcdStatefulSet(values *operatorValues, labels map[string]string) *appsv1.StatefulSet {
	replicas := values.etcdReplicas()
	mounts := []v1.VolumeMount{{Name: "data", MountPath: "/var/lib/etcd"}}
	withSnapshots := append(mounts[:1:1], v1.VolumeMount{Name: "snapshots", MountPath: "/snapshots"})
	container := v1.Container{Name: "etcd", Image: etcdImage, VolumeMounts: mounts, Ports: []v1.ContainerPort{
		{Name: "client", ContainerPort: 2379}, {Name: "peer", ContainerPort: 2380},
	}}
	set := &appsv1.StatefulSet{
		ObjectMeta: c.objectMeta("etcd", labels),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, ServiceName: c.name + "-etcd", Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: v1.PodSpec{
					Affinity: softAntiAffinity(labels),
					InitContainers: []v1.Container{
						{Name: "snapshot-download", Image: awsImage, VolumeMounts: withSnapshots},
						{Name: "snapshot-restore", Image: toolsImage, VolumeMounts: withSnapshots},
					},
					Volumes: []v1.Volume{emptyDirVolume("snapshots", "")},
				},
			},
		},
	}
	pod := &set.Spec.Template.Spec
	if values.EtcdStorageMemory {
		pod.Volumes = append(pod.Volumes, emptyDirVolume("data", v1.StorageMediumMemory))
		quota, limit := resource.MustParse("4Gi"), resource.MustParse("4608Mi") // 4Gi and 512Mi
		container.Resources = v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: quota}, Limits: v1.ResourceList{v1.ResourceMemory: limit}}
	} else {
		set.Spec.VolumeClaimTemplates = []v1.PersistentVolumeClaim{values.dataClaim()}
	}
	pod.Containers = []v1.Container{container}
	return set
}

// dataClaim returns the claim template for the data of an etcd pod.
func (o *operatorValues) dataClaim() v1.PersistentVolumeClaim {
	claim := v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(cmp.Or(o.EtcdStorageSize, "10Gi"))}},
		},
	}
	if o.EtcdStorageClass != "" {
		claim.Spec.StorageClassName = &o.EtcdStorageClass
	}
	return claim
}

func (c *clusterSettings) cronJob(suffix, schedule string, labels map[string]string, container v1.Container) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: c.objectMeta(suffix, c.labels("kafscale-etcd")),
		Spec: batchv1.CronJobSpec{
			Schedule: schedule, ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{container}},
			}}},
		},
	}
}

func emptyDirVolume(name string, medium v1.StorageMedium) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium}}}
}
