package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingapiv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
)

// Pods admits new pods, whoever creates them. It sets the API server's defaults of a pod, which a template does not have, and runs the API
// server's plugins except the last one, ResourceQuota; see [Quotas].
type Pods struct {
	state   *cluster.State
	classes map[string]*schedulingv1.PriorityClass
	// byDefault is the PriorityClass of pods that name none; nil if there is no default class.
	byDefault *schedulingv1.PriorityClass
	accounts  accounts
	ending    map[string]bool // namespaces that are being terminated
	// enabled lists the optional plugins that are on. The chain is nil until an object needs it.
	enabled []string
	chain   *chain
	// owner finds the workload whose mutations a pod gets; nil until it is needed.
	owner func(*v1.Pod) cluster.Ref
}

// Follow returns the Pods of the state s. If nothing that matters to admission has changed, it shares what p knows. p may be nil.
func (p *Pods) Follow(s *cluster.State) *Pods {
	if p == nil || !cluster.SameSlice(p.state.Policies, s.Policies) || !cluster.SameSlice(p.state.Namespaces, s.Namespaces) || !cluster.SameSlice(p.state.LimitRanges, s.LimitRanges) ||
		!cluster.SameSlice(p.state.PriorityClasses, s.PriorityClasses) || !cluster.SameSlice(p.state.RuntimeClasses, s.RuntimeClasses) ||
		!cluster.SameSlice(p.state.ServiceAccounts, s.ServiceAccounts) {
		return NewPods(s)
	}
	next := *p
	next.state, next.owner = s, nil
	return &next
}

// NewPods returns a Pods with the classes, LimitRanges, policies and namespaces of the state.
func NewPods(s *cluster.State) *Pods {
	p := &Pods{state: s, classes: map[string]*schedulingv1.PriorityClass{}, accounts: newAccounts(s), enabled: enabledPlugins(s), ending: map[string]bool{}}
	for _, ns := range s.Namespaces {
		if ns.Status.Phase == v1.NamespaceTerminating {
			p.ending[ns.Name] = true
		}
	}
	for _, class := range schedulingapiv1.SystemPriorityClasses() {
		p.classes[class.Name] = class
	}
	for _, class := range s.PriorityClasses {
		p.classes[class.Name] = class
		if class.GlobalDefault && (p.byDefault == nil || class.Value < p.byDefault.Value) {
			p.byDefault = class
		}
	}
	return p
}

// Admit completes a new pod in place, or returns the error with which the API server refuses it; see [IsRefusal]. The pod must not share its
// containers with other pods. Admit copies everything else before changing it.
func (p *Pods) Admit(pod *v1.Pod) error {
	if err := p.checkNamespace(pod); err != nil {
		return err
	}
	_, err := p.admit(pod, nil)
	return err
}

// checkNamespace returns the error with which the API server refuses a new object in a namespace that is being terminated, as in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go.
func (p *Pods) checkNamespace(obj cluster.Object) error {
	if !p.ending[obj.GetNamespace()] {
		return nil
	}
	return apierrors.NewForbidden(KindNamed(cluster.KindOf(obj)).resource().GroupResource(), nameInMessages(obj), errors.New(endingNamespace(obj.GetNamespace())))
}

// endingNamespace is why a namespace takes nothing new.
func endingNamespace(name string) string {
	return fmt.Sprintf("unable to create new content in namespace %s because it is being terminated", name)
}

// admit is [Pods.Admit] with the warnings of plugins. If seen is set, it is called with the pod after each plugin.
func (p *Pods) admit(pod *v1.Pod, seen func(plugin string, internal runtime.Object) error) (said []string, err error) {
	legacyscheme.Scheme.Default(pod)
	p.applyMutations(pod)
	p.joinAskedGroup(pod)
	if seen != nil {
		if err := seen("MutatingAdmissionWebhook", pod); err != nil {
			return nil, err
		}
	}
	if p.isPlain(pod) && seen == nil {
		err = p.admitPlain(pod)
	} else if err = p.buildChain(); err == nil {
		said, err = p.chain.admit(apiRequest{obj: pod, afterPlugin: seen})
	}
	if err == nil {
		pod.Status = v1.PodStatus{Phase: v1.PodPending, QOSClass: qos.ComputePodQOS(pod)}
	}
	return said, err
}

