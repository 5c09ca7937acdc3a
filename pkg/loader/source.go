package loader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/operator"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// readClusterSources reads the sources of a cluster. Two nodes with the same name are a problem: the later one would replace the earlier one,
// and nobody means that.
func (l *loader) readClusterSources(path *field.Path, sources []scenario.Source) (all []sourceContent) {
	if len(sources) == 0 {
		l.problems.Add(path, "is missing; name files, objects or synthetic that give the nodes")
		l.incomplete = true
	}
	from := map[string]int{}
	for i := 0; i < len(sources) && !l.ended(); i++ {
		read := l.readSource(path.Index(i), &sources[i], true)
		all = append(all, read)
		var twice []string
		for _, obj := range read.objects {
			node, ok := obj.(*v1.Node)
			if !ok {
				continue
			}
			if _, found := from[node.Name]; found {
				twice = append(twice, node.Name)
			} else {
				from[node.Name] = i
			}
		}
		if len(twice) > 0 {
			l.problems.Add(path.Index(i), "node %q is in %s already; give every node its own name (%d names are used twice)",
				twice[0], path.Index(from[twice[0]]), len(twice))
		}
	}
	return all
}

// readSource reads one source. Only the source of a cluster may be synthetic; nodes says whether the source is one.
func (l *loader) readSource(path *field.Path, source *scenario.Source, nodes bool) sourceContent {
	given := list.Count([]bool{len(source.Files) > 0, len(source.Objects) > 0, source.Synthetic != nil}, func(is bool) bool { return is })
	problems := l.problems.Len()
	defer func() { l.incomplete = l.incomplete || l.problems.Len() > problems }()
	switch {
	case source.Synthetic != nil && !nodes:
		l.problems.Add(path.Child("synthetic"), "is only allowed under cluster; give files or objects here")
		return sourceContent{}
	case given != 1 && nodes:
		l.problems.Add(path, "give exactly one of files, objects and synthetic")
		return sourceContent{}
	case given != 1:
		l.problems.Add(path, "give exactly one of files and objects")
		return sourceContent{}
	case len(source.Files) > 0:
		return l.readFiles(path.Child("files"), source.Files)
	case source.Synthetic != nil:
		return sourceContent{objects: l.makeSynthetic(path.Child("synthetic"), source.Synthetic), isSynthetic: true}
	}
	var found sourceContent
	for i := 0; i < len(source.Objects) && !l.ended(); i++ {
		if resource, is := l.decodeResource(path.Child("objects").Index(i), source.Objects[i].Raw); is {
			found.resources = append(found.resources, resource)
			continue
		}
		obj, err := manifest.DecodeObject(fmt.Sprintf("%s: %s", l.problems.File, path.Child("objects").Index(i)), source.Objects[i].Raw)
		if err != nil {
			l.problems.AddErrors(err)
			continue
		}
		if l.data != nil {
			l.recordSource(obj.Object, manifest.Source{File: l.problems.File, Line: l.fileLines().LineOf(manifest.SplitPath(path.Child("objects").Index(i).String())...)})
		}
		found.objects = append(found.objects, obj.Object)
	}
	l.countObjects(found.objects)
	return found
}

// countObjects adds the nodes and pods that were read to the counts, and keeps the nodes.
func (l *loader) countObjects(objects []cluster.Object) {
	nodes, pods := 0, 0
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *v1.Node:
			nodes++
			l.nodesRead = append(l.nodesRead, obj)
		case *v1.Pod:
			pods++
		}
	}
	l.countWithinLimits(nodes, 0, pods)
}

// decodeResource decodes an object of the scenario's file if it is a custom resource of a known operator, one that a decider may read or, in a
// federation, one of Karmada. It returns false for any other object.
func (l *loader) decodeResource(path *field.Path, data []byte) (manifest.Ignored, bool) {
	set, err := manifest.Decode(l.problems.File, data)
	if err != nil || len(set.Ignored) != 1 {
		return manifest.Ignored{}, false
	}
	ofDecider := l.hasDeciders && newCustomResource(set.Ignored[0]) != nil
	if !ofDecider && !operator.Knows(knownOperators(l.opts.Operators), set.Ignored[0]) && !l.isKarmada(set.Ignored[0]) {
		return manifest.Ignored{}, false
	}
	resource := set.Ignored[0]
	resource.Source = manifest.Source{File: l.problems.File, Path: path.String()}
	if l.data != nil {
		resource.Source.Line = l.fileLines().LineOf(manifest.SplitPath(path.String())...)
	}
	return resource, true
}

