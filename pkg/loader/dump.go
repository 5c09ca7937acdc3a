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

// listIndex matches the index of a list in the path of a field.
var listIndex = regexp.MustCompile(`\[\d+\]`)

// adaptDump notes the flaws of a dump, and sets aside the objects that a simulation cannot take.
func (l *loader) adaptDump(s *scenario.Scenario) {
	if l.opts.Strict || l.incomplete {
		return
	}
	s.Notes = slices.Concat(s.Notes, noteFlaws(l.flaws), setAsideHomelessPods(s), noteDevices(s))
	if s.Config != nil {
		s.Notes = append(s.Notes, noteForeignSchedulers(s)...)
	}
}

// noteFlaws returns a note for each kind of flaw, with the objects that have it.
func noteFlaws(flaws []manifest.Flaw) []string {
	notes := noteDroppedFields(flaws)
	flaws = list.Without(flaws, func(f manifest.Flaw) bool { return f.Field != "" })
	note := func(f manifest.Flaw) string {
		words := "read as far as it is known"
		if f.Aside {
			words = "set aside"
		}
		// The same flaw may be at several positions of a list of containers.
		return fmt.Sprintf("%s: %s (%%s): %s.", words, cmp.Or(f.Kind, "object"), strings.ReplaceAll(listIndex.ReplaceAllString(f.Problem, "[*]"), "%", "%%"))
	}
	groups := list.GroupBy(flaws, note)
	for i, g := range groups {
		if i == maxFlaws {
			notes = append(notes, fmt.Sprintf("%s for which objects are set aside, or read as far as they are known; --strict lists all.", words.Count(len(groups)-maxFlaws, "more reason")))
			break
		}
		names := list.Map(g, func(flaw manifest.Flaw) string { return namespacedName(flaw.Namespace, flaw.Name) })
		notes = append(notes, fmt.Sprintf(note(g[0]), abbreviateNames(slices.Compact(names), maxFlawed)))
	}
	return notes
}

// noteDroppedFields returns a note that counts the fields that were left out because their values are invalid. A tool that redacts dumps makes such
// values. No pod is placed by these fields.
func noteDroppedFields(flaws []manifest.Flaw) []string {
	left := list.Without(flaws, func(f manifest.Flaw) bool { return f.Field == "" })
	if len(left) == 0 {
		return nil
	}
	var counts []string
	for _, g := range list.GroupBy(left, func(f manifest.Flaw) string { return f.Kind + " " + f.Field }) {
		names := slices.Compact(list.Map(g, func(f manifest.Flaw) string { return namespacedName(f.Namespace, f.Name) }))
		counts = append(counts, fmt.Sprintf("%s of %s (%s)", g[0].Field, words.Count(len(names), g[0].Kind), abbreviateNames(names, maxFlawed)))
	}
	return []string{fmt.Sprintf("read without fields that are not valid and by which no pod is placed: %s.", abbreviateNames(counts, maxFlaws))}
}

// isNodeSetAside reports whether the flaw set a node aside, or an object of unknown kind, which may be a node.
func isNodeSetAside(f manifest.Flaw) bool { return f.Aside && (f.Kind == "Node" || f.Kind == "") }

// reportNodesSetAside reports why all nodes of a dump were set aside.
func (l *loader) reportNodesSetAside(s *scenario.Scenario) {
	if len(s.Nodes()) > 0 {
		return
	}
	for _, note := range noteFlaws(list.Where(l.flaws, isNodeSetAside)) {
		l.problems.Add(nil, "%s", strings.TrimSuffix(note, "."))
	}
}

// reportRoomlessNodes reports that no node says what it can take, although a cluster gave them addresses for their pods: kubectl neat, for example, removes
// the status of objects, and nothing would fit.
func (l *loader) reportRoomlessNodes(s *scenario.Scenario) {
	nodes := s.Nodes()
	hasRoom := func(node *v1.Node) bool { return len(node.Status.Allocatable) > 0 || len(node.Status.Capacity) > 0 }
	isRegistered := func(node *v1.Node) bool { return node.Spec.PodCIDR != "" || node.Spec.ProviderID != "" }
	if slices.ContainsFunc(nodes, hasRoom) || !slices.ContainsFunc(nodes, isRegistered) {
		return
	}
	names := list.Map(nodes, func(node *v1.Node) string { return node.Name })
	l.problems.Add(nil, "Node (%s): no status.allocatable and no status.capacity, so that nothing fits; give nodes with their status, as kubectl get nodes -o json prints them", abbreviateNames(names, maxFlawed))
}

