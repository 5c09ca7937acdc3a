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

// clusterSources reads the sources of a cluster. Two nodes with the same name are a problem: the later one would replace the earlier one,
// and nobody means that.
func (l *loader) clusterSources(path *field.Path, sources []scenario.Source) (all []content) {
	if len(sources) == 0 {
		l.problems.Add(path, "is missing; name files, objects or synthetic that give the nodes")
		l.incomplete = true
	}
	from := map[string]int{}
	for i := 0; i < len(sources) && !l.ended(); i++ {
		read := l.source(path.Index(i), &sources[i], true)
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

// source reads one source. Only the source of a cluster may be synthetic; nodes says whether the source is one.
func (l *loader) source(path *field.Path, source *scenario.Source, nodes bool) content {
	given := list.Count([]bool{len(source.Files) > 0, len(source.Objects) > 0, source.Synthetic != nil}, func(is bool) bool { return is })
	problems := l.problems.Len()
	defer func() { l.incomplete = l.incomplete || l.problems.Len() > problems }()
	switch {
	case source.Synthetic != nil && !nodes:
		l.problems.Add(path.Child("synthetic"), "is only allowed under cluster; give files or objects here")
		return content{}
	case given != 1 && nodes:
		l.problems.Add(path, "give exactly one of files, objects and synthetic")
		return content{}
	case given != 1:
		l.problems.Add(path, "give exactly one of files and objects")
		return content{}
	case len(source.Files) > 0:
		return l.read(path.Child("files"), source.Files)
	case source.Synthetic != nil:
		return content{objects: l.synthetic(path.Child("synthetic"), source.Synthetic), madeUp: true}
	}
	var found content
	for i := 0; i < len(source.Objects) && !l.ended(); i++ {
		if resource, is := l.resource(path.Child("objects").Index(i), source.Objects[i].Raw); is {
			found.resources = append(found.resources, resource)
			continue
		}
		obj, err := manifest.DecodeObject(fmt.Sprintf("%s: %s", l.problems.File, path.Child("objects").Index(i)), source.Objects[i].Raw)
		if err != nil {
			l.problems.AddErrors(err)
			continue
		}
		if l.data != nil {
			l.locate(obj.Object, manifest.Source{File: l.problems.File, Line: l.fileLines().Of(manifest.PathOf(path.Child("objects").Index(i).String())...)})
		}
		found.objects = append(found.objects, obj.Object)
	}
	l.count(found.objects)
	return found
}

// count adds the nodes and pods that were read to the counts, and keeps the nodes.
func (l *loader) count(objects []cluster.Object) {
	nodes, pods := 0, 0
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *v1.Node:
			nodes++
			l.machines = append(l.machines, obj)
		case *v1.Pod:
			pods++
		}
	}
	l.within(nodes, 0, pods)
}

// resource decodes an object of the scenario's file if it is a custom resource of a known operator or, in a federation, of Karmada. It
// returns false for any other object.
func (l *loader) resource(path *field.Path, data []byte) (manifest.Ignored, bool) {
	set, err := manifest.Decode(l.problems.File, data)
	if err != nil || len(set.Ignored) != 1 || !operator.Knows(operators(l.opts.Operators), set.Ignored[0]) && !l.ofKarmada(set.Ignored[0]) {
		return manifest.Ignored{}, false
	}
	resource := set.Ignored[0]
	resource.Source = manifest.Source{File: l.problems.File, Path: path.String()}
	if l.data != nil {
		resource.Source.Line = l.fileLines().Of(manifest.PathOf(path.String())...)
	}
	return resource, true
}

// read reads files, folders and globs.
func (l *loader) read(path *field.Path, files []string) content {
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
			l.named[file] = true
			file = l.resolve(file)
			if !strings.ContainsAny(file, "*?[") && !l.exists(file) {
				l.problems.Add(path.Index(i), "%s", l.missing(file))
				continue
			}
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		return content{}
	}
	most := map[string]int{}
	for kind, limit := range map[string]int{"Node": l.opts.Limits.Nodes, "Pod": l.opts.Limits.Pods} {
		if limit > 0 {
			most[kind] = limit
		}
	}
	set, err := manifest.ReadWithin(l.ctx, most, l.fsys, l.stdin, found...)
	if many := (*manifest.TooManyError)(nil); errors.As(err, &many) {
		l.stop(&scenario.LimitError{What: strings.ToLower(many.Kind) + "s", Has: many.Most + 1, Most: many.Most})
	}
	if l.ended() {
		return content{}
	}
	if err == nil && l.opts.Strict {
		err = set.Strict()
	}
	if err != nil {
		l.problems.AddErrors(err)
		return content{}
	}
	return l.take(set)
}

