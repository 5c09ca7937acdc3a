package loader

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/owner"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
	"github.com/faultline/faultline/pkg/words"
)

// A dump comes from a cluster that works, even if this release would refuse some of its objects. So a flaw of a dump is no problem, unless
// the user gives --strict: the loader sets the object aside, adds a note, and answers with the other objects.

// maxFlaws is how many kinds of flaws are noted, maxFlawed how many objects are named for each kind, and maxNamed how many objects other
// notes name.
const (
	maxFlaws  = 10
	maxFlawed = 1
	maxNamed  = 3
)

// position matches the index of a list in the path of a field.
var position = regexp.MustCompile(`\[\d+\]`)

// dump notes the flaws of a dump, and sets aside the objects that a simulation cannot take.
func (l *loader) dump(s *scenario.Scenario) {
	if l.opts.Strict || l.incomplete {
		return
	}
	s.Notes = slices.Concat(s.Notes, notesOf(l.flaws), setAside(s), noteDevices(s))
	if s.Config != nil {
		s.Notes = append(s.Notes, leftToOthers(s)...)
	}
}

// notesOf returns a note for each kind of flaw, with the objects that have it.
func notesOf(flaws []manifest.Flaw) []string {
	notes := leftOut(flaws)
	flaws = list.Without(flaws, func(f manifest.Flaw) bool { return f.Field != "" })
	note := func(f manifest.Flaw) string {
		words := "read as far as it is known"
		if f.Aside {
			words = "set aside"
		}
		// The same flaw may be at several positions of a list of containers.
		return fmt.Sprintf("%s: %s (%%s): %s.", words, cmp.Or(f.Kind, "object"), strings.ReplaceAll(position.ReplaceAllString(f.Problem, "[*]"), "%", "%%"))
	}
	groups := list.Group(flaws, note)
	for i, g := range groups {
		if i == maxFlaws {
			notes = append(notes, fmt.Sprintf("%s for which objects are set aside, or read as far as they are known; --strict lists all.", words.Count(len(groups)-maxFlaws, "more reason")))
			break
		}
		names := list.Each(g, func(flaw manifest.Flaw) string { return namespacedName(flaw.Namespace, flaw.Name) })
		notes = append(notes, fmt.Sprintf(note(g[0]), some(slices.Compact(names), maxFlawed)))
	}
	return notes
}

// leftOut returns a note that counts the fields that were left out because their values are invalid. A tool that redacts dumps makes such
// values. No pod is placed by these fields.
func leftOut(flaws []manifest.Flaw) []string {
	left := list.Without(flaws, func(f manifest.Flaw) bool { return f.Field == "" })
	if len(left) == 0 {
		return nil
	}
	var counts []string
	for _, g := range list.Group(left, func(f manifest.Flaw) string { return f.Kind + " " + f.Field }) {
		names := slices.Compact(list.Each(g, func(f manifest.Flaw) string { return namespacedName(f.Namespace, f.Name) }))
		counts = append(counts, fmt.Sprintf("%s of %s (%s)", g[0].Field, words.Count(len(names), g[0].Kind), some(names, maxFlawed)))
	}
	return []string{fmt.Sprintf("read without fields that are not valid and by which no pod is placed: %s.", some(counts, maxFlaws))}
}

// nodeAside reports whether the flaw set a node aside, or an object of unknown kind, which may be a node.
func nodeAside(f manifest.Flaw) bool { return f.Aside && (f.Kind == "Node" || f.Kind == "") }

// noNodesLeft reports why all nodes of a dump were set aside.
func (l *loader) noNodesLeft(s *scenario.Scenario) {
	if len(s.Nodes()) > 0 {
		return
	}
	for _, note := range notesOf(list.Where(l.flaws, nodeAside)) {
		l.problems.Add(nil, "%s", strings.TrimSuffix(note, "."))
	}
}

