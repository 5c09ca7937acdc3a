package admission

import (
	"context"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/alwayspullimages"
	"k8s.io/kubernetes/plugin/pkg/admission/antiaffinity"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/extendedresourcetoleration"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/podnodeselector"
	"k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/kubernetes/plugin/pkg/admission/security/podsecurity"

	"github.com/faultline/faultline/pkg/cluster"
)

// chain is the API server's chain of admission plugins for one state. A request passes the chain in these steps, as in an API server. Each
// plugin may change the object. If a policy has changed the object, all plugins do so a second time. The object is validated. Each plugin
// may refuse the object.
type chain struct {
	plugins  []plugin
	policies *policies
	// user sends the requests that come from no controller.
	user user.Info
}

// plugin is an admission plugin, with its name in an API server.
type plugin struct {
	name string
	apiadmission.Interface
}

// optionalPlugins lists upstream's plugins that few clusters need. They are off unless the scenario switches them on. PodSecurity switches itself
// on: it does nothing in namespaces without its labels.
var optionalPlugins = map[string]func(*apiadmission.Plugins){
	antiaffinity.PluginName: antiaffinity.Register, alwayspullimages.PluginName: alwayspullimages.Register,
	podsecurity.PluginName: podsecurity.Register, podnodeselector.PluginName: podnodeselector.Register,
	podtolerationrestriction.PluginName: podtolerationrestriction.Register, extendedresourcetoleration.PluginName: extendedresourcetoleration.Register,
}

// OptionalPlugins returns the names of the plugins that a scenario can switch on, sorted.
func OptionalPlugins() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(optionalPlugins)), func(name string) bool { return name == podsecurity.PluginName })
}

const (
	podSecurityLabel   = "pod-security.kubernetes.io/"
	openShiftSelector  = "openshift.io/node-selector"
	priorityPlugin     = "Priority"
	mutatingPolicies   = "MutatingAdmissionPolicy"
	validatingPolicies = "ValidatingAdmissionPolicy"
)

// OpenShift's API server also has the plugin PodNodeSelector, with an annotation of its own.
func init() {
	podnodeselector.NamespaceNodeSelectors = append(podnodeselector.NamespaceNodeSelectors, openShiftSelector)
}

// enabledPlugins returns the optional plugins that the state's API server runs.
func enabledPlugins(s *cluster.State) []string {
	on := slices.Clone(s.APIServer.Plugins)
	for _, ns := range s.Namespaces {
		for label := range ns.Labels {
			if strings.HasPrefix(label, podSecurityLabel) {
				on = append(on, podsecurity.PluginName)
			}
		}
		if _, given := ns.Annotations[openShiftSelector]; given {
			on = append(on, podnodeselector.PluginName)
		}
	}
	slices.Sort(on)
	return slices.Compact(on)
}

// newChain returns the chain with the plugins that are on, in the order of AllOrderedPlugins in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubeapiserver/options/plugins.go. It leaves out plugins for objects other than
// pods, workloads and claims; docs/model.md lists them all.
func newChain(p *Pods, on []string) (*chain, error) {
	s, client := p.state, fake.NewSimpleClientset() // plugins ask it for objects that their informers lack; it is empty
	factory := informers.NewSharedInformerFactory(client, 0)
	namespaces, classes := factory.Core().V1().Namespaces(), factory.Node().V1().RuntimeClasses()
	for _, ns := range s.Namespaces {
		if err := namespaces.Informer().GetIndexer().Add(ns); err != nil {
			return nil, err
		}
	}
	for _, class := range s.RuntimeClasses {
		if err := classes.Informer().GetIndexer().Add(class); err != nil {
			return nil, err
		}
	}
	registry := apiadmission.NewPlugins()
	for _, register := range optionalPlugins {
		register(registry)
	}
	set := initializer.New(client, nil, factory, nil, utilfeature.DefaultFeatureGate, compatibility.DefaultBuildEffectiveVersion(), nil, nil)
	c := &chain{policies: newPolicies(s, namespaces.Lister(), client), user: userNamed(s.APIServer.User)}
	for _, next := range []plugin{
		{antiaffinity.PluginName, nil},
		{limitranger.PluginName, limitRanger{s}},
		{serviceAccountPlugin, serviceAccounts{p.accounts}},
		{alwayspullimages.PluginName, nil},
		{podsecurity.PluginName, nil},
		{podnodeselector.PluginName, nil},
		{priorityPlugin, prioritySetter{p}},
		{defaulttolerationseconds.PluginName, defaulttolerationseconds.NewDefaultTolerationSeconds()},
		{podtolerationrestriction.PluginName, nil},
		{extendedresourcetoleration.PluginName, nil},
		{runtimeclass.PluginName, runtimeclass.NewRuntimeClass()},
		{mutatingPolicies, mutatingPlugin{c.policies}},
		{validatingPolicies, validatingPlugin{c.policies}},
	} {
		if next.Interface == nil {
			if !slices.Contains(on, next.name) {
				continue
			}
			var err error
			if next.Interface, err = registry.InitPlugin(next.name, io.Reader(nil), set); err != nil {
				return nil, err
			}
		}
		set.Initialize(next.Interface)
		if informed, is := next.Interface.(interface {
			SetReadyFunc(apiadmission.ReadyFunc)
		}); is {
			informed.SetReadyFunc(func() bool { return true })
		}
		c.plugins = append(c.plugins, next)
	}
	return c, nil
}

