package loader

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/component-helpers/storage/volume"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/engine/controller"
	"github.com/faultline/faultline/pkg/input/admission"
	"github.com/faultline/faultline/pkg/list"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// Many dumps have pods, but no claims: kubectl cluster-info dump writes none. A running pod proves that its claims exist, are bound, and
// reach its node, since no API server deletes a claim while a pod uses it. Without the claims, a pod that replaces a running pod would not
// get a node.

// assumeClaims adds the claims and volumes that running pods use and the scenario lacks. If the scenario has no StorageClass, it also adds
// the classes of these claims.
func (l *loader) assumeClaims(s *scenario.Scenario) {
	if l.incomplete || l.federation != nil {
		return
	}
	missing := newMissingClaims(s.Objects())
	missing.findClaims()
	if len(missing.found) == 0 {
		return
	}
	classes := l.makeAssumedClasses(missing.objectsNamingClasses(), true)
	for _, class := range classes {
		missing.classes = append(missing.classes, class.(*storagev1.StorageClass))
	}
	s.Cluster = slices.Concat(s.Cluster, classes)
	missing.makeObjects()
	add := func(objects *[]cluster.Object) { *objects = slices.Concat(*objects, missing.objectsMadeFor(*objects)) }
	add(&s.Cluster)
	add(&s.Workloads)
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		if s.Steps[i].Apply != nil {
			add(&s.Steps[i].Objects)
		}
	}
	l.notes = append(l.notes, missing.noteAssumedClaims())
}

// missingClaims finds and makes the claims of running pods that the objects lack, or whose volumes they lack.
type missingClaims struct {
	objects        []cluster.Object
	nodes          map[string]*v1.Node
	claims         map[types.NamespacedName]*v1.PersistentVolumeClaim
	volumes        map[string]*v1.PersistentVolume
	volumesByClaim map[types.NamespacedName]*v1.PersistentVolume // the volumes with a claim, by the name of that claim
	sets           map[types.NamespacedName]*appsv1.StatefulSet
	classes        []*storagev1.StorageClass
	found          []*missingClaim
}

// missingClaim is a claim of running pods that the objects lack, or whose volume they lack.
type missingClaim struct {
	name          types.NamespacedName
	pods          []*v1.Pod                 // the running pods with the claim
	claim         *v1.PersistentVolumeClaim // nil: the claim itself is missing
	template      *v1.PersistentVolumeClaim // the template of the claim; nil: unknown
	templateOwner cluster.Object            // the StatefulSet or pod that has the template
	made          []cluster.Object
	class         *storagev1.StorageClass // the class that limits which nodes reach the volume; nil: no limit, or the volume has its own
}

func newMissingClaims(objects []cluster.Object) *missingClaims {
	m := &missingClaims{objects: objects, nodes: map[string]*v1.Node{}, claims: map[types.NamespacedName]*v1.PersistentVolumeClaim{},
		volumes: map[string]*v1.PersistentVolume{}, volumesByClaim: map[types.NamespacedName]*v1.PersistentVolume{}, sets: map[types.NamespacedName]*appsv1.StatefulSet{}}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *v1.Node:
			m.nodes[o.Name] = o
		case *v1.PersistentVolumeClaim:
			m.claims[cluster.NameOf(o)] = o
		case *v1.PersistentVolume:
			m.volumes[o.Name] = o
			if ref := o.Spec.ClaimRef; ref != nil && ref.UID != "" {
				m.volumesByClaim[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}] = o
			}
		case *appsv1.StatefulSet:
			m.sets[cluster.NameOf(o)] = o
		case *storagev1.StorageClass:
			m.classes = append(m.classes, o)
		}
	}
	return m
}

// isRunning reports whether the pod runs on a node of the cluster, and so has its volumes there.
func (m *missingClaims) isRunning(pod *v1.Pod) bool {
	return m.nodes[pod.Spec.NodeName] != nil && !cluster.IsTerminal(pod) && (cluster.FromDump(pod) || pod.Status.Phase == v1.PodRunning)
}

// findClaims collects the missing claims, in the order of the pods.
func (m *missingClaims) findClaims() {
	known := map[types.NamespacedName]*missingClaim{}
	for _, obj := range m.objects {
		pod, is := obj.(*v1.Pod)
		if !is || !m.isRunning(pod) {
			continue
		}
		for i := range pod.Spec.Volumes {
			of := m.findMissingClaim(pod, &pod.Spec.Volumes[i])
			if of == nil {
				continue
			}
			if known[of.name] == nil {
				known[of.name] = of
				m.found = append(m.found, of)
			}
			known[of.name].pods = append(known[of.name].pods, pod)
		}
	}
}

