package controller

import (
	"strings"
	"testing"
)

// The DaemonSet of a dump counts its templates, and a pod with the number of the present one is up to date.
func TestTemplateGeneration(t *testing.T) {
	w := newWorld(t, 1, held)
	counted := func(image string) string {
		return strings.Replace(daemonSet(image, "}\n"), "metadata: {name: agent", "metadata: {annotations: {deprecated.daemonset.template.generation: \"3\"}, name: agent", 1)
	}
	w.apply(counted("a"))
	w.check("label", w.state.Pods[0].Labels["pod-template-generation"], "3")
	w.apply(counted("b"))
	w.check("image", images(w.state), w.state.Pods[0].Name+"=b")
	w.check("label", w.state.Pods[0].Labels["pod-template-generation"], "4")
}
