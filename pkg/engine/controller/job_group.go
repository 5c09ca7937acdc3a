package controller

import (
	"fmt"
	"hash/fnv"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder"
	jobutil "k8s.io/kubernetes/pkg/api/job"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	"k8s.io/kubernetes/pkg/features"
	hashutil "k8s.io/kubernetes/pkg/util/hash"

	"github.com/faultline/faultline/pkg/cluster"
)

// Under the feature gate WorkloadWithJob, the Job controller makes a Workload and a PodGroup for each new Job, as
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/controller/job/job_scheduling_manager.go does. Upstream's builder compiles the
// objects. The names here are those of the functions in that file.

// ensurePodGroup finds or makes the PodGroup of the Job; nil if the Job has none. A Job that has already started gets no new one.
func (j *jobSync) ensurePodGroup() (*schedulingv1beta1.PodGroup, error) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.WorkloadWithJob) || j.job.Spec.Template.Spec.SchedulingGroup != nil {
		return nil, nil
	}
	if parent := metav1.GetControllerOf(j.job); parent != nil {
		return j.ensureDelegatedGroup(parent)
	}
	compiled, err := workloadbuilder.NewBuilder(j.workloadItem(), workloadbuilder.BuildOptions{
		Name: computeWorkloadName(j.job), Namespace: j.job.Namespace, Owner: metav1.NewControllerRef(j.job, jobKind),
	}).BuildWorkload()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cluster.RefTo(j.job).Describe(), err)
	}
	workload := findControlled(j.SchedulingWorkloads, j.job)
	if workload == nil {
		if !j.isNew() {
			return nil, nil
		}
		if workload, err = makeGroupObject(j, compiled); err != nil {
			return nil, err
		}
	}
	group := findControlled(j.PodGroups, j.job)
	if group == nil && j.isNew() {
		if group, err = j.makePodGroup(workload, workload.Spec.PodGroupTemplates[0].Name, true); err != nil {
			return nil, err
		}
	}
	if gang := compiled.Spec.PodGroupTemplates[0].SchedulingPolicy.Gang; gang != nil {
		if of := workload.Spec.PodGroupTemplates[0].SchedulingPolicy.Gang; of != nil && of.MinCount != gang.MinCount {
			workload = workload.DeepCopy()
			workload.Spec.PodGroupTemplates[0].SchedulingPolicy.Gang.MinCount = gang.MinCount
			j.putObject(workload)
		}
		group = j.syncMinCount(group, gang.MinCount)
	}
	return group, nil
}

// ensureDelegatedGroup finds or makes the PodGroup of a Job whose controller has a Workload, and names one of its templates in an annotation of
// the Job.
func (j *jobSync) ensureDelegatedGroup(parent *metav1.OwnerReference) (*schedulingv1beta1.PodGroup, error) {
	name, delegated := j.job.Annotations[scheduling.GroupTemplateNameAnnotation]
	of, _ := schema.ParseGroupVersion(parent.APIVersion)
	i := slices.IndexFunc(j.SchedulingWorkloads, func(w *schedulingv1beta1.Workload) bool {
		ref := w.Spec.ControllerRef
		return w.Namespace == j.job.Namespace && ref != nil && ref.APIGroup == of.Group && ref.Kind == parent.Kind && ref.Name == parent.Name
	})
	if !delegated || i < 0 {
		return nil, nil
	}
	workload := j.SchedulingWorkloads[i]
	at := slices.IndexFunc(workload.Spec.PodGroupTemplates, func(t schedulingv1beta1.PodGroupTemplate) bool { return t.Name == name })
	if at < 0 {
		return nil, nil
	}
	group := findControlled(j.PodGroups, j.job)
	if group == nil && j.isNew() {
		var err error
		if group, err = j.makePodGroup(workload, name, false); err != nil {
			return nil, err
		}
	}
	if gang := workload.Spec.PodGroupTemplates[at].SchedulingPolicy.Gang; gang != nil {
		group = j.syncMinCount(group, gang.MinCount)
	}
	return group, nil
}