// noteSkipped counts the files that hold no object of Kubernetes, the packed ones and the misnamed ones, and names a few.
func noteSkipped(set *manifest.Set) (notes []string) {
	count := func(skipped []manifest.Skipped, format string) {
		if len(skipped) > 0 {
			names := list.Map(skipped, func(s manifest.Skipped) string { return s.File })
			notes = append(notes, fmt.Sprintf(format, words.Count(len(names), "file"), abbreviateNames(names, maxNamed)))
		}
	}
	isPacked := func(s manifest.Skipped) bool { return s.Packed }
	isMisnamed := func(s manifest.Skipped) bool { return s.Misnamed }
	isOther := func(s manifest.Skipped) bool { return !s.Packed && !s.Misnamed && s.Render == "" }
	count(list.Where(set.Skipped, isOther), "left out, without any Kubernetes object: %s (%s).")
	count(list.Where(set.Skipped, isMisnamed), "not read, since the name does not end in .yaml, .yml or .json, though the content begins like a Kubernetes object: %s (%s); rename what has objects, or name it by itself.")
	count(list.Where(set.Skipped, isPacked), "not looked into, since packed inside of a folder or an archive: %s (%s); unpack what has objects, or name it by itself.")
	return notes
}

// noteUnrendered names what a set has in place of the manifests that a program renders from it, with the commands.
func noteUnrendered(set *manifest.Set) []string {
	var commands []string
	for _, ignored := range set.Ignored {
		if command := manifest.RenderCommand(ignored); command != "" && ignored.ResourceVersion == "" {
			what := ignored.Describe()
			if ignored.Name == "" { // as for a kustomization.yaml
				what = ignored.Source.String()
			}
			commands = append(commands, fmt.Sprintf("%s (%s)", command, what))
		}
	}
	for _, skipped := range set.Skipped {
		if skipped.Render != "" {
			commands = append(commands, fmt.Sprintf("%s (%s)", skipped.Render, skipped.File))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("not rendered: %s; of what these name, only the given files are read, as they are. Render them first, and pipe the output to -f -.", abbreviateNames(commands, maxNamed))}
}

// setAsideHomelessPods removes the pods of a dump whose node is not in the scenario: the node was deleted while they ran, or was set aside itself. In a
// cluster, the garbage collector deletes such pods, and their controllers make new ones. A pod that a Job has yet to count stays as a
// failed pod until the Job has counted it.
func setAsideHomelessPods(s *scenario.Scenario) (notes []string) {
	there := list.KeySet(s.Nodes(), func(node *v1.Node) string { return node.Name })
	if len(there) == 0 {
		return nil // no node is a problem of its own
	}
	var aside []*v1.Pod
	homeless := func(obj cluster.Object) bool {
		pod, ok := obj.(*v1.Pod)
		return ok && cluster.FromDump(pod) && pod.Spec.NodeName != "" && !there[pod.Spec.NodeName] && !cluster.IsTerminal(pod)
	}
	for _, obj := range s.Objects() {
		if homeless(obj) {
			aside = append(aside, obj.(*v1.Pod))
		}
	}
	if len(aside) == 0 {
		return nil
	}
	failed := failUncountedPods(s.Objects(), aside)
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
	for _, pods := range list.GroupBy(aside, note) {
		notes = append(notes, fmt.Sprintf(note(pods[0]), abbreviatePodNames(pods)))
	}
	return notes
}

// failUncountedPods returns the given pods that a Job among the objects has yet to count. They are failed, as the pod garbage collector leaves
// them.
func failUncountedPods(objects []cluster.Object, pods []*v1.Pod) map[types.NamespacedName]*v1.Pod {
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
	return list.IndexBy(admission.Terminate(state, "", ending...).Pods, func(pod *v1.Pod) types.NamespacedName { return cluster.NameOf(pod) })
}

// noteForeignSchedulers notes three groups that use a scheduler which is not simulated: pods that wait for it, pods that it has placed, and
// workloads of manifests whose pods will wait for it.
func noteForeignSchedulers(s *scenario.Scenario) (notes []string) {
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
			if !cluster.FromDump(obj) { // a dump has their pods
				templates = append(templates, obj)
			}
		case cluster.IsTerminal(pod):
		case pod.Spec.NodeName == "":
			foreign = append(foreign, pod)
		case !isMirrorPod(pod):
			placed = append(placed, pod)
		}
	}
	for _, pods := range list.GroupBy(foreign, schedulerNameOf[*v1.Pod]) {
		notes = append(notes, fmt.Sprintf("left to the scheduler %q, which is not simulated: Pod (%s)%s.", schedulerNameOf(pods[0]), abbreviatePodNames(pods), phraseAskedGroups(pods)))
	}
	for _, objs := range list.GroupBy(templates, schedulerNameOf[cluster.Object]) {
		names := list.Map(objs, func(obj cluster.Object) string { return cluster.RefTo(obj).Describe() })
		notes = append(notes, fmt.Sprintf("left to the scheduler %q, which is not simulated: pods of %s%s.", schedulerNameOf(objs[0]), abbreviateNames(names, maxNamed), phraseAskedGroups(objs)))
	}
	if len(placed) > 0 {
		groups := list.GroupBy(placed, schedulerNameOf[*v1.Pod])
		names := []string{strconv.Quote(schedulerNameOf(placed[0]))}
		if len(groups) > 1 {
			names = list.Map(groups, func(pods []*v1.Pod) string { return fmt.Sprintf("%d of %q", len(pods), schedulerNameOf(pods[0])) })
		}
		notes = append(notes, fmt.Sprintf("%s %s not simulated (%s); %s would wait.", words.Count(len(placed), "pod"), words.Pick(len(placed), "keeps its node: its", "keep their nodes: their")+
			words.Pick(len(groups), " scheduler is", " schedulers are"), words.Few(names), words.Pick(len(placed), "another", "others")))
	}
	return notes
}

