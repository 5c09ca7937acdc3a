package loader

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/words"
)

// deployer is a program that runs some objects of a release as hooks.
type deployer struct {
	name                     string
	annotation, deletePolicy string   // the annotations that hold a hook's events, and when the hook is deleted
	deletesDone              string   // the policy that deletes a hook once it has succeeded
	installs                 []string // the events of every installation or update
}

// deployers lists the programs whose hooks are known; see https://helm.sh/docs/topics/charts_hooks/ and
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/.
var deployers = []deployer{
	{"Helm", "helm.sh/hook", "helm.sh/hook-delete-policy", "hook-succeeded", []string{"pre-install", "post-install", "pre-upgrade", "post-upgrade"}},
	{"Argo CD", "argocd.argoproj.io/hook", "argocd.argoproj.io/hook-delete-policy", "HookSucceeded", []string{"PreSync", "Sync", "PostSync"}},
}

// hook is an object that is left out because a deployer runs it at some events alone.
type hook struct {
	deployer string
	object   cluster.Ref
	events   string // as the annotation has them
}

// transientHook returns the object as a hook if it does not belong to the running release: a Pod or a Job, whose end the deployer awaits, an
// object that the deployer deletes afterwards, and an object of a test, a rollback or the end of the release. Other hooks, such as a
// PersistentVolumeClaim that a chart creates before the rest, stay in the cluster. So does an object that an API server has stored.
func transientHook(obj cluster.Object) (hook, bool) {
	pod, isPod := obj.(*v1.Pod)
	if cluster.FromDump(obj) || isPod && pod.Spec.NodeName != "" {
		return hook{}, false
	}
	for _, d := range deployers {
		events, annotated := obj.GetAnnotations()[d.annotation]
		if !annotated {
			continue
		}
		has := func(annotation string, wanted ...string) bool {
			return slices.ContainsFunc(strings.Split(obj.GetAnnotations()[annotation], ","), func(value string) bool {
				return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(strings.TrimSpace(value), w) })
			})
		}
		lasts := has(d.annotation, d.installs...) && !has(d.deletePolicy, d.deletesDone) && !isPod && cluster.KindOf(obj) != "Job"
		return hook{d.name, cluster.RefTo(obj), events}, !lasts
	}
	return hook{}, false
}

// noteHooks returns the note that names the hooks that were left out; none if there are none.
func noteHooks(hooks []hook) []string {
	if hooks = list.Distinct(hooks); len(hooks) == 0 {
		return nil
	}
	var by []string
	for _, d := range deployers {
		if slices.ContainsFunc(hooks, func(h hook) bool { return h.deployer == d.name }) {
			by = append(by, d.name)
		}
	}
	names := list.Map(hooks, func(h hook) string { return fmt.Sprintf("%s (%s)", h.object.Describe(), h.events) })
	return []string{fmt.Sprintf("left out %s that %s runs as %s: %s; --hooks runs %s, too.", words.Count(len(hooks), "object"), words.Or(by),
		words.Pick(len(hooks), "a hook", "hooks"), abbreviateNames(names, maxNamed), words.Pick(len(hooks), "it", "them"))}
}
