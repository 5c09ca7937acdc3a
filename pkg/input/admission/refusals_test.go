package admission

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/cluster"
)

const gvisor = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
overhead: {podFixed: {cpu: 250m, memory: 64Mi}}
scheduling:
  nodeSelector: {runtime: gvisor}
  tolerations: [{key: runtime, operator: Equal, value: gvisor, effect: NoSchedule}]
`

func limitRange(limits string) string {
	return "apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits, namespace: default}\nspec: {limits: [" + limits + "]}\n"
}

func serviceAccountManifest(namespace, name string) string {
	return "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n"
}

func quotaOf(spec string) string {
	return "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: default}\nspec: {" + spec + "}\n"
}

func renamePod(name, manifest string) string {
	return strings.Replace(manifest, "name: p,", "name: "+name+",", 1)
}

func containersRequesting(cpu string) string {
	return ", containers: [{name: c, image: a, resources: {requests: {cpu: " + cpu + "}, limits: {cpu: '1'}}}]"
}

func podRequesting(cpu string) string {
	return strings.Replace(pod(containersRequesting(cpu)), "containers: [{name: c, image: a}], ", "", 1)
}

func claimOf(size string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: " + size + "}}}\n"
}

const service = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: default}\nspec: {type: NodePort, ports: [{name: a, port: 80}, {name: b, port: 81}]}\n"

// An object that an API server refuses is not an error of the input: the state lacks the object and has the reason. The messages are
// upstream's.
func TestAdmitRefuses(t *testing.T) {
	tests := []struct {
		name, before, manifests string
		want                    []string // the messages
		pods                    int      // the number of pods that are not created
	}{
		{"a RuntimeClass that is absent", "", pod(", runtimeClassName: gvisor"),
			[]string{`pods "p" is forbidden: pod rejected: RuntimeClass "gvisor" not found`}, 1},
		{"a RuntimeClass that comes after the pod", "", pod(", runtimeClassName: gvisor") + "---" + gvisor, nil, 0},
		{"another node selector than the class has", gvisor, pod(", runtimeClassName: gvisor, nodeSelector: {runtime: kata}"),
			[]string{`pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; pod.spec.nodeSelector[runtime] = kata`}, 1},
		{"another overhead than the class has", gvisor, pod(", runtimeClassName: gvisor, overhead: {cpu: 1}"),
			[]string{`pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`}, 1},
		{"an overhead without a class", "", pod(", overhead: {cpu: 1}"),
			[]string{`pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`}, 1},

		{"a service account that is absent where others are listed", serviceAccountManifest("default", "builder"), pod(", serviceAccountName: web"),
			[]string{`pods "p" is forbidden: error looking up service account default/web: serviceaccount "web" not found`}, 1},
		{"the same with another plugin", serviceAccountManifest("default", "builder") + "---\n" + limitRange("{type: Container, default: {cpu: 500m}}"), pod(", serviceAccountName: web"),
			[]string{`pods "p" is forbidden: error looking up service account default/web: serviceaccount "web" not found`}, 1},
		{"a service account that comes after the pod", serviceAccountManifest("default", "builder"), pod(", serviceAccountName: web") + "---\n" + serviceAccountManifest("default", "web"), nil, 0},
		{"the account that each namespace has", serviceAccountManifest("default", "builder"), pod(", serviceAccountName: default"), nil, 0},
		{"an account of a namespace without any", serviceAccountManifest("other", "builder"), pod(", serviceAccountName: web"), nil, 0},

		{"less than the least", limitRange("{type: Container, min: {cpu: 200m}}"), podRequesting("100m"),
			[]string{`pods "p" is forbidden: minimum cpu usage per Container is 200m, but request is 100m`}, 1},
		{"several bounds, in one order", limitRange("{type: Pod, max: {cpu: 500m, memory: 1Gi}, min: {memory: 1Mi}}"), podRequesting("100m"),
			[]string{`pods "p" is forbidden: [minimum memory usage per Pod is 1Mi.  No request is specified, maximum cpu usage per Pod is 500m, but limit is 1, maximum memory usage per Pod is 1Gi.  No limit is specified]`}, 1},
		{"several bounds of containers, one after the other", limitRange("{type: Container, min: {cpu: 100m, memory: 1Gi}, max: {cpu: 300m}, maxLimitRequestRatio: {cpu: '4'}}"),
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {initContainers: [{name: i, image: i, resources: {requests: {cpu: 50m, memory: 1Gi}, limits: {cpu: 60m, memory: 1Gi}}}], " +
				"containers: [{name: a, image: i, resources: {requests: {cpu: 200m, memory: 1Mi}, limits: {cpu: 300m}}}, " +
				"{name: b, image: i, resources: {requests: {cpu: 90m, memory: 1Gi}, limits: {cpu: 450m}}}]}\n",
			[]string{`pods "p" is forbidden: [minimum memory usage per Container is 1Gi, but request is 1Mi, minimum cpu usage per Container is 100m, but request is 90m, ` +
				`maximum cpu usage per Container is 300m, but limit is 450m, cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000, ` +
				`minimum cpu usage per Container is 100m, but request is 50m]`}, 1},
		{"a default that is more than the pod's limit", limitRange("{type: Container, defaultRequest: {cpu: '2'}}"),
			strings.Replace(podRequesting("1"), "requests: {cpu: 1}, ", "", 1), nil, 0}, // by then, its request is its limit
		{"a default limit that is less than the pod's request", limitRange("{type: Container, default: {memory: 1Mi}}"),
			strings.Replace(podRequesting("1"), "cpu: 1}", "cpu: 1, memory: 2Mi}", 1),
			[]string{`Pod "p" is invalid: spec.containers[0].resources.requests: Invalid value: "2Mi": must be less than or equal to memory limit of 1Mi`}, 1},
		{"two requests above default limits, in one order", limitRange("{type: Container, default: {cpu: 1, memory: 1Mi}}"),
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: a, resources: {requests: {cpu: 2, memory: 2Mi}}}]}\n",
			[]string{`Pod "p" is invalid: [spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1, spec.containers[0].resources.requests: Invalid value: "2Mi": must be less than or equal to memory limit of 1Mi]`}, 1},
		{"limits of another namespace", strings.Replace(limitRange("{type: Container, min: {cpu: 200m}}"), "default}", "other}", 1), podRequesting("100m"), nil, 0},
		{"a claim larger than the largest", limitRange("{type: PersistentVolumeClaim, max: {storage: 1Gi}}"), claimOf("2Gi"),
			[]string{`persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi`}, 0},

		{"the second of one pod", quotaOf("hard: {pods: '1'}"), pod("") + "---" + renamePod("p2", pod("")),
			[]string{`pods "p2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`}, 1},
		{"a quota that comes after the pods", "", pod("") + "---" + renamePod("p2", pod("")) + "---" + quotaOf("hard: {pods: '1'}"),
			[]string{`pods "p2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`}, 1},
		{"no request where requests are limited", quotaOf("hard: {requests.cpu: '1'}"), pod(""),
			[]string{`pods "p" is forbidden: failed quota: q: must specify requests.cpu for: c`}, 1},
		{"a default request where requests are limited", limitRange("{type: Container, defaultRequest: {cpu: 100m}}") + "---" + quotaOf("hard: {requests.cpu: '1'}"), pod(""), nil, 0},
		{"overhead counts", gvisor + "---" + quotaOf("hard: {requests.cpu: 300m}"), strings.Replace(podRequesting("100m"), "spec: {", "spec: {runtimeClassName: gvisor, ", 1),
			[]string{`pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=350m, used: requests.cpu=0, limited: requests.cpu=300m`}, 1},
		{"the scope BestEffort", quotaOf("hard: {pods: '0'}, scopes: [BestEffort]"), podRequesting("100m") + "---" + renamePod("p2", pod("")),
			[]string{`pods "p2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`}, 1},
		{"the scope of a priority class",
			quotaOf("hard: {pods: '0'}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [system-node-critical]}]}"),
			pod("") + "---" + renamePod("p2", pod(", priorityClassName: system-node-critical")),
			[]string{`pods "p2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0`}, 1},
		{"a service beside the API server's own", quotaOf("hard: {services: '1'}"), service,
			[]string{`services "s" is forbidden: exceeded quota: q, requested: services=1, used: services=1, limited: services=1`}, 0},
		{"the API server's own, which counts once", strings.NewReplacer("name: s,", "name: kubernetes,", "NodePort", "ClusterIP").Replace(service) + "---\n" + quotaOf("hard: {services: '2'}"), service,
			nil, 0},
		{"no such service in other namespaces", strings.Replace(quotaOf("hard: {services: '1'}"), "default}", "other}", 1), strings.Replace(service, "default}", "other}", 1),
			nil, 0},
		{"the node ports of services", quotaOf("hard: {services.nodeports: '1'}"), service,
			[]string{`services "s" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1`}, 0},
		{"the storage of claims", quotaOf("hard: {requests.storage: 1Gi}"), claimOf("2Gi"),
			[]string{`persistentvolumeclaims "data" is forbidden: exceeded quota: q, requested: requests.storage=2Gi, used: requests.storage=0, limited: requests.storage=1Gi`}, 0},
		{"the number of Deployments", quotaOf("hard: {count/deployments.apps: '0'}"), workload("Deployment", "web", "  replicas: 1\n"),
			[]string{`deployments.apps "web" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0`}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, 1)
			if test.before != "" {
				w.admit(decode(t, test.before)...)
			}
			given := decode(t, test.manifests)
			before, known := len(w.state.Objects()), len(w.state.Namespaces)
			w.admit(given...)
			var got []string
			pods := 0
			for _, r := range w.state.Refused {
				got = append(got, r.Message)
				pods += r.Pods
			}
			w.check("messages", got, test.want)
			w.check("pods not created", pods, test.pods)
			w.check("objects created", len(w.state.Objects())-before, len(given)-len(test.want)+len(w.state.Namespaces)-known)
		})
	}
}

