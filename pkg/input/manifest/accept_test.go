package manifest

import "testing"

// A real cluster takes these objects, because its flags allow them or because the API server completes them before it validates.
func TestDecodeTakesWhatAClusterTakes(t *testing.T) {
	for name, text := range map[string]string{
		"a privileged pod": `{apiVersion: v1, kind: Pod, metadata: {name: kube-proxy},
			spec: {hostNetwork: true, containers: [{name: c, image: i, securityContext: {privileged: true}}]}}`,
		"a privileged template": `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: cni}, spec: {selector: {matchLabels: {app: cni}},
			template: {metadata: {labels: {app: cni}}, spec: {hostPID: true, hostIPC: true,
			initContainers: [{name: d, image: i, securityContext: {privileged: true}}], containers: [{name: c, image: i,
			securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /v, mountPropagation: Bidirectional}]}],
			volumes: [{name: v, hostPath: {path: /v}}]}}}}`,
		"a load balancer to local pods": `{apiVersion: v1, kind: Service, metadata: {name: web},
			spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: web}, ports: [{port: 80}]}}`,
		"a headless service without a selector": `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: None, ports: [{port: 80}]}}`,
		"a service of both families": `{apiVersion: v1, kind: Service, metadata: {name: web},
			spec: {ipFamilyPolicy: RequireDualStack, clusterIP: 10.0.0.1, ports: [{port: 80}]}}`,
		"a service elsewhere": `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: ExternalName, externalName: example.com}}`,
		"a claim from a claim": `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: copy}, spec: {accessModes: [ReadWriteOnce],
			resources: {requests: {storage: 1Gi}}, dataSource: {kind: PersistentVolumeClaim, name: original}}}`,
		"an AppArmor profile by annotation": `{apiVersion: v1, kind: Pod, metadata: {name: p,
			annotations: {container.apparmor.security.beta.kubernetes.io/c: runtime/default}}, spec: {containers: [{name: c, image: i}]}}`,
		"limits of the pod": `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: {limits: {cpu: 2}},
			containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := DecodeObject("test", []byte(text)); err != nil {
				t.Error(err)
			}
		})
	}
}