// noteSkipped counts the files that hold no object of Kubernetes, and those that are packed, and names a few.
func noteSkipped(set *manifest.Set) (notes []string) {
	count := func(skipped []manifest.Skipped, format string) {
		if len(skipped) > 0 {
			names := list.Each(skipped, func(s manifest.Skipped) string { return s.File })
			notes = append(notes, fmt.Sprintf(format, words.Count(len(names), "file"), some(names, maxNamed)))
		}
	}
	isPacked := func(s manifest.Skipped) bool { return s.Packed }
	count(list.Without(set.Skipped, isPacked), "left out, without any Kubernetes object: %s (%s).")
	count(list.Where(set.Skipped, isPacked), "not looked into, since packed inside of a folder or an archive: %s (%s); unpack what has objects, or name it by itself.")
	return notes
}

// setAside removes the pods of a dump whose node is not in the scenario: the node was deleted while they ran, or was set aside itself. In a
// cluster, the garbage collector deletes such pods, and their controllers make new ones. A pod that a Job has yet to count stays as a
// failed pod until the Job has counted it.
func setAside(s *scenario.Scenario) (notes []string) {
	there := list.Set(s.Nodes(), func(node *v1.Node) string { return node.Name })
	if len(there) == 0 {
		return nil // no node is a problem of its own
	}
	var aside []*v1.Pod
	homeless := func(obj cluster.Object) bool {
		pod, ok := obj.(*v1.Pod)
		return ok && cluster.Dumped(pod) && pod.Spec.NodeName != "" && !there[pod.Spec.NodeName] && !cluster.Terminal(pod)
	}
	for _, obj := range s.Objects() {
		if homeless(obj) {
			aside = append(aside, obj.(*v1.Pod))
		}
	}
	if len(aside) == 0 {
		return nil
	}
	failed := uncounted(s.Objects(), aside)
	without := func(objects []cluster.Object) []cluster.Object {
		var kept []cluster.Object
		for _, obj := range objects {
			if !homeless(obj) {
				kept = append(kept, obj)
			} else if pod := failed[cluster.NameOf(obj)]; pod != nil {
				kept = append(kept, pod)
			}
		}
		return kept
	}
	s.Cluster, s.Workloads, s.Steps = without(s.Cluster), without(s.Workloads), slices.Clone(s.Steps)
	for i := range s.Steps {
		s.Steps[i].Objects = without(s.Steps[i].Objects)
	}
	note := func(pod *v1.Pod) string {
		done := "set aside"
		if failed[cluster.NameOf(pod)] != nil {
			done = "counted as failed"
		}
		return done + ": Pod (%s): node " + pod.Spec.NodeName + " is not there."
	}
	for _, pods := range list.Group(aside, note) {
		notes = append(notes, fmt.Sprintf(note(pods[0]), somePods(pods)))
	}
	return notes
}

// uncounted returns the given pods that a Job among the objects has yet to count. They are failed, as the pod garbage collector leaves
// them.
func uncounted(objects []cluster.Object, pods []*v1.Pod) map[types.NamespacedName]*v1.Pod {
	var known []cluster.Object
	for _, obj := range objects {
		if job, is := obj.(*batchv1.Job); is {
			known = append(known, job)
		}
	}
	var ending []*v1.Pod
	for _, pod := range pods {
		asked := *pod
		asked.DeletionTimestamp, asked.DeletionGracePeriodSeconds = nil, nil // the kubelet that would end the pod is gone
		ending, known = append(ending, &asked), append(known, &asked)
	}
	state := (&cluster.State{Now: cluster.Latest(objects)}).With(known...)
	return list.By(admission.Terminate(state, "", ending...).Pods, func(pod *v1.Pod) types.NamespacedName { return cluster.NameOf(pod) })
}