func TestAdmitCompletesByRuntimeClass(t *testing.T) {
	w := newWorld(t, 1)
	w.admit(decode(t, gvisor)...)
	w.admit(decode(t, pod(", runtimeClassName: gvisor, nodeSelector: {disk: ssd}"))...)
	spec := w.state.Pods[0].Spec
	w.check("node selector", spec.NodeSelector, map[string]string{"disk": "ssd", "runtime": "gvisor"})
	w.check("overhead", formatAmounts(spec.Overhead), "cpu=250m,memory=64Mi")
	w.check("tolerations", spec.Tolerations, append(defaultTolerations(nil),
		v1.Toleration{Key: "runtime", Operator: v1.TolerationOpEqual, Value: "gvisor", Effect: v1.TaintEffectNoSchedule}))
}

func TestAdmitCompletesByLimitRange(t *testing.T) {
	w := newWorld(t, 1)
	w.admit(decode(t, limitRange("{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m, memory: 1Mi}}"))...)
	given := decode(t, pod(""))
	w.admit(given...)
	pod := w.state.Pods[0]
	w.check("requests", formatAmounts(pod.Spec.Containers[0].Resources.Requests), "cpu=100m,memory=1Mi")
	w.check("limits", formatAmounts(pod.Spec.Containers[0].Resources.Limits), "cpu=500m")
	w.check("quality of service", pod.Status.QOSClass, v1.PodQOSBurstable)
	w.check("annotation", pod.Annotations, map[string]string{"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c"})
	w.check("what was given", len(given[0].(*v1.Pod).Spec.Containers[0].Resources.Requests), 0)
}

