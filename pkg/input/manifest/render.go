package manifest

import (
	"cmp"
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
)

// Some files do not hold the objects of a release, but name the chart or the folder from which a program renders them.

// RenderCommand returns the command that renders the manifests which the object names, such as "kustomize build deploy/web" for a
// Kustomization. It returns "" for any other object. A part in capitals is what the object does not say.
func RenderCommand(of Ignored) string {
	group, _, _ := strings.Cut(of.APIVersion, "/")
	var fields struct {
		Spec struct {
			Path    string           `json:"path"`
			Source  *renderedSource  `json:"source"`
			Sources []renderedSource `json:"sources"`
			Chart   struct {
				Spec renderedSource `json:"spec"`
			} `json:"chart"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(of.JSON, &fields) // what it does not say stays in capitals
	spec := fields.Spec
	switch group + "/" + of.Kind {
	case "kustomize.config.k8s.io/Kustomization", "kustomize.config.k8s.io/Component":
		return renderFile(path.Join(filepath.ToSlash(filepath.Dir(of.Source.File)), "kustomization.yaml"))
	case "kustomize.toolkit.fluxcd.io/Kustomization":
		return "kustomize build " + cmp.Or(spec.Path, "FOLDER")
	case "helm.toolkit.fluxcd.io/HelmRelease":
		return "helm template " + of.Name + " " + cmp.Or(spec.Chart.Spec.Chart, "CHART")
	case "argoproj.io/Application":
		source := spec.Source
		if source == nil && len(spec.Sources) > 0 {
			source = &spec.Sources[0]
		}
		switch {
		case source == nil:
			return "kustomize build FOLDER"
		case source.Chart != "" || source.Helm != nil:
			return "helm template " + of.Name + " " + cmp.Or(source.Chart, source.Path, "CHART")
		}
		return "kustomize build " + cmp.Or(source.Path, "FOLDER")
	case "template.openshift.io/Template":
		return "oc process --local -f " + of.Source.File
	case "argoproj.io/ApplicationSet":
		return "kustomize build FOLDER"
	}
	return ""
}

// renderedSource is where an object of Argo CD or Flux says that a chart or a folder is.
type renderedSource struct {
	Path  string          `json:"path"`
	Chart string          `json:"chart"`
	Helm  json.RawMessage `json:"helm"`
}

// A Helm chart is a folder with these.
const (
	chartFile       = "Chart.yaml"
	templatesFolder = "templates"
)

// renderFile returns the command that renders the folder of a file, if the file's name says that its folder is a chart or a kustomization.
func renderFile(file string) string {
	folder := path.Dir(filepath.ToSlash(file))
	switch path.Base(filepath.ToSlash(file)) {
	case "kustomization.yaml", "kustomization.yml":
		return "kustomize build " + folder
	case chartFile:
		return "helm template " + folder
	}
	return ""
}