// findMissingClaim returns the claim behind a volume of the pod if the claim or its volume is missing, and nil otherwise.
func (m *missingClaims) findMissingClaim(pod *v1.Pod, vol *v1.Volume) *missingClaim {
	of := &missingClaim{name: types.NamespacedName{Namespace: pod.Namespace}}
	switch {
	case vol.PersistentVolumeClaim != nil:
		of.name.Name = vol.PersistentVolumeClaim.ClaimName
		of.setTemplate(m.sets, pod)
	case vol.Ephemeral != nil && vol.Ephemeral.VolumeClaimTemplate != nil && pod.UID != "":
		of.name.Name = ephemeral.VolumeClaimName(pod, vol)
		template := vol.Ephemeral.VolumeClaimTemplate
		of.template, of.templateOwner = &v1.PersistentVolumeClaim{ObjectMeta: template.ObjectMeta, Spec: template.Spec}, pod
		of.template.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}
	default:
		return nil
	}
	of.claim = m.claims[of.name]
	if of.claim != nil && (of.claim.Spec.VolumeName == "" || m.volumes[of.claim.Spec.VolumeName] != nil) {
		return nil
	}
	return of
}

// setTemplate finds the template of the StatefulSet from which the claim was made, if the pod belongs to a StatefulSet.
func (c *missingClaim) setTemplate(sets map[types.NamespacedName]*appsv1.StatefulSet, pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "StatefulSet" {
		return
	}
	set := sets[types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}]
	if set == nil {
		return
	}
	for i := range set.Spec.VolumeClaimTemplates {
		if template := set.Spec.VolumeClaimTemplates[i]; template.Name+"-"+pod.Name == c.name.Name {
			c.template, c.templateOwner = template.DeepCopy(), set
			c.template.OwnerReferences = nil
		}
	}
}

// objectsNamingClasses returns the objects that name the classes of the claims, and the StorageClasses and PersistentVolumes, which show what classes
// there are.
func (m *missingClaims) objectsNamingClasses() []cluster.Object {
	var all []cluster.Object
	for _, of := range m.found {
		if of.templateOwner != nil && !slices.Contains(all, of.templateOwner) {
			all = append(all, of.templateOwner)
		}
	}
	return append(all, list.Where(m.objects, func(obj cluster.Object) bool {
		switch obj.(type) {
		case *storagev1.StorageClass, *v1.PersistentVolume:
			return true
		}
		return false
	})...)
}

// makeObjects makes the objects of all missing claims.
func (m *missingClaims) makeObjects() {
	for _, of := range m.found {
		of.makeClaimAndVolume(m)
	}
}

// makeClaimAndVolume makes the claim and its volume, except for the one that the objects have.
func (c *missingClaim) makeClaimAndVolume(m *missingClaims) {
	claim := c.claim
	held := m.volumesByClaim[c.name]
	if claim == nil {
		claim = c.makeClaim(held)
	}
	c.class = c.chooseClass(m.classes, claim)
	class := c.class
	if class == nil {
		class = unrestrictedClass
	}
	pv, bound := controller.Provision(claim, class, m.nodes[c.pods[0].Spec.NodeName])
	if !c.reachesAllPods(pv, m.nodes) { // so the volume is not of that class
		pv, bound = controller.Provision(claim, unrestrictedClass, nil)
	}
	if pv.Spec.NodeAffinity == nil {
		c.class = nil
	}
	if held != nil {
		bound.Spec.VolumeName = held.Name
		c.made = []cluster.Object{bound}
		return
	}
	pv.ResourceVersion, pv.CreationTimestamp = c.pods[0].ResourceVersion, claim.CreationTimestamp
	pv.Spec.StorageClassName = volume.GetPersistentVolumeClaimClass(claim)
	metav1.SetMetaDataAnnotation(&pv.ObjectMeta, cluster.AssumedAnnotation, "true")
	c.made = []cluster.Object{pv, bound}
	if c.claim != nil {
		pv.Name = c.claim.Spec.VolumeName
		c.made = c.made[:1]
	}
	pv.UID = admission.UID("PersistentVolume", "", pv.Name, 0)
}

// unrestrictedClass is a StorageClass whose volumes all nodes reach.
var unrestrictedClass = &storagev1.StorageClass{
	ObjectMeta:  metav1.ObjectMeta{Annotations: map[string]string{controller.VolumeTopologyAnnotation: "none"}},
	Provisioner: assumedProvisioner,
}

// reachesAllPods reports whether the nodes of all pods with the claim reach the volume.
func (c *missingClaim) reachesAllPods(pv *v1.PersistentVolume, nodes map[string]*v1.Node) bool {
	return !slices.ContainsFunc(c.pods, func(pod *v1.Pod) bool {
		return volume.CheckNodeAffinity(pv, nodes[pod.Spec.NodeName].Labels) != nil
	})
}

// assumedSize is the size of a claim whose size is unknown.
var assumedSize = resource.MustParse("1Gi")

