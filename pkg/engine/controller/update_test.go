package controller

import (
	"strings"
	"testing"
)

// The DaemonSet of a dump has a template generation, and a pod with that generation is up to date.
func TestTemplateGeneration(t *testing.T) {
	w := newWorld(t, 1, placeOnTarget)
	counted := func(image string) string {
		return strings.Replace(daemonSet(image, "}\n"), "metadata: {name: agent", "metadata: {annotations: {deprecated.daemonset.template.generation: \"3\"}, name: agent", 1)
	}
	w.apply(counted("a"))
	w.check("label", w.state.Pods[0].Labels["pod-template-generation"], "3")
	w.apply(counted("b"))
	w.check("image", images(w.state), w.state.Pods[0].Name+"=b")
	w.check("label", w.state.Pods[0].Labels["pod-template-generation"], "4")
}
