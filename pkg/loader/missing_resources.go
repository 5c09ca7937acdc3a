package loader

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
)

// Manifests without a cluster may lack more than nodes. Notes say what pods will wait for, and which input would mend that.

// findLonePod returns the only pod with a node among the objects, if the pod comes from a cluster, as kubectl get pod -o yaml prints it. It
// returns nil for several such pods, and for a pod that has ended or that a kubelet made from a file.
func findLonePod(objects []cluster.Object) *v1.Pod {
	var lone *v1.Pod
	for _, obj := range objects {
		if pod, is := obj.(*v1.Pod); is && pod.Spec.NodeName != "" {
			if lone != nil || !cluster.FromDump(pod) || cluster.IsTerminal(pod) || isMirrorPod(pod) {
				return nil
			}
			lone = pod
		}
	}
	return lone
}

// unplacePod takes the pod off its node, so that the scheduler places it.
func (l *loader) unplacePod(s *scenario.Scenario, pod *v1.Pod) {
	free := pod.DeepCopy()
	free.Spec.NodeName, free.Status = "", v1.PodStatus{Phase: v1.PodPending}
	free.DeletionTimestamp, free.DeletionGracePeriodSeconds = nil, nil
	for i := range s.Steps {
		if at := slices.Index(s.Steps[i].Objects, cluster.Object(pod)); at >= 0 {
			s.Steps[i].Objects = slices.Clone(s.Steps[i].Objects)
			s.Steps[i].Objects[at] = free
		}
	}
	l.notes = append(l.notes, fmt.Sprintf("placed anew: Pod (%s), whose node %s is not given.", namespacedName(pod.Namespace, pod.Name), pod.Spec.NodeName))
}

// noteMissingResources notes two things that pods need and the input lacks: resources that no node has, and claims that nothing defines.
func (l *loader) noteMissingResources(s *scenario.Scenario, nodes []*v1.Node) {
	objects := s.Objects()
	name := func(l unmetNeed) string { return l.name }
	for _, lacking := range list.GroupBy(findMissingResources(objects, nodes), name) {
		resource, amount := lacking[0].name, "8"
		if v1helper.IsHugePageResourceName(v1.ResourceName(resource)) {
			amount = "1Gi"
		}
		l.notes = append(l.notes, fmt.Sprintf("no node has %s, which %s; to give each node some: --resource %s=%s.",
			resource, describeRequesters(lacking, "requests", "request"), resource, amount))
	}
	for _, lacking := range list.GroupBy(findUndefinedClaims(objects), name) {
		claim, remedy := lacking[0].name, "give its manifest, too"
		if file := l.findClaimFile(lacking, claim); file != "" {
			remedy = file + " has it: give this file, too"
		}
		l.notes = append(l.notes, fmt.Sprintf("there is no PersistentVolumeClaim %s, which %s; %s.", claim, describeRequesters(lacking, "needs", "need"), remedy))
	}
}

// describeRequesters returns the clause that names the objects that need something: "default/web, default/db request".
func describeRequesters(who []unmetNeed, one, several string) string {
	names := list.Map(who, func(l unmetNeed) string { return cluster.RefTo(l.object).Qualified() })
	if len(names) > 1 {
		one = several
	}
	return abbreviateNames(names, maxNamed) + " " + one
}

// findMissingResources returns the resources that the objects' pods request and no node has, such as devices of a device plugin.
func findMissingResources(objects []cluster.Object, nodes []*v1.Node) (lacking []unmetNeed) {
	has := map[v1.ResourceName]bool{}
	for _, node := range nodes {
		for name := range node.Status.Allocatable {
			has[name] = true
		}
	}
	for _, obj := range objects { // a device of such a class serves as the resource
		if class, is := obj.(*resourcev1.DeviceClass); is && class.Spec.ExtendedResourceName != nil {
			has[v1.ResourceName(*class.Spec.ExtendedResourceName)] = true
		}
	}
	for _, obj := range objects {
		spec, _ := cluster.PodSpec(obj)
		if spec == nil {
			continue
		}
		var names []string
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			for _, list := range []v1.ResourceList{container.Resources.Requests, container.Resources.Limits} {
				for name, quantity := range list {
					own := v1helper.IsExtendedResourceName(name) && !strings.HasPrefix(string(name), resourcev1.ResourceDeviceClassPrefix)
					if !has[name] && !quantity.IsZero() && (own || v1helper.IsHugePageResourceName(name)) {
						names = append(names, string(name))
					}
				}
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			lacking = append(lacking, unmetNeed{name, obj})
		}
	}
	return lacking
}

// findUndefinedClaims returns the claims that the objects' pods name, but that no object defines or makes.
func findUndefinedClaims(objects []cluster.Object) (lacking []unmetNeed) {
	given := map[types.NamespacedName]bool{}
	var made []types.NamespacedName // of a StatefulSet, without the ordinal
	for _, obj := range objects {
		for _, claim := range listClaims(obj) {
			name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: claim.Name}
			if obj == cluster.Object(claim) {
				given[name] = true
			} else {
				name.Name += "-" + obj.GetName() + "-"
				made = append(made, name)
			}
		}
	}
	for _, obj := range objects {
		spec, _ := cluster.PodSpec(obj)
		if spec == nil {
			continue
		}
		for _, volume := range spec.Volumes {
			if volume.PersistentVolumeClaim == nil {
				continue
			}
			name := types.NamespacedName{Namespace: obj.GetNamespace(), Name: volume.PersistentVolumeClaim.ClaimName}
			if given[name] || slices.ContainsFunc(made, func(m types.NamespacedName) bool {
				return m.Namespace == name.Namespace && strings.HasPrefix(name.Name, m.Name)
			}) || slices.ContainsFunc(listClaims(obj), func(claim *v1.PersistentVolumeClaim) bool { return claim.Name == volume.Name }) {
				continue
			}
			lacking = append(lacking, unmetNeed{cluster.Qualify(name.Namespace, name.Name), obj})
		}
	}
	return lacking
}

// unmetNeed is a resource or a claim that an object's pods need and do not find.
type unmetNeed struct {
	name   string
	object cluster.Object
}

// maxSiblingFiles is how many files of a folder are read to find a claim, and [maxSiblingBytes] how many bytes each may have.
const maxSiblingFiles, maxSiblingBytes = 100, 1 << 20

// findClaimFile returns the file that defines the claim, in one of the folders with the objects that need it; "" if no file does.
func (l *loader) findClaimFile(lacking []unmetNeed, claim string) string {
	var folders []string
	for _, lack := range lacking {
		for _, sources := range l.sources {
			if source, found := sources[cluster.RefTo(lack.object)]; found && source.File != manifest.Stdin {
				folders = append(folders, filepath.Dir(source.File))
			}
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		files, err := manifest.ListFiles(l.fsys, folder)
		if err != nil {
			continue
		}
		for _, file := range files[:min(len(files), maxSiblingFiles)] {
			if info, err := os.Stat(file); err == nil && info.Size() <= maxSiblingBytes && l.fileHoldsClaim(file, claim) {
				return file
			}
		}
	}
	return ""
}

func (l *loader) fileHoldsClaim(file, claim string) bool {
	data, err := manifest.ReadFile(l.fsys, nil, file)
	if err != nil {
		return false
	}
	set, err := manifest.Decode(file, data)
	return err == nil && slices.ContainsFunc(set.Objects, func(obj manifest.Object) bool {
		_, is := obj.Object.(*v1.PersistentVolumeClaim)
		return is && cluster.Qualify(obj.GetNamespace(), obj.GetName()) == claim
	})
}
