package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiadmission "k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/podtopologylabels"

	"github.com/faultline/faultline/pkg/cluster"
)

// validatingPolicy returns the manifests of a policy for new pods and of a binding that denies. more is appended to the policy's spec, and
// bound to the binding's.
func validatingPolicy(name, expression, more, bound string) string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "%[2]s", message: "no"}]
%[3]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
%[4]s
`, name, expression, more, bound)
}

const deny = "  validationActions: [Deny]"

// mutatingPolicy returns the manifests of a policy that changes new pods, and of its binding.
func mutatingPolicy(name, reinvocation, expression string) string {
	kind := "JSONPatch"
	field := "jsonPatch"
	if strings.HasPrefix(expression, "Object") {
		kind, field = "ApplyConfiguration", "applyConfiguration"
	}
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: %[2]s
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations: [{patchType: %[3]s, %[4]s: {expression: "%[5]s"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`, name, reinvocation, kind, field, expression)
}

func param(kind, name, value string) *cluster.Param {
	content := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}, "data": map[string]any{"most": value}}
	return &cluster.Param{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Content: content}
}

func TestValidatingPolicies(t *testing.T) {
	const (
		ofMap  = "  paramKind: {apiVersion: v1, kind: ConfigMap}"
		atMost = "size(object.spec.containers) <= int(params.data.most)"
	)
	refused := func(name, why string) string {
		return fmt.Sprintf(`pods "p" is forbidden: ValidatingAdmissionPolicy '%s' with binding '%[1]s' denied request: %s`, name, why)
	}
	for name, test := range map[string]struct {
		policy string
		params []cluster.Object
		want   string // the message; "" if the pod is created
		notes  []string
	}{
		"holds":          {policy: validatingPolicy("a", "object.spec.containers.size() == 1", "", deny)},
		"denies":         {policy: validatingPolicy("a", "object.spec.containers.size() == 2", "", deny), want: refused("a", "no")},
		"the first name": {policy: validatingPolicy("b", "false", "", deny) + "---" + validatingPolicy("a", "false", "", deny), want: refused("a", "no")},
		"warns": {policy: validatingPolicy("a", "false", "", "  validationActions: [Warn]"),
			notes: []string{"Pod default/p: Validation failed for ValidatingAdmissionPolicy 'a' with binding 'a': no"}},
		"audits":             {policy: validatingPolicy("a", "false", "", "  validationActions: [Audit]")},
		"fails":              {policy: validatingPolicy("a", "object.spec.nope == 1", "", deny), want: refused("a", "expression 'object.spec.nope == 1' resulted in error: no such key: nope")},
		"fails, ignored":     {policy: validatingPolicy("a", "object.spec.nope == 1", "  failurePolicy: Ignore", deny)},
		"condition is false": {policy: validatingPolicy("a", "false", "  matchConditions: [{name: never, expression: \"object.metadata.name != 'p'\"}]", deny)},
		"variable":           {policy: validatingPolicy("a", "variables.two == 1", "  variables: [{name: two, expression: '2'}]", deny), want: refused("a", "no")},
		"binding for others": {policy: validatingPolicy("a", "false", "", deny+"\n  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}}")},
		"binding for these": {policy: validatingPolicy("a", "false", "", deny+"\n  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}}"),
			want: refused("a", "no")},
		"no policy":  {policy: strings.Split(validatingPolicy("a", "false", "", deny), "---")[1]},
		"no binding": {policy: strings.Split(validatingPolicy("a", "false", "", deny), "---")[0]},
		"the authority": {policy: validatingPolicy("a", "authorizer.group('').resource('nodes').check('delete').allowed()", "", deny),
			notes: []string{"ValidatingAdmissionPolicy a asks the authorizer, which allows everything here."}},
		"the user": {policy: validatingPolicy("a", "request.userInfo.username == 'kubernetes-admin' && 'system:authenticated' in request.userInfo.groups", "", deny)},
		"parameter holds": {policy: validatingPolicy("a", atMost, ofMap, deny+"\n  paramRef: {name: limits, parameterNotFoundAction: Deny}"),
			params: []cluster.Object{param("ConfigMap", "limits", "1"), param("ConfigMap", "other", "0")}},
		"parameter denies": {policy: validatingPolicy("a", atMost, ofMap, deny+"\n  paramRef: {name: limits, parameterNotFoundAction: Deny}"),
			params: []cluster.Object{param("ConfigMap", "limits", "0")}, want: refused("a", "no")},
		"parameters selected": {policy: validatingPolicy("a", atMost, ofMap, deny+"\n  paramRef: {selector: {}, parameterNotFoundAction: Deny}"),
			params: []cluster.Object{param("ConfigMap", "limits", "1"), param("ConfigMap", "other", "0")}, want: refused("a", "no")},
		"parameter missing": {policy: validatingPolicy("a", atMost, ofMap, deny+"\n  paramRef: {name: limits, parameterNotFoundAction: Deny}"),
			want: refused("a", "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")},
		"parameter missing, allowed": {policy: validatingPolicy("a", atMost, ofMap, deny+"\n  paramRef: {name: limits, parameterNotFoundAction: Allow}")},
		"kind of parameters unknown": {policy: validatingPolicy("a", "false", "  paramKind: {apiVersion: example.com/v1, kind: Limit}", deny+"\n  paramRef: {name: limits, parameterNotFoundAction: Allow}"),
			want: `pods "p" is forbidden: ValidatingAdmissionPolicy 'a' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`},
	} {
		t.Run(name, func(t *testing.T) {
			next, notes, err := Admit(&cluster.State{Now: cluster.Epoch}, append(decode(t, pod("")+"---"+test.policy), test.params...)...)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, refusal := range next.Refused {
				got += refusal.Message
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if created := len(next.Pods) == 1; created != (test.want == "") {
				t.Errorf("the pod is created: %t", created)
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMutatingPolicies(t *testing.T) {
	class := "\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
	label := func(key, value string) string {
		return fmt.Sprintf("Object{metadata: Object.metadata{labels: {'%s': %s}}}", key, value)
	}
	for name, test := range map[string]struct {
		policies string
		want     string // the pod's labels and priority, or the message
	}{
		"none":                                   {"", "map[] 0"},
		"JSON patch":                             {mutatingPolicy("a", "Never", "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': '1'}}]"), "map[a:1] 0"},
		"apply configuration":                    {mutatingPolicy("a", "Never", label("a", "'1'")), "map[a:1] 0"},
		"the second sees the first":              {mutatingPolicy("a", "Never", label("a", "'1'")) + "---" + mutatingPolicy("b", "Never", label("b", "object.metadata.labels['a']")), "map[a:1 b:1] 0"},
		"the first does not see the second":      {mutatingPolicy("a", "Never", label("a", "string(has(object.metadata.labels))")) + "---" + mutatingPolicy("b", "Never", label("b", "'1'")), "map[a:false b:1] 0"},
		"the first sees it if it is asked again": {mutatingPolicy("a", "IfNeeded", label("a", "string(has(object.metadata.labels))")) + "---" + mutatingPolicy("b", "Never", label("b", "'1'")), "map[a:true b:1] 0"},
		"plugins see what a policy has done":     {mutatingPolicy("a", "Never", "[JSONPatch{op: 'add', path: '/spec/priorityClassName', value: 'high'},JSONPatch{op: 'remove', path: '/spec/priority'}]"), "map[] 1000"},
		"a failed test changes nothing":          {mutatingPolicy("a", "Never", "[JSONPatch{op: 'test', path: '/spec/priority', value: 7},JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': '1'}}]"), "map[] 0"},
		"an error": {mutatingPolicy("a", "Never", label("a", "object.metadata.labels['b']")),
			"policy 'a' with binding 'a' denied request: expression 'Object{metadata: Object.metadata{labels: {'a': object.metadata.labels['b']}}}' resulted in error: no such key: labels"},
		"an invalid pod": {mutatingPolicy("a", "Never", label("a", "'not valid'")),
			`Pod "p" is invalid: metadata.labels: Invalid value: "not valid": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := pod("") + "---" + class
			if test.policies != "" {
				manifests += "---" + test.policies
			}
			next, _, err := Admit(&cluster.State{Now: cluster.Epoch}, decode(t, manifests)...)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, refusal := range next.Refused {
				got += refusal.Message
			}
			for _, pod := range next.Pods {
				got = fmt.Sprint(pod.Labels, *pod.Spec.Priority)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Controllers send requests from their service accounts, and scaling is a request of its own.
func TestPoliciesOfWorkloads(t *testing.T) {
	w := newWorld(t, 0)
	about := func(name, resource, expression string) string {
		return strings.Replace(strings.Replace(validatingPolicy(name, expression, "", deny), "resources: [pods]", "resources: ["+resource+"]", 1),
			`apiGroups: [""], apiVersions: [v1], operations: [CREATE]`, `apiGroups: [apps], apiVersions: [v1], operations: ["*"]`, 1)
	}
	w.admit(decode(t, about("few", "deployments", "object.spec.replicas <= 3")+"---"+about("fewer", "deployments/scale", "object.spec.replicas <= 2 && oldObject.spec.replicas > 0")+"---"+
		about("by", "replicasets", "request.userInfo.username == 'system:serviceaccount:kube-system:deployment-controller'"))...)
	refused := func() string {
		var all string
		for _, r := range w.state.Refused {
			all += r.Message
		}
		return all
	}
	w.admit(decode(t, workload("Deployment", "web", "  replicas: 3\n"))...)
	w.check("created", refused(), "")
	scaled := w.state.Deployments[0].DeepCopy()
	scaled.Spec.Replicas = new(int32)
	*scaled.Spec.Replicas = 4
	next, _, err := Scale(w.state, scaled)
	if err != nil {
		t.Fatal(err)
	}
	w.check("scaled", next.Refused[0].Message, `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'fewer' with binding 'fewer' denied request: no`)
	w.check("as before", *next.Deployments[0].Spec.Replicas, int32(3))
	w.admit(scaled)
	w.check("applied", refused(), `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'few' with binding 'few' denied request: no`)

	controlled := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(w.state.Deployments[0], appsv1.SchemeGroupVersion.WithKind("Deployment")),
	}}}
	w.check("of a controller", NewPods(w.state).AdmitOther(controlled), nil)
	controlled.OwnerReferences = nil
	if err := NewPods(w.state).AdmitOther(controlled); err == nil {
		t.Error("a ReplicaSet of a user is not refused")
	}
}

// The API server compiles expressions when a policy is created. The error is upstream's.
func TestPoliciesAreChecked(t *testing.T) {
	for manifest, want := range map[string]string{
		strings.Split(validatingPolicy("a", "object.spec.nope(", "", deny), "---")[0]:                                `spec.validations[0].expression: Invalid value: "object.spec.nope(": compilation failed: ERROR: <input>:1:18: Syntax error: mismatched input '<EOF>'`,
		strings.Split(validatingPolicy("a", "'text'", "", deny), "---")[0]:                                           `spec.validations[0].expression: Invalid value: "'text'": must evaluate to bool but got string`,
		strings.Split(validatingPolicy("a", "true", "", ""), "---")[1]:                                               `spec.validationActions: Required value`,
		strings.Split(mutatingPolicy("a", "Perhaps", "Object{}"), "---")[0]:                                          `spec.reinvocationPolicy: Unsupported value: "Perhaps": supported values: "IfNeeded", "Never"`,
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {pod-security.kubernetes.io/enforce: strict}}": `metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted`,
	} {
		obj := decode(t, manifest)[0]
		_, problems := Create(obj, KindNamed(cluster.KindOf(obj)).GroupVersion(), "")
		if len(problems) != 1 || !strings.HasPrefix(problems[0], want) {
			t.Errorf("%q, want %s", problems, want)
		}
	}
}

// Optional plugins do nothing until the scenario switches them on or a namespace asks for them.
func TestOptionalPlugins(t *testing.T) {
	const namespace = "\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, annotations: {%s}}\n"
	apart := ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {}}]}}"
	for name, test := range map[string]struct {
		on, annotations, spec string
		want                  string
	}{
		"off":       {"", `scheduler.alpha.kubernetes.io/node-selector: "disk=fast"`, apart, "map[] 2 IfNotPresent"},
		"OpenShift": {"", `openshift.io/node-selector: "disk=fast"`, "", "map[disk:fast] 2 IfNotPresent"},
		"selector":  {"PodNodeSelector", `scheduler.alpha.kubernetes.io/node-selector: "disk=fast"`, "", "map[disk:fast] 2 IfNotPresent"},
		"selector in conflict": {"PodNodeSelector", `scheduler.alpha.kubernetes.io/node-selector: "disk=fast"`, ", nodeSelector: {disk: slow}",
			`pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector`},
		"tolerations":  {"PodTolerationRestriction", `scheduler.alpha.kubernetes.io/defaultTolerations: '[{"key": "a", "operator": "Exists"}]'`, "", "map[] 3 IfNotPresent"},
		"pulls always": {"AlwaysPullImages", "", "", "map[] 2 Always"},
		"anti-affinity": {"LimitPodHardAntiAffinityTopology", "", apart,
			`pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &cluster.State{Now: cluster.Epoch}
			if test.on != "" {
				s.APIServer.Plugins = []string{test.on}
			}
			next, _, err := Admit(s, decode(t, strings.Replace(pod(test.spec), "image: a", "image: 'a:1'", 1)+"---"+fmt.Sprintf(namespace, test.annotations))...)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, refusal := range next.Refused {
				got += refusal.Message
			}
			for _, pod := range next.Pods {
				got = fmt.Sprint(pod.Spec.NodeSelector, len(pod.Spec.Tolerations), pod.Spec.Containers[0].ImagePullPolicy)
				got = strings.Replace(got, "]", "] ", 1)
			}
			if diff := cmp.Diff(strings.ReplaceAll(test.want, " ", ""), strings.ReplaceAll(got, " ", "")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A pod that needs no chain of plugins is the same with the chain and without it.
func TestPlainPodsAreAsTheChainMakesThem(t *testing.T) {
	w := newWorld(t, 0)
	w.admit(decode(t, "\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\npreemptionPolicy: Never\n")...)
	for _, spec := range []string{"", ", priorityClassName: high", ", priorityClassName: nope", ", priorityClassName: high, priority: 3", ", tolerations: [{operator: Exists}]",
		", tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]", ", resources: {limits: {cpu: 1}}",
		", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, matchLabelKeys: [app]}]"} {
		manifest := strings.Replace(pod(spec), "name: p,", "name: p, labels: {app: web},", 1)
		plain, chained := decode(t, manifest)[0].(*v1.Pod), decode(t, manifest)[0].(*v1.Pod)
		p := NewPods(w.state)
		if !p.isPlain(plain) {
			t.Fatalf("%s: the pod needs the chain", spec)
		}
		err := p.Admit(plain)
		_, chainErr := p.admit(chained, func(string, runtime.Object) error { return nil })
		if fmt.Sprint(err) != fmt.Sprint(chainErr) {
			t.Errorf("%s: %v, and by the chain %v", spec, err, chainErr)
		} else if diff := cmp.Diff(plain, chained); diff != "" && err == nil {
			t.Errorf("%s (-plain +chain):\n%s", spec, diff)
		}
	}
}

// A pod gets the labels from its node that upstream's plugin gives it.
func TestLabelsByNodeAreUpstreams(t *testing.T) {
	for _, labels := range []map[string]string{nil, {v1.LabelTopologyZone: "a"}, {v1.LabelTopologyZone: "a", v1.LabelTopologyRegion: "r", v1.LabelHostname: "n"}} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
		factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(), 0)
		if err := factory.Core().V1().Nodes().Informer().GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
		plugin := podtopologylabels.NewPodTopologyPlugin(podtopologylabels.Config{Labels: []string{v1.LabelTopologyZone, v1.LabelTopologyRegion}})
		plugin.SetExternalKubeInformerFactory(factory)
		plugin.SetReadyFunc(func() bool { return true })
		plugin.InspectFeatureGates(utilfeature.DefaultFeatureGate)
		for _, own := range []map[string]string{nil, {"app": "web"}, {v1.LabelTopologyZone: "b"}} {
			given := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: own}, Spec: v1.PodSpec{NodeName: "n"}}
			var internal core.Pod
			if err := corev1.Convert_v1_Pod_To_core_Pod(given.DeepCopy(), &internal, nil); err != nil {
				t.Fatal(err)
			}
			request := apiadmission.NewAttributesRecord(&internal, nil, core.Kind("Pod").WithVersion("v1"), "default", "p", core.Resource("pods").WithVersion("v1"), "", apiadmission.Create, nil, false, nil)
			if err := plugin.Admit(context.Background(), request, nil); err != nil {
				t.Fatal(err)
			}
			before := fmt.Sprint(own)
			cluster.CopyTopologyLabels(given, node)
			if fmt.Sprint(given.Labels) != fmt.Sprint(internal.Labels) || fmt.Sprint(own) != before {
				t.Errorf("%v on a node with %v: %v, want %v", before, labels, given.Labels, internal.Labels)
			}
		}
	}
}