// leftToOthers notes three groups that use a scheduler which is not simulated: pods that wait for it, pods that it has placed, and
// workloads of manifests whose pods will wait for it.
func leftToOthers(s *scenario.Scenario) (notes []string) {
	var foreign, placed []*v1.Pod
	var templates []cluster.Object
	for _, obj := range s.Objects() {
		spec, _ := cluster.PodSpec(obj)
		if spec == nil || slices.Contains(s.Config.SchedulerNames(), spec.SchedulerName) {
			continue
		}
		pod, ok := obj.(*v1.Pod)
		switch {
		case !ok:
			if !cluster.Dumped(obj) { // a dump has their pods
				templates = append(templates, obj)
			}
		case cluster.Terminal(pod):
		case pod.Spec.NodeName == "":
			foreign = append(foreign, pod)
		case !isOfNode(pod):
			placed = append(placed, pod)
		}
	}
	for _, pods := range list.Group(foreign, schedulerOf) {
		notes = append(notes, fmt.Sprintf("left to the scheduler %q, which is not simulated: Pod (%s).", schedulerOf(pods[0]), somePods(pods)))
	}
	templateScheduler := func(obj cluster.Object) string { spec, _ := cluster.PodSpec(obj); return spec.SchedulerName }
	for _, objs := range list.Group(templates, templateScheduler) {
		names := list.Each(objs, func(obj cluster.Object) string { return cluster.RefTo(obj).Describe() })
		notes = append(notes, fmt.Sprintf("left to the scheduler %q, which is not simulated: pods of %s.", templateScheduler(objs[0]), some(names, maxNamed)))
	}
	if len(placed) > 0 {
		groups := list.Group(placed, schedulerOf)
		names := []string{strconv.Quote(schedulerOf(placed[0]))}
		if len(groups) > 1 {
			names = list.Each(groups, func(pods []*v1.Pod) string { return fmt.Sprintf("%d of %q", len(pods), schedulerOf(pods[0])) })
		}
		notes = append(notes, fmt.Sprintf("%s %s not simulated (%s); %s would wait.", words.Count(len(placed), "pod"), words.Pick(len(placed), "keeps its node: its", "keep their nodes: their")+
			words.Pick(len(groups), " scheduler is", " schedulers are"), words.Few(names), words.Pick(len(placed), "another", "others")))
	}
	return notes
}

// isOfNode reports whether the pod is a mirror pod: its kubelet made it from a file, and no scheduler places it.
func isOfNode(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Node"
}

func schedulerOf(pod *v1.Pod) string { return pod.Spec.SchedulerName }

// somePods names the first pods, and counts the others.
func somePods(pods []*v1.Pod) string {
	return some(list.Each(pods, func(pod *v1.Pod) string { return namespacedName(pod.Namespace, pod.Name) }), maxNamed)
}

func namespacedName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// some names the first names, at most as many as given, and counts the others.
func some(names []string, most int) string {
	if more := len(names) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// addOwners adds, beside the pods of a dump, the controllers that the dump lacks.
func (l *loader) addOwners(s *scenario.Scenario) {
	if l.incomplete {
		return
	}
	unknown := owner.NewUnknown(s.Objects())
	add := func(objects *[]cluster.Object) {
		if owners := unknown.Owners(*objects); !l.ownersGone {
			*objects = slices.Concat(*objects, owners)
		}
	}
	add(&s.Cluster)
	add(&s.Workloads)
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		if s.Steps[i].Apply != nil {
			add(&s.Steps[i].Objects)
		}
	}
	s.Notes = append(s.Notes, unknown.Notes(l.ownersGone)...)
}

// noteOlderKeys notes which labels of before Kubernetes 1.17 put nodes into zones and regions, and which nodes with such labels are in no
// zone.
func noteOlderKeys(nodes []*v1.Node) (notes []string) {
	keys, apart := topology.OlderKeys(nodes)
	if len(keys) > 0 {
		notes = append(notes, fmt.Sprintf("Zones and regions are those of %s, since no node has %s; for the scheduler, a rule with the new key finds no domain.",
			words.And(keys), words.Pick(len(keys), "the label that took its place", "the labels that took their places")))
	}
	if len(apart) > 0 {
		names := list.Each(apart, func(node *v1.Node) string { return node.Name })
		notes = append(notes, fmt.Sprintf("Node (%s): only failure-domain.beta.kubernetes.io labels say where %s, which others have as topology.kubernetes.io: in no zone here, as for the scheduler.",
			some(names, maxNamed), words.Pick(len(apart), "it is", "they are")))
	}
	return notes
}