// workloadItem returns the Job's node in the tree of which upstream's builder makes a Workload; upstream's buildWorkloadItem.
func (j *jobSync) workloadItem() *workloadbuilder.WorkloadItem {
	var input workloadbuilder.WorkloadInput
	if s := j.job.Spec.Scheduling; s != nil {
		input = jobutil.WorkloadInputForJobV1(s)
	}
	return jobutil.WorkloadItemForJob(j.job.Name+"-pgt-0", j.job.Spec.Template.Spec.PriorityClassName, j.job.Spec.Parallelism, input, nil)
}

// isNew reports whether the Job has never started; upstream's isNewJob.
func (j *jobSync) isNew() bool {
	status := &j.job.Status
	return len(j.pods) == 0 && status.StartTime == nil && status.Succeeded == 0 && status.Failed == 0 &&
		!slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
}

// makePodGroup makes the PodGroup of the Workload's template.
func (j *jobSync) makePodGroup(workload *schedulingv1beta1.Workload, template string, ownsWorkload bool) (*schedulingv1beta1.PodGroup, error) {
	builder := workloadbuilder.NewBuilderFromExistingWorkload(workload, workloadbuilder.BuildOptions{Owner: metav1.NewControllerRef(j.job, jobKind)})
	group, err := builder.NewPodGroup(computePodGroupName(workload.Name, template), template)
	if err != nil {
		return nil, err
	}
	if ownsWorkload {
		group.OwnerReferences = append(group.OwnerReferences, metav1.OwnerReference{APIVersion: schedulingv1beta1.SchemeGroupVersion.String(), Kind: "Workload", Name: workload.Name, UID: workload.UID})
	}
	return makeGroupObject(j, group)
}

// makeGroupObject creates a Workload or a PodGroup.
func makeGroupObject[T cluster.Object](j *jobSync, made T) (T, error) {
	made.SetNamespace(j.job.Namespace)
	made.SetCreationTimestamp(j.Now)
	made.SetUID(j.newUID(cluster.KindOf(made), made.GetNamespace(), made.GetName()))
	legacyscheme.Scheme.Default(made)
	if err := j.admitAndCharge(made); err != nil {
		return made, err
	}
	j.putObject(made)
	return made, nil
}

// syncMinCount returns the group with that minCount.
func (j *jobSync) syncMinCount(group *schedulingv1beta1.PodGroup, minCount int32) *schedulingv1beta1.PodGroup {
	if group == nil || group.Spec.SchedulingPolicy.Gang == nil || group.Spec.SchedulingPolicy.Gang.MinCount == minCount {
		return group
	}
	group = group.DeepCopy()
	group.Spec.SchedulingPolicy.Gang.MinCount = minCount
	j.putObject(group)
	return group
}

// findControlled returns the object that the Job controls; nil if there is none, or several.
func findControlled[T interface {
	comparable
	metav1.Object
}](all []T, job *batchv1.Job) (found T) {
	var none T
	for _, obj := range all {
		if metav1.IsControlledBy(obj, job) {
			if found != none {
				return none
			}
			found = obj
		}
	}
	return found
}

// withPodGroup returns the template of pods in the group, which may be nil.
func withPodGroup(template *v1.PodTemplateSpec, group *schedulingv1beta1.PodGroup) *v1.PodTemplateSpec {
	if group == nil {
		return template
	}
	grouped := *template
	grouped.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group.Name}
	return &grouped
}

// computeWorkloadName copies upstream's function of that name.
func computeWorkloadName(job *batchv1.Job) string {
	hasher := fnv.New32a()
	hashutil.DeepHashObject(hasher, job.UID)
	hash := rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
	longest := validation.DNS1123SubdomainMaxLength - len(hash) - 1
	return fmt.Sprintf("%s-%s", job.Name[:min(len(job.Name), longest)], hash)
}

// computePodGroupName copies upstream's function of that name.
func computePodGroupName(workload, template string) string {
	hasher := fnv.New32a()
	hasher.Write([]byte(workload))
	hasher.Write([]byte(template))
	hash := rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
	longest := validation.DNS1123SubdomainMaxLength - len(hash) - 2
	if len(workload)+len(template) > longest {
		half := longest / 2
		switch {
		case len(workload) <= half:
			template = template[:longest-len(workload)]
		case len(template) <= half:
			workload = workload[:longest-len(template)]
		default:
			workload, template = workload[:longest-half], template[:half]
		}
	}
	return fmt.Sprintf("%s-%s-%s", workload, template, hash)
}
