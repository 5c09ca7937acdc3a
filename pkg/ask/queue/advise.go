package queue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/simulation"
	"github.com/faultline/faultline/pkg/words"
)

// Help is a change that was tried, at the end of the run, for a workload that waits.
type Help struct {
	// Change says what was changed, such as "2 more cpu in flavor default of ClusterQueue q".
	Change string `json:"change"`
	// Helps means that Kueue then admits the workload at once. Then says what else becomes of it, or Kueue's words if it does not help.
	Helps bool   `json:"helps"`
	Then  string `json:"then,omitempty"`
}

// Kueue's labels and annotations that changes are made of.
const (
	priorityClassLabel = "kueue.x-k8s.io/priority-class"
	requiredTopology   = "kueue.x-k8s.io/podset-required-topology"
	preferredTopology  = "kueue.x-k8s.io/podset-preferred-topology"
)

// candidate is a change that may help.
type candidate struct {
	change  string
	changed cluster.Object
	// anew means that the object must be deleted before: Kueue does not look again at the topology that a Job asks for.
	anew bool
}

// Advise tries changes for a workload that waits at the end of the run, each by itself.
func Advise(ctx context.Context, result *simulation.Result, waits *Workload) ([]Help, error) {
	course, err := simulation.NewCourse(result)
	if err != nil {
		return nil, err
	}
	defer course.Close()
	adviser := &adviser{course, waits}
	all, err := adviser.moreQuota(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range adviser.candidates() {
		help, err := adviser.try(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, help)
	}
	smaller, err := adviser.smaller(ctx)
	if smaller != nil {
		all = append(all, *smaller)
	}
	return all, err
}

type adviser struct {
	course *simulation.Course
	waits  *Workload
}

// try makes the change, looks at the workload, and takes the change back.
func (a *adviser) try(ctx context.Context, c candidate) (Help, error) {
	help := Help{Change: c.change}
	before := a.course.State()
	var steps []scenario.LoadedStep
	if c.anew {
		steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "delete", Delete: &scenario.Delete{Targets: []string{cluster.RefTo(c.changed).String()}, Namespace: c.changed.GetNamespace()}}})
	}
	steps = append(steps, scenario.LoadedStep{Step: scenario.Step{Name: "try", Apply: &scenario.Source{}}, Objects: []cluster.Object{c.changed}})
	for _, step := range steps {
		if _, err := a.course.DoLoaded(ctx, step); err != nil {
			if ctx.Err() != nil {
				return help, err
			}
			help.Then = err.Error()
			return help, a.course.Rewind(0)
		}
	}
	a.describe(&help, before, a.course.State())
	return help, a.course.Rewind(0)
}

// describe says whether the workload has its quota after the change, and whom Kueue has preempted for it.
func (a *adviser) describe(help *Help, before, after *cluster.State) {
	reserved := map[string]bool{}
	for _, w := range read[kueueWorkload](before, "Workload") {
		reserved[w.Namespace+"/"+w.Name] = w.reserves()
	}
	var victims []string
	for _, w := range read[kueueWorkload](after, "Workload") {
		switch condition := w.condition(quotaReserved); {
		case w.owner() != a.waits.Job:
			if reserved[w.Namespace+"/"+w.Name] && !w.reserves() && !w.is(finished) {
				victims = append(victims, w.owner().Name)
			}
		case w.is(quotaReserved): // with a duration, the job may even be done after the step: the condition stays
			help.Helps = true
		case condition != nil:
			help.Then = condition.Message
		}
	}
	if help.Helps {
		help.Then = ""
		if len(victims) > 0 {
			help.Then = "it preempts " + words.Few(victims)
		}
	}
}

// candidates are the changes that may help the workload: of borrowing, priority and topology.
func (a *adviser) candidates() []candidate {
	all := a.moreBorrowing()
	job := a.job()
	if job == nil {
		return all
	}
	if class := a.highestClass(); class != "" && job.Labels[priorityClassLabel] != class {
		higher := job.DeepCopy()
		metav1.SetMetaDataLabel(&higher.ObjectMeta, priorityClassLabel, class)
		all = append(all, candidate{change: "the WorkloadPriorityClass " + class, changed: higher})
	}
	return append(all, a.otherTopology(job)...)
}