// makeClaim makes the claim from its template, or else from the volume that it holds. If both are unknown, any number of nodes may use the
// claim at a time, so that the claim keeps no pod from its node.
func (c *missingClaim) makeClaim(held *v1.PersistentVolume) *v1.PersistentVolumeClaim {
	first := c.pods[0]
	claim := &v1.PersistentVolumeClaim{}
	switch {
	case c.template != nil:
		claim = c.template.DeepCopy()
		claim.Status = v1.PersistentVolumeClaimStatus{}
	case held != nil:
		claim.Spec = v1.PersistentVolumeClaimSpec{AccessModes: held.Spec.AccessModes, StorageClassName: &held.Spec.StorageClassName, VolumeMode: held.Spec.VolumeMode,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: held.Spec.Capacity[v1.ResourceStorage]}}}
	default:
		claim.Spec = v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteMany},
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: assumedSize}}}
	}
	claim.Namespace, claim.Name, claim.GenerateName = c.name.Namespace, c.name.Name, ""
	claim.UID = admission.UID("PersistentVolumeClaim", claim.Namespace, claim.Name, 0)
	if held != nil {
		claim.UID = held.Spec.ClaimRef.UID
	}
	claim.ResourceVersion, claim.CreationTimestamp = first.ResourceVersion, first.CreationTimestamp
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, cluster.AssumedAnnotation, "true")
	return claim
}

// chooseClass returns the class that limits which nodes reach the claim's volume: the class that the claim names, or the default class if its
// template names none. If nothing is known of the claim, and the volumes of all classes reach equally far, it returns the default class or
// the first by name.
func (c *missingClaim) chooseClass(classes []*storagev1.StorageClass, claim *v1.PersistentVolumeClaim) *storagev1.StorageClass {
	if volume.PersistentVolumeClaimHasClass(claim) {
		name := volume.GetPersistentVolumeClaimClass(claim)
		if at := slices.IndexFunc(classes, func(class *storagev1.StorageClass) bool { return class.Name == name }); at >= 0 {
			return classes[at]
		}
		if driver := cmp.Or(claim.Annotations[volume.AnnStorageProvisioner], claim.Annotations[volume.AnnBetaStorageProvisioner]); driver != "" {
			return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver}
		}
		return nil
	}
	if len(classes) == 0 || c.template == nil && slices.ContainsFunc(classes, func(class *storagev1.StorageClass) bool {
		return controller.VolumeTopology(class) != controller.VolumeTopology(classes[0])
	}) {
		return nil
	}
	class := admission.DefaultClass(classes)
	if class == nil && c.template == nil {
		class = slices.MinFunc(classes, func(a, b *storagev1.StorageClass) int { return cmp.Compare(a.Name, b.Name) })
	}
	if class != nil {
		claim.Spec.StorageClassName = &class.Name
	}
	return class
}

// objectsMadeFor returns the objects that were made for pods among the given ones.
func (m *missingClaims) objectsMadeFor(objects []cluster.Object) (made []cluster.Object) {
	among := map[cluster.Object]bool{}
	for _, obj := range objects {
		among[obj] = true
	}
	for _, of := range m.found {
		if among[of.pods[0]] {
			made = append(made, of.made...)
		}
	}
	return made
}

// noteAssumedClaims returns the note that names the assumed claims, and says which nodes reach their volumes.
func (m *missingClaims) noteAssumedClaims() string {
	names := list.Map(m.found, func(of *missingClaim) string { return cluster.Qualify(of.name.Namespace, of.name.Name) })
	n := len(m.found)
	lacks := "that the input lacks"
	switch there := list.Count(m.found, func(of *missingClaim) bool { return of.claim != nil }); there {
	case 0:
	case n:
		lacks = words.Pick(n, "whose volume", "whose volumes") + " the input lacks"
	default:
		lacks += ", or whose volumes it lacks"
	}
	groups := list.GroupBy(m.found, m.describeReach)
	reaches := list.Map(groups, func(group []*missingClaim) string {
		text := words.Pick(len(group), "with a volume ", "with volumes ") + m.describeReach(group[0])
		if len(groups) > 1 {
			text = fmt.Sprintf("%d %s", len(group), text)
		}
		return text
	})
	return fmt.Sprintf("%s of running pods %s (%s) %s assumed to be there, %s; give PersistentVolumeClaims and PersistentVolumes, too.",
		words.Count(n, "claim"), lacks, abbreviateNames(names, maxNamed), words.Pick(n, "is", "are"), strings.Join(reaches, ", "))
}

// describeReach returns the clause that says which nodes reach the claim's volume.
func (m *missingClaims) describeReach(of *missingClaim) string {
	if of.claim == nil && m.volumesByClaim[of.name] != nil {
		return "that the input has"
	}
	if of.class == nil {
		return "that all nodes reach"
	}
	nodes := "nodes in the zone of its pod reach"
	if controller.VolumeTopology(of.class) == controller.TopologyNode {
		nodes = "the node of its pod reaches"
	}
	return fmt.Sprintf("that only %s (class %s of %s)", nodes, of.class.Name, of.class.Provisioner)
}
