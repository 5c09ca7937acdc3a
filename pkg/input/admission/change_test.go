package admission

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A change that exceeds a quota or a LimitRange is refused, and any other change is made. The existing objects use up the quota exactly.
func TestAdmitRefusesChanges(t *testing.T) {
	const class = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: ebs.csi.aws.com\nallowVolumeExpansion: true\n---\n"
	bound := func(manifest string) string {
		return class + strings.Replace(manifest, "spec: {", "status: {phase: Bound}\nspec: {storageClassName: fast, volumeName: pv, ", 1)
	}
	clusterIP := strings.Replace(service, "NodePort", "ClusterIP", 1)
	tests := []struct {
		name, before, quota, after string
		want                       []string
	}{
		{"a pod that requests more", podRequesting("100m"), quotaOf("hard: {requests.cpu: 100m}"), podRequesting("200m"),
			[]string{`pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=100m, used: requests.cpu=100m, limited: requests.cpu=100m`}},
		{"a pod that requests less", podRequesting("200m"), quotaOf("hard: {requests.cpu: 100m}"), podRequesting("150m"), nil},
		{"a pod that requests more than a container may", podRequesting("100m"), limitRange("{type: Container, max: {cpu: 500m}}"),
			strings.Replace(podRequesting("200m"), "limits: {cpu: '1'}", "limits: {cpu: 600m}", 1),
			[]string{`pods "p" is forbidden: maximum cpu usage per Container is 500m, but limit is 600m`}},
		{"a claim that is enlarged", bound(claimOf("1Gi")), quotaOf("hard: {requests.storage: 1Gi}"), bound(claimOf("3Gi")),
			[]string{`persistentvolumeclaims "data" is forbidden: exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=1Gi, limited: requests.storage=1Gi`}},
		{"a claim that is enlarged within", bound(claimOf("1Gi")), quotaOf("hard: {requests.storage: 3Gi}"), bound(claimOf("3Gi")), nil},
		{"a claim that is enlarged beyond a bound", bound(claimOf("1Gi")), limitRange("{type: PersistentVolumeClaim, max: {storage: 2Gi}}"), bound(claimOf("3Gi")),
			[]string{`persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi`}},
		{"a service that gets node ports", clusterIP, quotaOf("hard: {services: '2', services.nodeports: '1'}"), service,
			[]string{`services "s" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1`}},
		{"a service that gives them back", service, quotaOf("hard: {services.nodeports: '1'}"), clusterIP, nil},
		{"nothing", bound(claimOf("3Gi")), limitRange("{type: PersistentVolumeClaim, max: {storage: 2Gi}}") + "---\n" + quotaOf("hard: {requests.storage: 1Gi}"), bound(claimOf("3Gi")), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.admit(decode(t, test.before)...)
			w.admit(decode(t, test.quota)...)
			before := resourcesOf(w.state.Pods, w.state.PersistentVolumeClaims, w.state.Services)
			w.admit(decode(t, test.after)...)
			var got []string
			for _, r := range w.state.Refused {
				got = append(got, r.Message)
				w.check("pods not created", r.Pods, 0)
			}
			w.check("messages", got, test.want)
			changed := resourcesOf(w.state.Pods, w.state.PersistentVolumeClaims, w.state.Services) != before
			w.check("changed", changed, test.want == nil && test.name != "nothing")
		})
	}
}

// resourcesOf returns the usage that quotas count for the only pod, claim or service.
func resourcesOf(pods []*v1.Pod, claims []*v1.PersistentVolumeClaim, services []*v1.Service) string {
	var all []string
	for _, pod := range pods {
		all = append(all, pod.Spec.Containers[0].Resources.String())
	}
	for _, claim := range claims {
		all = append(all, claim.Spec.Resources.String())
	}
	for _, s := range services {
		all = append(all, string(s.Spec.Type))
	}
	return strings.Join(all, " ")
}

// Device claims count by their class. A pod's request for an extended resource counts once: for the pod, and not for the claim that the
// scheduler created for the pod.
func TestAdmitRefusesClaimsOnDevices(t *testing.T) {
	const class = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {extendedResourceName: example.com/gpu}\n"
	claim := func(name string) string {
		return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: " + name + ", namespace: default}\n" +
			"spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu, count: 2}}]}}\n"
	}
	made := func(owner string) string {
		return strings.Replace(claim("made"), "namespace: default}", "namespace: default, uid: c, creationTimestamp: '2025-01-01T00:00:00Z', "+
			"annotations: {resource.kubernetes.io/extended-resource-claim: 'true'}, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: "+owner+", controller: true}]}", 1)
	}
	owner := strings.Replace(pod(", nodeName: n1, containers: [{name: c, image: a, resources: {requests: {example.com/gpu: 2}, limits: {example.com/gpu: 2}}}]"),
		"name: p,", "name: p, uid: u, creationTimestamp: '2025-01-01T00:00:00Z',", 1)
	owner = strings.Replace(owner, "containers: [{name: c, image: a}], ", "", 1)
	tests := []struct{ name, before, quota, given, want string }{
		{"by number", class, "count/resourceclaims.resource.k8s.io: '0'", claim("a"),
			`resourceclaims.resource.k8s.io "a" is forbidden: exceeded quota: q, requested: count/resourceclaims.resource.k8s.io=1, used: count/resourceclaims.resource.k8s.io=0, limited: count/resourceclaims.resource.k8s.io=0`},
		{"by class", class + "---\n" + claim("a"), "gpu.deviceclass.resource.k8s.io/devices: '3'", claim("b"),
			`resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io/devices=2, used: gpu.deviceclass.resource.k8s.io/devices=2, limited: gpu.deviceclass.resource.k8s.io/devices=3`},
		{"within", class + "---\n" + claim("a"), "gpu.deviceclass.resource.k8s.io/devices: '4'", claim("b"), ""},
		{"by extended resource, once", class + "---\n" + owner + "---\n" + made("u"), "requests.example.com/gpu: '4'", claim("b"), ""},
		{"by extended resource", class + "---\n" + owner + "---\n" + made("u"), "requests.example.com/gpu: '3'", claim("b"),
			`resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=2, limited: requests.example.com/gpu=3`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.admit(decode(t, test.before)...)
			w.admit(decode(t, quotaOf("hard: {"+test.quota+"}"))...)
			w.admit(decode(t, test.given)...)
			got := ""
			for _, r := range w.state.Refused {
				got += r.Message
			}
			w.check("refused", got, test.want)
		})
	}
}
