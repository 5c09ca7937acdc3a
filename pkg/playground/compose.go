package playground

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/loader"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

// composedFile has the fields of a scenario file that Compose writes.
type composedFile struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   scenario.Metadata `json:"metadata"`
	Scheduler  *composedRelease  `json:"scheduler,omitempty"`
	Cluster    []composedSource  `json:"cluster"`
	Steps      []composedStep    `json:"steps,omitempty"`
}

type composedRelease struct {
	Kubernetes string `json:"kubernetes"`
}

type composedSource struct {
	Files     []string       `json:"files,omitempty"`
	Objects   []*v1.Node     `json:"objects,omitempty"`
	Synthetic *topology.Spec `json:"synthetic,omitempty"`
}

type composedStep struct {
	Name  string         `json:"name"`
	Apply composedSource `json:"apply"`
}

// Compose returns a scenario from files of the command line: clusterFiles are its cluster, and its only step applies files. "-" is stdin.
// If the files have no nodes, Compose adds generated ones. release is the release of Kubernetes for the scenario, or "" if it is not known.
func Compose(fsys fs.FS, stdin io.Reader, clusterFiles, files []string, nodes *loader.Nodes, release string) (Input, error) {
	in := Input{Main: loader.FileName, Files: map[string]string{}}
	file := composedFile{APIVersion: scenario.APIVersion, Kind: scenario.Kind, Metadata: scenario.Metadata{Name: "playground"}}
	if release != "" {
		file.Scheduler = &composedRelease{release}
	}
	ofCluster, err := in.addFiles(fsys, stdin, clusterFiles)
	if err != nil {
		return Input{}, err
	}
	applied, err := in.addFiles(fsys, stdin, files)
	if err != nil {
		return Input{}, err
	}
	if len(ofCluster) == 0 { // files with nodes are the cluster
		applied = slices.DeleteFunc(applied, func(name string) bool {
			has := in.hasNodes(name)
			if has {
				ofCluster = append(ofCluster, name)
			}
			return has
		})
	}
	if len(ofCluster) > 0 {
		file.Cluster = []composedSource{{Files: ofCluster}}
	} else if file.Cluster, err = generatedNodes(nodes); err != nil {
		return Input{}, err
	}
	if len(applied) > 0 {
		file.Steps = []composedStep{{Name: "apply", Apply: composedSource{Files: applied}}}
	}
	data, err := yaml.Marshal(file)
	in.Files[in.Main] = string(data)
	return in, err
}

// addFiles adds the files at paths of the file system, and returns their names in the input. It leaves out files of folders that have no
// objects.
func (in Input) addFiles(fsys fs.FS, stdin io.Reader, paths []string) (names []string, err error) {
	for _, given := range paths {
		found, err := manifest.ListFiles(fsys, given)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			data, err := manifest.ReadFile(fsys, stdin, file)
			if err != nil {
				return nil, err
			}
			if file != given && manifest.IsForeign(file, data) {
				continue // for example, a support bundle also has lists of permissions
			}
			name := in.unusedName(file)
			in.Files[name] = string(data)
			names = append(names, name)
		}
	}
	return names, nil
}

// hasNodes reports whether the file has nodes. If the file cannot be read, a later run reports the error.
func (in Input) hasNodes(name string) bool {
	set, err := manifest.Decode(name, []byte(in.Files[name]))
	return err == nil && slices.ContainsFunc(set.Objects, func(obj manifest.Object) bool { return cluster.KindOf(obj.Object) == "Node" })
}

// generatedNodes returns the nodes as a source of a scenario. It lists the nodes of a kind cluster as objects.
func generatedNodes(nodes *loader.Nodes) ([]composedSource, error) {
	if nodes.KindName == "" {
		return []composedSource{{Synthetic: &nodes.Spec}}, nil
	}
	made, err := topology.Build(nodes.Spec)
	if err == nil {
		made, err = topology.AsKind(nodes.KindName, made)
	}
	return []composedSource{{Objects: made}}, err
}

// unusedName returns a name for the file that the input does not have yet, from the last part of the file's path.
func (in Input) unusedName(file string) string {
	name := path.Base(filepath.ToSlash(file))
	if file == manifest.Stdin {
		name = "stdin.yaml"
	}
	for n := 2; in.Files[name] != "" || name == in.Main; n++ {
		name = fmt.Sprintf("%d-%s", n, path.Base(filepath.ToSlash(file)))
	}
	return name
}