// apiRequest is a request to create an object or, if was is set, to change the object was to obj.
type apiRequest struct {
	obj, was cluster.Object
	// scale means that the request is for the subresource scale. Policies for the object itself do not match it.
	scale bool
	// afterPlugin, if set, is called after each plugin with the object as the plugin left it, in its internal version.
	afterPlugin func(plugin string, internal runtime.Object) error
}

// admit runs the object of the request through the plugins, which may change it in place. It returns their warnings, and an error if a
// plugin refuses the object.
func (c *chain) admit(r apiRequest) (said warnings, err error) {
	internal, old, err := r.internal()
	if err != nil {
		return nil, err
	}
	ctx := warning.WithWarningRecorder(klog.NewContext(context.Background(), logr.Discard()), &said)
	given := internal.DeepCopyObject()
	if err := c.mutate(ctx, r.attributes(internal, old, r.obj.GetName(), c.user), r.afterPlugin); err != nil {
		return said, err
	}
	changed := !apiequality.Semantic.DeepEqual(given, internal)
	if pod, is := internal.(*core.Pod); is && old == nil {
		if err := preparePod(pod); err != nil {
			return said, err
		}
	}
	named := internal.(cluster.Object)
	if named.GetName() == "" { // the API server has generated the name by now; the prototype of a controller's pods has none, so any valid name will do
		named.SetName(GenerateName(named.GetGenerateName(), 0))
	}
	if kind := KindNamed(cluster.KindOf(r.obj)); changed && !r.scale {
		if errs := kind.validate(internal.DeepCopyObject(), old); len(errs) > 0 {
			slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) }) // upstream finds some errors in the order of a map
			return said, apierrors.NewInvalid(kind.GroupVersion().WithKind(kind.name).GroupKind(), nameInMessages(r.obj), errs)
		}
	}
	request := r.attributes(internal, old, nameInMessages(r.obj), c.user)
	for _, p := range c.plugins {
		if validator, is := p.Interface.(apiadmission.ValidationInterface); is && p.Handles(request.GetOperation()) {
			if err := validator.Validate(ctx, request, objectInterfaces); err != nil {
				return said, err
			}
		}
	}
	named.SetName(r.obj.GetName())
	return said, r.copyBack(internal)
}

// mutate calls the plugins that change objects, and calls them a second time if a policy has changed the object. See reinvocation.go in
// https://github.com/kubernetes/kubernetes/tree/v1.37.1/staging/src/k8s.io/apiserver/pkg/admission.
func (c *chain) mutate(ctx context.Context, request apiadmission.Attributes, seen func(string, runtime.Object) error) error {
	again := request.GetReinvocationContext()
	for {
		for _, p := range c.plugins {
			mutator, is := p.Interface.(apiadmission.MutationInterface)
			if !is || !p.Handles(request.GetOperation()) {
				continue
			}
			if err := mutator.Admit(ctx, request, objectInterfaces); err != nil {
				return err
			}
			if seen != nil {
				if err := seen(p.name, request.GetObject()); err != nil {
					return err
				}
			}
		}
		if !again.ShouldReinvoke() || again.IsReinvoke() {
			return nil
		}
		again.SetIsReinvoke()
	}
}

var objectInterfaces = apiadmission.NewObjectInterfacesFromScheme(legacyscheme.Scheme)

// preparePod does what the strategy of pods does after the plugins have changed the pod and before its validation.
func preparePod(pod *core.Pod) error {
	podutil.DefaultPodLevelResources(pod)
	var external v1.Pod
	if err := corev1.Convert_core_Pod_To_v1_Pod(pod, &external, nil); err != nil {
		return err
	}
	cluster.MergeLabelKeys(&external)
	return corev1.Convert_v1_Pod_To_core_Pod(&external, pod, nil)
}

// internal returns the object and its old version in their internal versions. For a request to scale, it returns their Scales instead.
func (r apiRequest) internal() (obj, old runtime.Object, err error) {
	convert := func(o cluster.Object) (runtime.Object, error) {
		if r.scale {
			return newScale(o), nil
		}
		return legacyscheme.Scheme.ConvertToVersion(o, runtime.InternalGroupVersioner)
	}
	if r.was != nil {
		if old, err = convert(r.was); err != nil {
			return nil, nil, err
		}
	}
	obj, err = convert(r.obj)
	return obj, old, err
}