// A dump that has a RuntimeClass has all of them: new pods that name another one are refused, even if running pods name it.
func TestAdmitAddsNoRuntimeClassToThoseOfADump(t *testing.T) {
	w := newWorld(t, 1)
	class := decode(t, "\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata, resourceVersion: \"3\"}\nhandler: kata\n")[0]
	running := decode(t, pod(", runtimeClassName: gvisor, nodeName: n1, overhead: {cpu: 1}"))[0].(*v1.Pod)
	running.ResourceVersion, running.Status.Phase, running.CreationTimestamp = "7", v1.PodRunning, cluster.Epoch
	w.admit(class, running)
	w.check("the pod that runs", len(w.state.Pods), 1)
	w.admit(decode(t, renamePod("p2", pod(", runtimeClassName: gvisor")))...)
	w.check("pods", len(w.state.Pods), 1)
	w.check("refused", len(w.state.Refused), 1)
}

// A cluster has the service accounts that its pods were created with, even if the dump leaves them out.
func TestServiceAccountsOfADump(t *testing.T) {
	w := newWorld(t, 1)
	running := decode(t, pod(", serviceAccountName: web, nodeName: n1"))[0].(*v1.Pod)
	running.ResourceVersion, running.Status.Phase, running.CreationTimestamp = "7", v1.PodRunning, cluster.Epoch
	w.admit(append(decode(t, serviceAccountManifest("default", "builder")), running)...)
	w.admit(decode(t, renamePod("p2", pod(", serviceAccountName: web")))...)
	w.admit(decode(t, renamePod("p3", pod(", serviceAccountName: api")))...)
	w.check("pods", len(w.state.Pods), 2)
	w.check("refused", len(w.state.Refused), 1)
}