// resolve returns the path of a file that the scenario names.
func (l *loader) resolve(file string) string { return resolve(l.dir, file) }

// resolve returns the path of a file relative to the folder dir, or the file itself if it is absolute.
func resolve(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// file reads a file that a field of the scenario names. It reports a problem, and returns false, if it cannot.
func (l *loader) file(path *field.Path, name string) (file string, data []byte, ok bool) {
	l.named[name] = true
	if file = l.resolve(name); !l.exists(file) {
		l.problems.Add(path, "%s", l.missing(file))
		return file, nil, false
	}
	data, err := manifest.ReadFile(l.fsys, nil, file)
	if err != nil {
		l.problems.AddErrors(err)
	}
	return file, data, err == nil
}

func (l *loader) exists(file string) bool {
	var err error
	if l.fsys == nil {
		_, err = os.Stat(file)
	} else {
		_, err = fs.Stat(l.fsys, file)
	}
	return err == nil
}

// missing returns the sentence that a file does not exist, with the folder to which paths are relative.
func (l *loader) missing(file string) string {
	if l.dir == "" {
		return fmt.Sprintf("there is no file or folder %s", file)
	}
	return fmt.Sprintf("there is no file or folder %s; paths are relative to the folder of the scenario", file)
}

// synthetic makes the nodes and ResourceSlices of a synthetic source, and keeps its DeviceClasses for later.
func (l *loader) synthetic(path *field.Path, spec *topology.Spec) []cluster.Object {
	if most := l.opts.Limits.Nodes; most > 0 {
		if nodes, devices := spec.Planned(most); !l.within(nodes, devices, 0) {
			return nil
		}
	}
	made, invalid := topology.Make(spec, path)
	for _, err := range invalid {
		l.problems.Add(nil, "%s", err)
	}
	if len(invalid) > 0 {
		return nil
	}
	l.levelKeys = append(l.levelKeys, spec.LevelKeys()...)
	objects := list.Each(made.Nodes, func(node *v1.Node) cluster.Object { return node })
	for _, slice := range made.Slices {
		objects = append(objects, slice)
	}
	l.classes = append(l.classes, made.Classes...)
	return objects
}

// withClasses adds the DeviceClasses of synthetic devices that the objects lack.
func (l *loader) withClasses(objects []cluster.Object) []cluster.Object {
	given := map[string]bool{}
	for _, obj := range objects {
		if class, ok := obj.(*resourcev1.DeviceClass); ok {
			given[class.Name] = true
		}
	}
	for _, class := range l.classes {
		if !given[class.Name] {
			given[class.Name] = true
			objects = append(objects, class)
		}
	}
	return objects
}

// take keeps the flaws, notes, pod groups and scheduler configurations of a set, and returns its objects and custom resources.
func (l *loader) take(set *manifest.Set) content {
	for i := range set.SchedulerConfigs {
		if l.config != nil {
			l.problems.Add(nil, "both %s and %s configure the scheduler; keep one", l.config.Source, set.SchedulerConfigs[i].Source)
		}
		l.config = &set.SchedulerConfigs[i]
	}
	l.flaws = append(l.flaws, slices.Concat(set.Flaws, set.Older)...)
	l.notes = append(l.notes, noteSkipped(set)...)
	objects := make([]cluster.Object, len(set.Objects))
	for i := range set.Objects {
		objects[i] = set.Objects[i].Object
		markRunning(objects[i])
		l.locate(objects[i], set.Objects[i].Source)
		if group := set.Objects[i].PodGroup; group != "" {
			l.single = append(l.single, namespacedName(objects[i].GetNamespace(), group))
			if cluster.Dumped(objects[i]) {
				l.grouped = append(l.grouped, namespacedName(objects[i].GetNamespace(), group))
			}
		}
	}
	l.count(objects)
	return content{objects: objects, resources: set.Ignored, kind: set.Kind}
}

// markRunning gives the resourceVersion 0 to a pod that has a controller and a node, but no resourceVersion. The pod comes from a cluster;
// a tool that tidies dumps has dropped the field. No API server gives an object the version 0.
func markRunning(obj cluster.Object) {
	if pod, is := obj.(*v1.Pod); is && pod.Spec.NodeName != "" && metav1.GetControllerOfNoCopy(pod) != nil && !cluster.Dumped(pod) {
		pod.ResourceVersion = "0"
	}
}