// copyBack copies the admitted object to the object of the request.
func (r apiRequest) copyBack(internal runtime.Object) error {
	if scale, is := internal.(*autoscaling.Scale); is {
		*cluster.ReplicasOf(r.obj) = &scale.Spec.Replicas
		return nil
	}
	external, err := legacyscheme.Scheme.ConvertToVersion(internal, KindNamed(cluster.KindOf(r.obj)).GroupVersion())
	if err != nil {
		return err
	}
	external.GetObjectKind().SetGroupVersionKind(r.obj.GetObjectKind().GroupVersionKind())
	reflect.ValueOf(r.obj).Elem().Set(reflect.ValueOf(external).Elem())
	return nil
}

// newScale returns the object's subresource scale.
func newScale(obj cluster.Object) *autoscaling.Scale {
	replicas, _ := cluster.Replicas(obj)
	return &autoscaling.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(), CreationTimestamp: obj.GetCreationTimestamp()},
		Spec:       autoscaling.ScaleSpec{Replicas: replicas},
		Status:     autoscaling.ScaleStatus{Replicas: replicas, Selector: metav1.FormatLabelSelector(cluster.Selector(obj))},
	}
}

// attributes returns the request as plugins see it. A controller sends its requests from its service account.
func (r apiRequest) attributes(internal, old runtime.Object, name string, by user.Info) apiadmission.Attributes {
	kind, subresource := KindNamed(cluster.KindOf(r.obj)), ""
	gvk := kind.GroupVersion().WithKind(kind.name)
	if r.scale {
		gvk, subresource = autoscalingv1.SchemeGroupVersion.WithKind("Scale"), "scale"
	}
	operation, options := apiadmission.Create, runtime.Object(&metav1.CreateOptions{})
	if old != nil {
		operation, options = apiadmission.Update, &metav1.UpdateOptions{}
	} else if owner := metav1.GetControllerOfNoCopy(r.obj); owner != nil && controllerAccounts[owner.Kind] != "" {
		by = serviceaccount.UserInfo(metav1.NamespaceSystem, controllerAccounts[owner.Kind]+"-controller", "")
	}
	return apiadmission.NewAttributesRecord(internal, old, gvk, r.obj.GetNamespace(), name, kind.resource(), subresource, operation, options, false, by)
}

// controllerAccounts lists the controllers that create objects, by the kind of the objects' owner. The names are without "-controller". See
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go.
var controllerAccounts = map[string]string{
	"Deployment": "deployment", "ReplicaSet": "replicaset", "ReplicationController": "replication", "StatefulSet": "statefulset",
	"DaemonSet": "daemon-set", "Job": "job", "CronJob": "cronjob",
}

// userNamed returns the user with that name, in the groups that it has in a cluster of kubeadm.
func userNamed(name string) user.Info {
	if namespace, account, err := serviceaccount.SplitUsername(name); err == nil {
		return serviceaccount.UserInfo(namespace, account, "")
	}
	groups := []string{user.AllAuthenticated}
	if name == "" {
		name, groups = "kubernetes-admin", []string{"kubeadm:cluster-admins", user.AllAuthenticated}
	}
	return &user.DefaultInfo{Name: name, Groups: groups}
}

// warnings collects the warnings of plugins.
type warnings []string

// AddWarning implements warning.Recorder.
func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// limitRanger is the plugin LimitRanger for new pods; see limitrange.go.
type limitRanger struct{ state *cluster.State }

func (limitRanger) Handles(operation apiadmission.Operation) bool {
	return operation == apiadmission.Create
}

// Admit implements admission.MutationInterface.
func (l limitRanger) Admit(_ context.Context, a apiadmission.Attributes, _ apiadmission.ObjectInterfaces) error {
	pod, is := a.GetObject().(*core.Pod)
	if !is {
		return nil
	}
	for _, limits := range limitRangesOf(l.state, a.GetNamespace()) {
		if err := limitranger.PodMutateLimitFunc(limits, pod); err != nil {
			return err
		}
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (l limitRanger) Validate(_ context.Context, a apiadmission.Attributes, _ apiadmission.ObjectInterfaces) error {
	if pod, is := a.GetObject().(*core.Pod); is {
		return checkPodLimits(a, limitRangesOf(l.state, a.GetNamespace()), pod)
	}
	return nil
}

// prioritySetter is the plugin Priority for new pods; see pod.go.
type prioritySetter struct{ *Pods }

func (prioritySetter) Handles(operation apiadmission.Operation) bool {
	return operation == apiadmission.Create
}

// Admit implements admission.MutationInterface.
func (p prioritySetter) Admit(_ context.Context, a apiadmission.Attributes, _ apiadmission.ObjectInterfaces) error {
	pod, is := a.GetObject().(*core.Pod)
	if !is {
		return nil
	}
	preemption := (*v1.PreemptionPolicy)(pod.Spec.PreemptionPolicy)
	err := p.setPriority(&pod.Spec.PriorityClassName, &pod.Spec.Priority, &preemption)
	pod.Spec.PreemptionPolicy = (*core.PreemptionPolicy)(preemption)
	if err != nil {
		return apiadmission.NewForbidden(a, err)
	}
	return nil
}
