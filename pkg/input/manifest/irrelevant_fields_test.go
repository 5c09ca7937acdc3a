package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An invalid field of a dump is left out if no placement depends on it. Any other invalid field sets the object aside. In a manifest, each
// of them is an error.
func TestUnplacingFieldsAreLeftOut(t *testing.T) {
	const (
		node = `{apiVersion: v1, kind: Node, metadata: {name: n1, resourceVersion: "7"%s}, spec: {%s}, status: {capacity: {cpu: "4"}, nodeInfo: {%s}}}`
		pod  = `{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u%s}, spec: {nodeName: n1, containers: [{name: c, image: i%s}]%s}}`
	)
	for _, tt := range []struct {
		name, text string
		fields     []string // "aside" for an object that is set aside
	}{
		{"a CIDR", fmt.Sprintf(node, "", "podCIDR: REDACTED/24, podCIDRs: [REDACTED/24], unschedulable: true", ""), []string{"spec.podCIDRs"}},
		{"one CIDR alone", fmt.Sprintf(node, "", "podCIDR: REDACTED/24", ""), []string{"spec.podCIDRs"}},
		{"a number", fmt.Sprintf(node, "", "", "machineID: 0, kubeletVersion: v1.34.0"), []string{"status.nodeInfo.machineID"}},
		{"two numbers and a CIDR", fmt.Sprintf(node, "", "podCIDR: x", "machineID: 0, bootID: 0"), []string{"status.nodeInfo.machineID", "status.nodeInfo.bootID", "spec.podCIDRs"}},
		{"a time", fmt.Sprintf(node, ", creationTimestamp: REDACTED", "", ""), []string{"metadata.creationTimestamp"}},
		{"an annotation", fmt.Sprintf(node, `, annotations: {example.com/a: 0, b: "1"}`, "", ""), []string{"metadata.annotations[]"}},
		{"an annotation of Kubernetes", fmt.Sprintf(node, `, annotations: {scheduler.alpha.kubernetes.io/a: 0}`, "", ""), []string{"aside"}},
		{"a label", fmt.Sprintf(node, `, labels: {a: "<redacted>"}`, "", ""), []string{"aside"}},
		{"a taint", fmt.Sprintf(node, "", "taints: [{key: a, effect: REDACTED}], podCIDR: x", ""), []string{"aside", "aside"}},
		{"an environment", fmt.Sprintf(pod, "", ", env: REDACTED", ""), []string{"spec.containers[].env"}},
		{"a variable", fmt.Sprintf(pod, "", ", env: [{name: a, value: 0}, {name: b, value: 1}]", ""), []string{"spec.containers[].env", "spec.containers[].env"}},
		{"a volume", fmt.Sprintf(pod, "", "", ", volumes: [{name: v, hostPath: {path: ''}}]"), []string{"spec.volumes[].hostPath"}},
		{"a request", fmt.Sprintf(pod, "", ", resources: {requests: {cpu: REDACTED}}", ""), []string{"aside"}},
		{"a template", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, uid: u}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}},
			spec: {containers: [{name: c, image: i, command: REDACTED, livenessProbe: {httpGet: {port: 0}}}]}}}}`, []string{"spec.template.spec.containers[].command", "spec.template.spec.containers[].livenessProbe"}},
		{"a service", `{apiVersion: v1, kind: Service, metadata: {name: s, uid: u}, spec: {clusterIP: REDACTED, clusterIPs: [REDACTED], ports: [{port: 80}]}}`, []string{"spec.clusterIPs"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := Decode("dump.yaml", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, flaw := range set.Flaws {
				if flaw.Aside {
					fields = append(fields, "aside")
				} else {
					fields = append(fields, flaw.Field)
				}
			}
			if diff := cmp.Diff(tt.fields, fields); diff != "" {
				t.Errorf("%v (-want +got):\n%s", set.Flaws, diff)
			}
			if read := len(set.Objects) == 1; read == (tt.fields[0] == "aside") {
				t.Errorf("%d objects", len(set.Objects))
			}
			if set.Strict() == nil {
				t.Error("nothing is wrong with it, strictly")
			}
		})
	}
	if _, err := Decode("m.yaml", []byte(`{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {podCIDR: x}}`)); err == nil {
		t.Error("a manifest was read without its field")
	}
}