// isMirrorPod reports whether the pod is a mirror pod: its kubelet made it from a file, and no scheduler places it.
func isMirrorPod(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Node"
}

// schedulerNameOf returns the scheduler of the pod, or of the pods that the object creates; "" if it creates none.
func schedulerNameOf[O cluster.Object](obj O) string {
	if spec, _ := cluster.PodSpec(obj); spec != nil {
		return spec.SchedulerName
	}
	return ""
}

// phraseAskedGroups names the pod groups that the pods, or the pods of the objects, ask another scheduler for; "" if they ask for none.
func phraseAskedGroups[O cluster.Object](objects []O) string {
	var groups []string
	for _, obj := range objects {
		if name := cluster.AskedPodGroup(obj); name != "" {
			groups = append(groups, namespacedName(obj.GetNamespace(), name))
		}
	}
	if len(groups) == 0 {
		return ""
	}
	return fmt.Sprintf(", all or none of PodGroup (%s)", abbreviateNames(list.Distinct(groups), maxNamed))
}

// abbreviatePodNames names the first pods, and counts the others.
func abbreviatePodNames(pods []*v1.Pod) string {
	return abbreviateNames(list.Map(pods, func(pod *v1.Pod) string { return namespacedName(pod.Namespace, pod.Name) }), maxNamed)
}

func namespacedName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// abbreviateNames names the first names, at most as many as given, and counts the others.
func abbreviateNames(names []string, most int) string {
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
	unknown := owner.NewUnknown(s.Objects(), l.resourcesInDump)
	add := func(objects *[]cluster.Object) {
		*objects = slices.Concat(*objects, unknown.MakeOwners(*objects, l.ownersGone))
	}
	add(&s.Cluster)
	add(&s.Workloads)
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		if s.Steps[i].Apply != nil {
			add(&s.Steps[i].Objects)
		}
	}
	s.Notes = append(slices.Clip(s.Notes), unknown.Notes(l.ownersGone)...)
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
		names := list.Map(apart, func(node *v1.Node) string { return node.Name })
		notes = append(notes, fmt.Sprintf("Node (%s): only failure-domain.beta.kubernetes.io labels say where %s, which others have as topology.kubernetes.io: in no zone here, as for the scheduler.",
			abbreviateNames(names, maxNamed), words.Pick(len(apart), "it is", "they are")))
	}
	return notes
}