// If a role does not allow reading a kind, its objects are unknown, not missing: a new pod may name an unknown class.
func TestUnreadClasses(t *testing.T) {
	for _, unread := range []bool{false, true} {
		w := newWorld(t, 1)
		if unread {
			w.state.Unread = []string{"PriorityClass", "RuntimeClass"}
		}
		running := decode(t, renamePod("running", pod(", priorityClassName: high, priority: 7, nodeName: n1")))[0].(*v1.Pod)
		running.ResourceVersion, running.Status.Phase, running.CreationTimestamp = "7", v1.PodRunning, cluster.Epoch
		w.admit(running)
		notes := w.admit(decode(t, renamePod("a", pod(", priorityClassName: high"))+"---"+renamePod("b", pod(", priorityClassName: low"))+"---"+renamePod("c", pod(", runtimeClassName: kata")))...)
		var got []string
		for _, pod := range w.state.Pods[1:] {
			got = append(got, fmt.Sprint(pod.Name, *pod.Spec.Priority))
		}
		wantPods, wantNotes := []string{"a7"}, []string(nil)
		if unread {
			wantPods = []string{"a7", "b0", "c0"}
			wantNotes = []string{
				"RuntimeClass kata was not given and was created with the overhead of Pod default/c, and without a node selector and tolerations",
				"PriorityClass low may not be read and no pod says its value, so that the priority of Pod default/b is assumed to be 0",
			}
		}
		w.check("pods", got, wantPods)
		w.check("notes", notes, wantNotes)
	}
}

// A cluster has the RuntimeClasses that its pods were created with, even if the dump leaves them out.
func TestAdmitAddsTheRuntimeClassesOfADump(t *testing.T) {
	w := newWorld(t, 1)
	running := decode(t, pod(", runtimeClassName: gvisor, nodeName: n1, overhead: {cpu: 1}"))[0].(*v1.Pod)
	running.ResourceVersion, running.Status.Phase, running.CreationTimestamp = "7", v1.PodRunning, cluster.Epoch
	notes := w.admit(running)
	w.check("notes", notes, []string{"RuntimeClass gvisor was not given and was created with the overhead of Pod default/p, and without a node selector and tolerations"})
	w.check("refused", len(w.state.Refused), 0)
	w.admit(decode(t, renamePod("p2", pod(", runtimeClassName: gvisor")))...)
	w.check("overhead", formatAmounts(w.state.Pods[1].Spec.Overhead), "cpu=1")
}

// A quota may be smaller than the present usage: it was lowered, or created later.
func TestAQuotaBelowWhatRuns(t *testing.T) {
	w := newWorld(t, 1)
	w.admit(decode(t, pod("")+"---"+renamePod("p2", pod("")))...)
	notes := w.admit(decode(t, quotaOf("hard: {pods: '1', configmaps: '3', count/controllerrevisions.apps: '9'}"))...)
	w.check("notes", notes, []string{
		"ResourceQuota default/q is exceeded as it is (used: pods=2, limited: pods=1); what would add to it is refused",
		"ResourceQuotas limit configmaps, count/controllerrevisions.apps, which a simulation does not count",
	})
	w.check("pods", len(w.state.Pods), 2)
}

// A pod that is being deleted counts until it should long be gone: twice its grace period after the request, since its deletion timestamp
// already includes it once.
func TestQuotasCountTerminatingPods(t *testing.T) {
	w := newWorld(t, 1)
	w.admit(decode(t, quotaOf("hard: {pods: '1'}")+"---"+pod(""))...)
	ending := *w.state.Pods[0]
	at, grace := metav1.NewTime(cluster.Epoch.Add(30e9)), int64(30)
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &at, &grace
	w.state = w.state.With(&ending)
	var got []string
	for _, second := range []int64{0, 60, 61} {
		later := *w.state
		later.Now = metav1.Unix(cluster.Epoch.Unix()+second, 0)
		if err := NewQuotas(&later, PodUsage{}).Admit(decode(t, renamePod("p2", pod("")))[0]); err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, "")
		}
	}
	refused := `pods "p2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`
	if diff := cmp.Diff([]string{refused, refused, ""}, got); diff != "" {
		t.Errorf("after 0, 60 and 61 s (-want +got):\n%s", diff)
	}
}

// A namespace that is being terminated takes no new pods from controllers.
func TestEndingNamespace(t *testing.T) {
	pods := NewPods(&cluster.State{Namespaces: []*v1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "old"}, Status: v1.NamespaceStatus{Phase: v1.NamespaceTerminating}}, {ObjectMeta: metav1.ObjectMeta{Name: "new"}},
	}})
	for namespace, want := range map[string]string{
		"old": `pods "web-" is forbidden: unable to create new content in namespace old because it is being terminated`, "new": "",
	} {
		got := ""
		if err := pods.Admit(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "web-"}}); err != nil {
			if got = err.Error(); !IsRefusal(err) {
				t.Errorf("%q is no refusal", got)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", namespace, got, want)
		}
	}
}