// AdmitOther runs a new object of a controller, other than a pod, through the plugins that few clusters need. They may change it in place.
// The error is the API server's refusal.
func (p *Pods) AdmitOther(obj cluster.Object) error {
	if group, is := obj.(*schedulingv1beta1.PodGroup); is {
		if err := p.admitPodGroup(group); err != nil {
			return err
		}
	}
	if err := p.checkNamespace(obj); err != nil || len(p.enabled) == 0 && len(p.state.Policies) == 0 {
		return err
	}
	if err := p.buildChain(); err != nil {
		return err
	}
	_, err := p.chain.admit(apiRequest{obj: obj})
	return err
}

// MutateByPolicies returns the pod as the MutatingAdmissionPolicies change it, or the pod itself if there are no policies or one of them refuses
// it.
func (p *Pods) MutateByPolicies(pod *v1.Pod) *v1.Pod {
	if len(p.state.Policies) == 0 || p.buildChain() != nil || len(p.chain.policies.mutating) == 0 {
		return pod
	}
	r := apiRequest{obj: pod.DeepCopy()}
	internal, _, err := r.internal()
	if err != nil {
		return pod
	}
	if err := (mutatingPlugin{p.chain.policies}).Admit(context.Background(), r.attributes(internal, nil, pod.Name, p.chain.user), objectInterfaces); err != nil {
		return pod
	}
	if r.copyBack(internal) != nil {
		return pod
	}
	return r.obj.(*v1.Pod)
}

// isPlain reports whether no plugins except ServiceAccount, Priority and DefaultTolerationSeconds act on the pod.
func (p *Pods) isPlain(pod *v1.Pod) bool {
	return len(p.enabled) == 0 && len(p.state.Policies) == 0 && pod.Spec.RuntimeClassName == nil && pod.Spec.Overhead == nil && len(limitRangesOf(p.state, pod.Namespace)) == 0
}

// admitPlain does what the chain does for a plain pod, many times as fast: it needs no internal version.
func (p *Pods) admitPlain(pod *v1.Pod) error {
	spec := &pod.Spec
	if err := p.accounts.checkAccount(pod.Namespace, spec.ServiceAccountName); err != nil {
		return apierrors.NewForbidden(v1.Resource("pods"), nameInMessages(pod), err)
	}
	if err := p.setPriority(&spec.PriorityClassName, &spec.Priority, &spec.PreemptionPolicy); err != nil {
		return apierrors.NewForbidden(v1.Resource("pods"), nameInMessages(pod), err)
	}
	spec.Tolerations = defaultTolerations(spec.Tolerations)
	cluster.MergeLabelKeys(pod)
	return defaultPodLevelResources(spec)
}

// buildChain makes the chain of plugins once. Few states need it.
func (p *Pods) buildChain() (err error) {
	if p.chain == nil {
		p.chain, err = newChain(p, p.enabled)
	}
	return err
}

// applyMutations makes the changes that webhooks make. It runs before the plugins, because an API server calls its plugins again after webhooks.
func (p *Pods) applyMutations(pod *v1.Pod) {
	if p.state.Mutations == nil {
		return
	}
	if p.owner == nil {
		p.owner = p.state.Owners()
	}
	p.state.Mutations.Lookup(p.owner(pod)).Apply(pod)
}

// joinAskedGroup puts the pod into the pod group that it asks another scheduler for, if the state has a group of that name. The scheduler here
// knows no other groups.
func (p *Pods) joinAskedGroup(pod *v1.Pod) {
	if len(p.state.PodGroups) == 0 || pod.Spec.SchedulingGroup != nil || !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return
	}
	name := cluster.AskedPodGroup(pod)
	asked := func(group *schedulingv1beta1.PodGroup) bool {
		return group.Namespace == pod.Namespace && group.Name == name
	}
	if slices.ContainsFunc(p.state.PodGroups, asked) {
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
	}
}

// defaultPodLevelResources sets the pod-level resource requests, as PrepareForCreate does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/registry/core/pod/strategy.go for internal types.
func defaultPodLevelResources(spec *v1.PodSpec) error {
	if spec.Resources == nil {
		return nil
	}
	var internal core.Pod
	if err := corev1.Convert_v1_PodSpec_To_core_PodSpec(spec.DeepCopy(), &internal.Spec, nil); err != nil {
		return err
	}
	podutil.DefaultPodLevelResources(&internal)
	defaulted := &v1.ResourceRequirements{}
	if err := corev1.Convert_core_ResourceRequirements_To_v1_ResourceRequirements(internal.Spec.Resources, defaulted, nil); err != nil {
		return err
	}
	spec.Resources = defaulted
	return nil
}