func (a *adviser) job() *batchv1.Job {
	job, _ := a.course.State().Find(a.waits.Job).(*batchv1.Job)
	return job
}

// custom returns a copy of a custom resource; nil if there is none.
func (a *adviser) custom(kind, name string) *cluster.CustomResource {
	r, _ := a.course.State().Find(cluster.Ref{Kind: kind, Name: name}).(*cluster.CustomResource)
	if r == nil {
		return nil
	}
	return r.DeepCopyObject().(*cluster.CustomResource)
}

var unusedMissing = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed`)

// missingQuota is what a resource in a flavor lacks for a workload.
type missingQuota struct{ resource, flavor string }

// findMissing returns what Kueue's message says is missing, for each flavor that the message names.
func findMissing(message string) map[missingQuota]resource.Quantity {
	missing := map[missingQuota]resource.Quantity{}
	for _, found := range unusedMissing.FindAllStringSubmatch(message, -1) {
		if more, err := resource.ParseQuantity(found[3]); err == nil {
			missing[missingQuota{found[1], found[2]}] = more
		}
	}
	for _, found := range beyondMost.FindAllStringSubmatch(message, -1) {
		asked, err := resource.ParseQuantity(found[4])
		most, wrong := resource.ParseQuantity(found[5])
		if err == nil && wrong == nil {
			asked.Sub(most)
			missing[missingQuota{found[1], found[2]}] = asked
		}
	}
	return missing
}

// maxQuotaTries is how often more quota is tried for a flavor. Kueue says first what the workload asks for beyond all quota, and with that quota
// what others use of it.
const maxQuotaTries = 3

// moreQuota tries more quota in each flavor that Kueue's message names, until what is missing is there.
func (a *adviser) moreQuota(ctx context.Context) ([]Help, error) {
	first := findMissing(a.waits.Message)
	var all []Help
	for _, of := range slices.SortedFunc(maps.Keys(first), func(x, y missingQuota) int {
		return cmp.Or(cmp.Compare(x.flavor, y.flavor), cmp.Compare(x.resource, y.resource))
	}) {
		var help Help
		more, tried := first[of], false
		for range maxQuotaTries {
			c := a.withQuota(of.resource, of.flavor, more)
			if c == nil {
				break
			}
			var err error
			if help, err = a.try(ctx, *c); err != nil {
				return nil, err
			}
			tried = true
			still, missing := findMissing(help.Then)[of]
			if help.Helps || !missing {
				break
			}
			more.Add(still)
		}
		if tried {
			all = append(all, help)
		}
	}
	return all, nil
}

// withQuota is the ClusterQueue with so much more of the resource; nil if the queue has no such quota.
func (a *adviser) withQuota(name, flavor string, more resource.Quantity) *candidate {
	queue := a.custom("ClusterQueue", a.waits.ClusterQueue)
	changed := queue != nil && eachQuota(queue, func(inFlavor string, quota map[string]any) bool {
		if inFlavor != flavor || quota["name"] != name {
			return false
		}
		nominal, err := resource.ParseQuantity(fmt.Sprint(quota["nominalQuota"]))
		nominal.Add(more)
		quota["nominalQuota"] = nominal.String()
		return err == nil
	})
	if !changed {
		return nil
	}
	return &candidate{change: fmt.Sprintf("%s more %s in flavor %s of ClusterQueue %s", more.String(), name, flavor, a.waits.ClusterQueue), changed: queue}
}

// moreBorrowing takes away the limits of what the ClusterQueue may borrow.
func (a *adviser) moreBorrowing() []candidate {
	queue := a.custom("ClusterQueue", a.waits.ClusterQueue)
	changed := queue != nil && eachQuota(queue, func(_ string, quota map[string]any) bool {
		_, limited := quota["borrowingLimit"]
		delete(quota, "borrowingLimit")
		return limited
	})
	if !changed {
		return nil
	}
	return []candidate{{change: "no borrowingLimit in ClusterQueue " + a.waits.ClusterQueue, changed: queue}}
}

// eachQuota calls change for each quota of the ClusterQueue, and reports whether it changed one.
func eachQuota(queue *cluster.CustomResource, change func(flavor string, quota map[string]any) bool) bool {
	changed := false
	groups, _, _ := unstructured.NestedSlice(queue.Object, "spec", "resourceGroups")
	for _, group := range groups {
		flavors, _ := group.(map[string]any)["flavors"].([]any)
		for _, flavor := range flavors {
			of, _ := flavor.(map[string]any)
			resources, _ := of["resources"].([]any)
			for _, quota := range resources {
				if fields, is := quota.(map[string]any); is && change(fmt.Sprint(of["name"]), fields) {
					changed = true
				}
			}
		}
	}
	return changed && unstructured.SetNestedSlice(queue.Object, groups, "spec", "resourceGroups") == nil
}

// highestClass is the WorkloadPriorityClass with the highest value above the workload's priority; "" if there is none.
func (a *adviser) highestClass() string {
	name, highest := "", int64(a.waits.Priority)
	for _, r := range a.course.State().CustomResources {
		if value, _, _ := unstructured.NestedInt64(r.Object, "value"); r.GetKind() == "WorkloadPriorityClass" && value > highest {
			name, highest = r.GetName(), value
		}
	}
	return name
}

// otherTopology lets the pods be farther apart: in each wider level, and wherever there is room.
func (a *adviser) otherTopology(job *batchv1.Job) []candidate {
	required, given := job.Spec.Template.Annotations[requiredTopology]
	if !given {
		return nil
	}
	var all []candidate
	with := func(change, annotation, level string) {
		other := asNew(job)
		delete(other.Spec.Template.Annotations, requiredTopology)
		other.Spec.Template.Annotations[annotation] = level
		all = append(all, candidate{change + ", and the Job created anew", other, true})
	}
	for _, r := range a.course.State().CustomResources {
		levels, _, _ := unstructured.NestedSlice(r.Object, "spec", "levels")
		var labels []string
		for _, level := range levels {
			labels = append(labels, fmt.Sprint(level.(map[string]any)["nodeLabel"]))
		}
		for _, wider := range slices.Backward(labels[:max(0, slices.Index(labels, required))]) {
			with("the required topology level "+wider, requiredTopology, wider)
		}
	}
	with("the topology level "+required+" as preferred, not required", preferredTopology, required)
	return all
}

// asNew returns the Job as a user creates it again: without what the API server has set.
func asNew(job *batchv1.Job) *batchv1.Job {
	fresh := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name, Labels: job.Labels, Annotations: job.Annotations}, Spec: *job.Spec.DeepCopy()}
	if !ptr.Deref(job.Spec.ManualSelector, false) {
		fresh.Spec.Selector = nil
		for _, label := range []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"} {
			delete(fresh.Spec.Template.Labels, label)
		}
	}
	return fresh
}

// smaller finds the largest number of pods with which the Job is admitted; nil if it has one pod, or is no Job.
func (a *adviser) smaller(ctx context.Context) (*Help, error) {
	job := a.job()
	if job == nil || job.Spec.Parallelism == nil || *job.Spec.Parallelism < 2 {
		return nil, nil
	}
	var best *Help
	fits, fails := int32(0), *job.Spec.Parallelism
	for fails-fits > 1 {
		n := (fits + fails) / 2
		fewer := job.DeepCopy()
		fewer.Spec.Parallelism = &n
		help, err := a.try(ctx, candidate{change: fmt.Sprintf("%s at once in place of %d", words.Count(int(n), "pod"), *job.Spec.Parallelism), changed: fewer})
		switch {
		case err != nil:
			return nil, err
		case help.Helps:
			fits, best = n, &help
		default:
			fails = n
		}
	}
	if best == nil {
		return &Help{Change: "1 pod at once", Then: "it waits all the same"}, nil
	}
	return best, nil
}
