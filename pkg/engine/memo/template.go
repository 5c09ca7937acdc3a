package memo

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/faultline/faultline/pkg/cluster"
)

// template stands for pods that are equal in all that the cached plugins read. They may differ in their names, their claims, and in labels
// that no rule reads.
type template struct {
	pod  *v1.Pod // one of the pods
	spec *v1.PodSpec
	used int // the cycle in which it was last used

	spreads  map[*spreadPlugin]*spreadState
	emptied  map[*Framework][]emptiedVerdict // by slot
	refusals map[*Framework]*refusal
	base     *templateBase
}

// templateBase stands for templates that differ in nothing but rules about other pods: those of two revisions of a Deployment, or of many
// Deployments in a generated cluster. Node-local plugins answer the same for all of them.
type templateBase struct {
	spec      *v1.PodSpec // without the rules about other pods
	answers   map[*Framework]*answers
	preScores map[fwk.PreScorePlugin]fwk.StateData
}

// templates are the templates in use. Each may have answers about every node, so their number is bounded (see [maxAnswers]).
type templates struct {
	byKey            map[templateKey][]*template        // templates with the same key differ in their specs
	basesByContainer map[firstContainer][]*templateBase // so that a spec is compared with few bases
	count            int                                // of templates
	cycle            int                                // the number of the current cycle
	anyRefusal       bool                               // whether a refusal is kept for any template
	byPod            map[*v1.Pod]templateOfPod          // waiting pods, which are tried again and again; at most maxReadings
}

// templateOfPod is the template of a pod as long as the pod has these traits.
type templateOfPod struct {
	traits podTraits
	*template
}

// firstContainer is what most templates differ in: the image of the first container, and its requests.
type firstContainer struct {
	image       string
	cpu, memory int64
}

// specReadings are the parts of pods' specs that cached plugins read, by the first container of the spec. A search for the smallest cluster
// places the same pods dozens of times, and each time needs them.
type specReadings map[*v1.Container]*specReading

// specReading is the spec as the pod has it, and the part that plugins read.
type specReading struct{ original, trimmed *v1.PodSpec }

// maxReadings bounds the number of readings.
const maxReadings = 20_000

type templateKey struct {
	traits    podTraits
	scheduler string
	owner     owner
}

// owner is the controller of a pod. Upstream finds the selector of the default constraints by these three fields, in the pod's namespace.
type owner struct{ apiVersion, kind, name string }

// maxAnswers bounds the number of templates times the number of nodes about which answers are kept: 500 templates on 5,000 nodes. Each
// answer takes about 22 bytes, which makes 55 MB, and up to 74 bytes where pods found nothing to preempt, which makes 185 MB. Where
// evictions cycle through more templates than that, each is dropped before it is needed again.
const maxAnswers = 2_500_000

// templateOf returns the pod's template, and makes it if there is none. It returns nil for a pod that is bound to a node by name, such as a
// pod of a DaemonSet, and for a pod that requests a resource that a device class provides: for these resources NodeResourcesFit reads more
// than the node.
func (m *Memo) templateOf(pod *v1.Pod) *template {
	if namesNode(pod) || m.requestsDevices(pod) {
		return nil
	}
	t := &m.templates
	t.cycle++
	if known, found := t.byPod[pod]; found && known.traits == m.traits {
		known.used = t.cycle
		return known.template
	}
	template := m.findTemplate(pod)
	if t.byPod == nil || len(t.byPod) >= maxReadings {
		t.byPod = map[*v1.Pod]templateOfPod{}
	}
	t.byPod[pod] = templateOfPod{m.traits, template}
	return template
}

// findTemplate returns the template whose pods are like the pod, and makes it if there is none.
func (m *Memo) findTemplate(pod *v1.Pod) *template {
	t := &m.templates
	key := templateKey{traits: m.traits, scheduler: pod.Spec.SchedulerName}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		key.owner = owner{ref.APIVersion, ref.Kind, ref.Name}
	}
	read := m.readSpec(pod)
	spec := read.trimmed
	for _, template := range t.byKey[key] {
		if Identical(template.spec, spec) || equality.Semantic.DeepEqual(template.spec, spec) {
			template.used, read.trimmed = t.cycle, template.spec
			return template
		}
	}
	if (t.count+1)*len(m.infos) > maxAnswers {
		t.dropOlderHalf()
	}
	if t.byKey == nil {
		t.byKey = map[templateKey][]*template{}
	}
	new := &template{pod: pod, spec: spec, used: t.cycle, spreads: map[*spreadPlugin]*spreadState{}, base: t.baseOf(spec)}
	t.byKey[key] = append(t.byKey[key], new)
	t.count++
	return new
}

