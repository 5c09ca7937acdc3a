package cause_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/faultline/faultline/pkg/ask/cause"
	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/internal/runtest"
)

// deployment returns a Deployment with that many replicas and this pod spec.
func deployment(replicas, spec string) string {
	return "  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: " + replicas + ", selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {" + spec + "}}}}\n"
}

// TestOfRefusal compares sentences with what the objects say.
func TestOfRefusal(t *testing.T) {
	const policy = `  - {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: ceiling}, spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}, validations: [{expression: object.spec.replicas <= 2, message: no more than 2 replicas}]}}
  - {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: all}, spec: {policyName: ceiling, validationActions: [Deny]}}
`
	for name, test := range map[string]struct {
		objects []string
		want    []cause.Cause
	}{
		"two pods of 750m each leave 500m of 2 CPU, and the third asks 750m": {
			[]string{"  - {apiVersion: v1, kind: ResourceQuota, metadata: {name: compute}, spec: {hard: {requests.cpu: 2, pods: 5}}}\n", deployment("3", "containers: [{name: c, image: c, resources: {requests: {cpu: 750m}}}]")},
			[]cause.Cause{{Plugin: "ResourceQuota", Sentence: "ResourceQuota default/compute: requests.cpu 1500m of 2 used, the pod asks 750m",
				Denial: &cause.Denial{Object: "ResourceQuota default/compute", Amounts: []cause.Amount{{Resource: "requests.cpu", Asked: "750m", Used: "1500m", Hard: "2"}}}}},
		},
		"two resources of a quota": {
			[]string{"  - {apiVersion: v1, kind: ResourceQuota, metadata: {name: compute}, spec: {hard: {requests.cpu: 1, pods: 1}}}\n", deployment("2", "containers: [{name: c, image: c, resources: {requests: {cpu: 750m}}}]")},
			[]cause.Cause{{Plugin: "ResourceQuota", Sentence: "ResourceQuota default/compute: pods 1 of 1 used, the pod asks 1; requests.cpu 750m of 1 used, the pod asks 750m",
				Denial: &cause.Denial{Object: "ResourceQuota default/compute", Amounts: []cause.Amount{{Resource: "pods", Asked: "1", Used: "1", Hard: "1"}, {Resource: "requests.cpu", Asked: "750m", Used: "750m", Hard: "1"}}}}},
		},
		"a quota of what the pod does not give": {
			[]string{"  - {apiVersion: v1, kind: ResourceQuota, metadata: {name: compute}, spec: {hard: {requests.cpu: 2}}}\n", deployment("1", "containers: [{name: c, image: c}]")},
			[]cause.Cause{{Plugin: "ResourceQuota", Sentence: "ResourceQuota default/compute: the pod must specify requests.cpu for: c",
				Denial: &cause.Denial{Object: "ResourceQuota default/compute", Says: "must specify requests.cpu for: c"}}},
		},
		"the second of two ranges": {
			[]string{"  - {apiVersion: v1, kind: LimitRange, metadata: {name: wide}, spec: {limits: [{type: Container, max: {memory: 4Gi}}]}}\n  - {apiVersion: v1, kind: LimitRange, metadata: {name: narrow}, spec: {limits: [{type: Container, max: {memory: 1Gi}, maxLimitRequestRatio: {memory: 2}}]}}\n",
				deployment("1", "containers: [{name: c, image: c, resources: {limits: {memory: 3Gi}, requests: {memory: 1Gi}}}]")},
			[]cause.Cause{{Plugin: "LimitRanger", Sentence: "LimitRange default/narrow: a Container has at most 1Gi memory, and one here has a limit of 3Gi; " +
				"the limit of a Container is at most 2 times its request of memory, and one here has a ratio of 3",
				Denial: &cause.Denial{Object: "LimitRange default/narrow", Amounts: []cause.Amount{{Resource: "memory", Asked: "3Gi", Bound: "maximum", Of: "Container", Value: "1Gi", Field: "limit"},
					{Resource: "memory", Asked: "3", Bound: "maxLimitRequestRatio", Of: "Container", Value: "2", Field: "ratio"}}}}},
		},
		"a priority class that is not there": {
			[]string{"  - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: batch}, value: 1}\n", deployment("1", "priorityClassName: vital, containers: [{name: c, image: c}]")},
			[]cause.Cause{{Plugin: "Priority", Sentence: "PriorityClass vital does not exist; there is batch", Denial: &cause.Denial{Object: "PriorityClass vital"}}},
		},
		"no limit where a range wants one": {
			[]string{"  - {apiVersion: v1, kind: LimitRange, metadata: {name: pods}, spec: {limits: [{type: Pod, max: {memory: 4Gi}}]}}\n", deployment("1", "containers: [{name: c, image: c}]")},
			[]cause.Cause{{Plugin: "LimitRanger", Sentence: "LimitRange default/pods: a Pod has at most 4Gi memory, and one here gives no limit",
				Denial: &cause.Denial{Object: "LimitRange default/pods", Amounts: []cause.Amount{{Resource: "memory", Bound: "maximum", Of: "Pod", Value: "4Gi", Field: "limit"}}}}},
		},
		"a default limit below the request": {
			[]string{"  - {apiVersion: v1, kind: LimitRange, metadata: {name: defaults}, spec: {limits: [{type: Container, default: {cpu: 500m}}]}}\n", deployment("1", "containers: [{name: c, image: c, resources: {requests: {cpu: 700m}}}]")},
			[]cause.Cause{{Plugin: "LimitRanger", Sentence: "LimitRange default/defaults: gives container c, which sets none, a limit of 500m cpu, less than its request of 700m",
				Denial: &cause.Denial{Object: "LimitRange default/defaults", Amounts: []cause.Amount{{Resource: "cpu", Asked: "700m", Bound: "default", Of: "Container", Value: "500m", Field: "request"}}}}},
		},
		"Pod Security": {
			[]string{"  - {apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {pod-security.kubernetes.io/enforce: baseline}}}\n", deployment("1", "hostNetwork: true, containers: [{name: c, image: c}]")},
			[]cause.Cause{{Plugin: "PodSecurity", Sentence: "Namespace default: its label pod-security.kubernetes.io/enforce=baseline forbids this",
				Denial: &cause.Denial{Object: "Namespace default", Says: "host namespaces (hostNetwork=true)"}}},
		},
		"a policy": {
			[]string{policy, deployment("3", "containers: [{name: c, image: c}]")},
			[]cause.Cause{{Plugin: "ValidatingAdmissionPolicy", Sentence: "ValidatingAdmissionPolicy ceiling, by its binding all: no more than 2 replicas",
				Denial: &cause.Denial{Object: "ValidatingAdmissionPolicy ceiling", Binding: "all", Says: "no more than 2 replicas"}}},
		},
		"the class that does not exist": {
			[]string{deployment("1", "runtimeClassName: gvisor, containers: [{name: c, image: c}]")},
			[]cause.Cause{{Plugin: "RuntimeClass", Sentence: "RuntimeClass gvisor does not exist", Denial: &cause.Denial{Object: "RuntimeClass gvisor"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step := runtest.Run(t, world(test.objects...)).Steps[0]
			if len(step.Refused) != 1 {
				t.Fatalf("%d refusals, one is expected: %v", len(step.Refused), step.Refused)
			}
			if diff := cmp.Diff(test.want, cause.ExplainDenial(step.State, step.Refused[0])); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// Each member has an API server and quotas of its own.
func TestOfRefusalInMember(t *testing.T) {
	limits := &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "small"}, Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{
		{Type: v1.LimitTypeContainer, Max: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m")}}}}}
	fed := &cluster.Federation{Members: []cluster.Member{{Name: "m1", State: &cluster.State{LimitRanges: []*v1.LimitRange{limits}}}}}
	refusal := cluster.Refusal{Ref: cluster.Ref{Kind: "Deployment", Namespace: "default", Name: "web"}, Pods: 1,
		Message: `Error creating: pods "web-1" is forbidden: maximum cpu usage per Container is 500m, but request is 1, in cluster m1`}
	got := cause.ExplainDenial(&cluster.State{Federation: fed}, refusal)[0].Sentence
	if want := "LimitRange default/small: a Container has at most 500m cpu, and one here has a request of 1, in cluster m1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