// setPriority does what admitPod does in https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/priority/admission.go.
// It sets the name of the class, the priority and the preemption policy of a pod.
func (p *Pods) setPriority(class *string, priority **int32, policy **v1.PreemptionPolicy) error {
	value, preemption, err := p.establishPriority(class)
	if err != nil {
		return err
	}
	if *priority != nil && **priority != value {
		return fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", **priority, value)
	}
	*priority = &value
	if preemption != nil {
		if *policy != nil && **policy != *preemption {
			return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", **policy, *preemption)
		}
		*policy = preemption
	}
	return nil
}

// establishPriority copies the function of that name in the same file. It sets the name of the class.
func (p *Pods) establishPriority(name *string) (int32, *v1.PreemptionPolicy, error) {
	class := p.byDefault
	if *name != "" {
		if class = p.classes[*name]; class == nil {
			return 0, nil, fmt.Errorf("no PriorityClass with name %v was found", *name)
		}
	}
	if class == nil {
		return scheduling.DefaultPriorityWhenNoDefaultClassExists, ptr.To(v1.PreemptLowerPriority), nil
	}
	*name = class.Name
	return class.Value, class.PreemptionPolicy, nil
}

// admitPodGroup copies the function of that name in the same file.
func (p *Pods) admitPodGroup(group *schedulingv1beta1.PodGroup) error {
	enabled, spec := utilfeature.DefaultFeatureGate.Enabled, &group.Spec
	if !enabled(features.GenericWorkload) {
		return nil
	}
	value, preemption, err := p.establishPriority(&spec.PriorityClassName)
	if err != nil {
		return err
	}
	if spec.Priority != nil && *spec.Priority != value {
		return fmt.Errorf("priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec", *spec.Priority, value)
	}
	spec.Priority = &value
	if preemption == nil || !enabled(features.PodGroupPreemptionPolicy) {
		return nil
	}
	policy := schedulingv1beta1.PreemptionPolicy(*preemption)
	if spec.PreemptionPolicy != nil && *spec.PreemptionPolicy != policy {
		return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod group spec; priority admission controller computed %s from the given PriorityClass name", *spec.PreemptionPolicy, policy)
	}
	spec.PreemptionPolicy = &policy
	return nil
}

// admitCompositePodGroup copies the function of that name in the same file.
func (p *Pods) admitCompositePodGroup(group *schedulingv1alpha3.CompositePodGroup) error {
	enabled, spec := utilfeature.DefaultFeatureGate.Enabled, &group.Spec
	if !enabled(features.CompositePodGroup) {
		return nil
	}
	value, preemption, err := p.establishPriority(&spec.PriorityClassName)
	if err != nil {
		return err
	}
	if spec.Priority != nil && *spec.Priority != value {
		return fmt.Errorf("priority set in the composite pod group (%d) must match the priority computed (%d) based on the priority class set in the spec", *spec.Priority, value)
	}
	spec.Priority = &value
	if preemption == nil || !enabled(features.PodGroupPreemptionPolicy) {
		return nil
	}
	policy := schedulingv1alpha3.PreemptionPolicy(*preemption)
	if spec.PreemptionPolicy != nil && *spec.PreemptionPolicy != policy {
		return fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in composite pod group spec; priority admission controller computed %s from the given PriorityClass name", *spec.PreemptionPolicy, policy)
	}
	spec.PreemptionPolicy = &policy
	return nil
}

// defaultTolerations does what the plugin does in
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/plugin/pkg/admission/defaulttolerationseconds/admission.go.
func defaultTolerations(tolerations []v1.Toleration) []v1.Toleration {
	tolerations = slices.Clip(tolerations)
	given := tolerations
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		if !slices.ContainsFunc(given, func(t v1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == v1.TaintEffectNoExecute || t.Effect == "")
		}) {
			seconds := int64(300)
			tolerations = append(tolerations, v1.Toleration{
				Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds,
			})
		}
	}
	return tolerations
}