// readSpec returns the part of the pod's spec that cached plugins read.
func (m *Memo) readSpec(pod *v1.Pod) *specReading {
	if len(pod.Spec.Containers) == 0 {
		return &specReading{trimmed: trimSpec(&pod.Spec)}
	}
	first := &pod.Spec.Containers[0]
	if known := m.readings[first]; known != nil && Identical(known.original, &pod.Spec) {
		return known
	}
	if m.readings == nil || len(m.readings) >= maxReadings {
		m.readings = specReadings{}
	}
	new := &specReading{&pod.Spec, trimSpec(&pod.Spec)}
	m.readings[first] = new
	return new
}

// baseOf returns the base of the spec: the spec without rules about other pods.
func (t *templates) baseOf(spec *v1.PodSpec) *templateBase {
	bare := *spec
	bare.TopologySpreadConstraints = nil
	bare.Affinity = nil
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		bare.Affinity = &v1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	key := firstContainerOf(&bare)
	for _, known := range t.basesByContainer[key] {
		if Identical(known.spec, &bare) || equality.Semantic.DeepEqual(known.spec, &bare) {
			return known
		}
	}
	new := &templateBase{spec: &bare, answers: map[*Framework]*answers{}, preScores: map[fwk.PreScorePlugin]fwk.StateData{}}
	if t.basesByContainer == nil {
		t.basesByContainer = map[firstContainer][]*templateBase{}
	}
	t.basesByContainer[key] = append(t.basesByContainer[key], new)
	return new
}

func firstContainerOf(spec *v1.PodSpec) firstContainer {
	if len(spec.Containers) == 0 {
		return firstContainer{}
	}
	c := &spec.Containers[0]
	return firstContainer{c.Image, c.Resources.Requests.Cpu().MilliValue(), c.Resources.Requests.Memory().Value()}
}

// dropOlderHalf drops the older half of the templates.
func (t *templates) dropOlderHalf() {
	var used []int
	for _, templates := range t.byKey {
		for _, template := range templates {
			used = append(used, template.used)
		}
	}
	if len(used) == 0 {
		return
	}
	slices.Sort(used)
	oldest := used[len(used)/2]
	t.count, t.basesByContainer, t.byPod = 0, map[firstContainer][]*templateBase{}, nil
	for key, templates := range t.byKey {
		kept := slices.DeleteFunc(templates, func(template *template) bool { return template.used <= oldest })
		t.count += len(kept)
		for _, template := range kept {
			if key := firstContainerOf(template.base.spec); !slices.Contains(t.basesByContainer[key], template.base) {
				t.basesByContainer[key] = append(t.basesByContainer[key], template.base)
			}
		}
		if len(kept) == 0 {
			delete(t.byKey, key)
		} else {
			t.byKey[key] = kept
		}
	}
}

// Identical reports whether two specs, or two statuses, point to the same slices, maps and values. The specs of a controller's pods usually
// do. The check is ten times cheaper than a comparison of all that they point to; if it reports false, they may still be equal.
func Identical[T v1.PodSpec | v1.PodStatus](a, b *T) bool {
	if a == b {
		return true
	}
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		switch p, q := x.Field(i), y.Field(i); p.Kind() {
		case reflect.Pointer, reflect.Map:
			if p.UnsafePointer() != q.UnsafePointer() {
				return false
			}
		case reflect.Slice:
			if p.UnsafePointer() != q.UnsafePointer() || p.Len() != q.Len() {
				return false
			}
		default:
			if !p.Equal(q) {
				return false
			}
		}
	}
	return true
}

// namesNode reports whether the pod's spec names a node, in nodeName or in a node affinity.
func namesNode(pod *v1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 {
			return true
		}
	}
	return false
}

// requestsDevices reports whether the pod requests a resource that a device class provides.
func (m *Memo) requestsDevices(pod *v1.Pod) bool {
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if m.resources.GetDeviceClass(name) != nil {
					return true
				}
			}
		}
	}
	return false
}

// trimSpec returns the part of the spec that cached plugins read: no name, and no volumes except images (ImageLocality reads those).
func trimSpec(spec *v1.PodSpec) *v1.PodSpec {
	s := cluster.WithoutToken(*spec)
	s.Hostname, s.Subdomain = "", ""
	s.Volumes = nil
	for _, volume := range spec.Volumes {
		if volume.Image != nil {
			s.Volumes = append(s.Volumes, volume)
		}
	}
	return &s
}