// readFiles reads files, folders and globs.
func (l *loader) readFiles(path *field.Path, files []string) sourceContent {
	problems := l.problems.Len()
	defer func() { l.incomplete = l.incomplete || l.problems.Len() > problems }()
	var found []string
	for i, file := range files {
		switch {
		case file == "":
			l.problems.Add(path.Index(i), "is empty; give a file, a folder or a glob")
		case file == manifest.Stdin && l.stdin == nil:
			l.problems.Add(path.Index(i), "- is the standard input, which a scenario file cannot read; give a file, a folder or a glob")
		case file == manifest.Stdin:
			found = append(found, file)
		default:
			l.namedFiles[file] = true
			file = l.resolve(file)
			if !strings.ContainsAny(file, "*?[") && !l.fileExists(file) {
				l.problems.Add(path.Index(i), "%s", l.describeMissingFile(file))
				continue
			}
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		return sourceContent{}
	}
	most := map[string]int{}
	for kind, limit := range map[string]int{"Node": l.opts.Limits.Nodes, "Pod": l.opts.Limits.Pods} {
		if limit > 0 {
			most[kind] = limit
		}
	}
	set, err := manifest.ReadLimited(l.ctx, most, l.fsys, l.stdin, found...)
	if many := (*manifest.TooManyError)(nil); errors.As(err, &many) {
		l.stop(&scenario.LimitError{What: strings.ToLower(many.Kind) + "s", Has: many.Most + 1, Most: many.Most})
	}
	if l.ended() {
		return sourceContent{}
	}
	if err == nil && l.opts.Strict {
		err = set.Strict()
	}
	if err != nil {
		l.problems.AddErrors(err)
		return sourceContent{}
	}
	return l.collectSet(set)
}

// resolve returns the path of a file that the scenario names.
func (l *loader) resolve(file string) string { return resolveFrom(l.dir, file) }

// resolveFrom returns the path of a file relative to the folder dir, or the file itself if it is absolute.
func resolveFrom(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// readNamedFile reads a file that a field of the scenario names. It reports a problem, and returns false, if it cannot.
func (l *loader) readNamedFile(path *field.Path, name string) (file string, data []byte, ok bool) {
	l.namedFiles[name] = true
	if file = l.resolve(name); !l.fileExists(file) {
		l.problems.Add(path, "%s", l.describeMissingFile(file))
		return file, nil, false
	}
	data, err := manifest.ReadFile(l.fsys, nil, file)
	if err != nil {
		l.problems.AddErrors(err)
	}
	return file, data, err == nil
}

func (l *loader) fileExists(file string) bool {
	var err error
	if l.fsys == nil {
		_, err = os.Stat(file)
	} else {
		_, err = fs.Stat(l.fsys, file)
	}
	return err == nil
}

// describeMissingFile returns the sentence that a file does not exist, with the folder to which paths are relative.
func (l *loader) describeMissingFile(file string) string {
	if l.dir == "" {
		return fmt.Sprintf("there is no file or folder %s", file)
	}
	return fmt.Sprintf("there is no file or folder %s; paths are relative to the folder of the scenario", file)
}

// makeSynthetic makes the nodes and ResourceSlices of a synthetic source, and keeps its DeviceClasses for later.
func (l *loader) makeSynthetic(path *field.Path, spec *topology.Spec) []cluster.Object {
	if most := l.opts.Limits.Nodes; most > 0 {
		if nodes, devices := spec.CountPlanned(most); !l.countWithinLimits(nodes, devices, 0) {
			return nil
		}
	}
	made, invalid := topology.BuildCluster(spec, path)
	for _, err := range invalid {
		l.problems.Add(nil, "%s", err)
	}
	if len(invalid) > 0 {
		return nil
	}
	l.levelKeys = append(l.levelKeys, spec.LevelKeys()...)
	objects := list.Map(made.Nodes, func(node *v1.Node) cluster.Object { return node })
	for _, slice := range made.Slices {
		objects = append(objects, slice)
	}
	l.deviceClasses = append(l.deviceClasses, made.Classes...)
	return objects
}

// addDeviceClasses adds the DeviceClasses of synthetic devices that the objects lack.
func (l *loader) addDeviceClasses(objects []cluster.Object) []cluster.Object {
	given := map[string]bool{}
	for _, obj := range objects {
		if class, ok := obj.(*resourcev1.DeviceClass); ok {
			given[class.Name] = true
		}
	}
	for _, class := range l.deviceClasses {
		if !given[class.Name] {
			given[class.Name] = true
			objects = append(objects, class)
		}
	}
	return objects
}

// collectSet keeps the flaws, notes, pod groups and scheduler configurations of a set, and returns its objects and custom resources.
func (l *loader) collectSet(set *manifest.Set) sourceContent {
	for i := range set.SchedulerConfigs {
		if l.foundConfig != nil {
			l.problems.Add(nil, "both %s and %s configure the scheduler; keep one", l.foundConfig.Source, set.SchedulerConfigs[i].Source)
		}
		l.foundConfig = &set.SchedulerConfigs[i]
	}
	l.flaws = append(l.flaws, slices.Concat(set.Flaws, set.Older)...)
	l.notes = append(l.notes, slices.Concat(noteSkipped(set), noteUnrendered(set))...)
	objects := make([]cluster.Object, 0, len(set.Objects))
	for i := range set.Objects {
		markRunning(set.Objects[i].Object)
		if h, transient := transientHook(set.Objects[i].Object); transient && !l.runsHooks {
			l.hooks = append(l.hooks, h)
			continue
		}
		objects = append(objects, set.Objects[i].Object)
		l.recordSource(set.Objects[i].Object, set.Objects[i].Source)
		if group := set.Objects[i].PodGroup; group != "" {
			l.ignoredPodGroups = append(l.ignoredPodGroups, namespacedName(set.Objects[i].GetNamespace(), group))
			if cluster.FromDump(set.Objects[i].Object) {
				l.dumpPodGroups = append(l.dumpPodGroups, namespacedName(set.Objects[i].GetNamespace(), group))
			}
		}
	}
	l.countObjects(objects)
	return sourceContent{objects: objects, resources: set.Ignored, isKind: set.Kind}
}

// markRunning gives the resourceVersion 0 to a pod that has a controller and a node, but no resourceVersion. The pod comes from a cluster;
// a tool that tidies dumps has dropped the field. No API server gives an object the version 0.
func markRunning(obj cluster.Object) {
	if pod, is := obj.(*v1.Pod); is && pod.Spec.NodeName != "" && metav1.GetControllerOfNoCopy(pod) != nil && !cluster.FromDump(pod) {
		pod.ResourceVersion = "0"
	}
}
