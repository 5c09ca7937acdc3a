package operator

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// shop creates a Deployment for each Shop, with the resource's image; its pods keep apart.
var shop = Operator{
	Name:     "Shopkeeper",
	Kinds:    []schema.GroupKind{{Group: "shop.example.com", Kind: "Shop"}},
	Misspelt: map[string]string{"shops.example.com": "shop.example.com"},
	Expand: func(r *Resource, those []*Resource) (*Expansion, error) {
		given := struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Metadata   map[string]any `json:"metadata"`
			Spec       struct {
				Image string `json:"image"`
			} `json:"spec"`
		}{}
		warnings, err := r.Decode(&given)
		if err != nil {
			return nil, err
		}
		if given.Spec.Image == "refused" {
			return nil, errors.Join(errors.New("spec.image: is refused"), errors.New("spec: is refused"))
		}
		labels := map[string]string{"app": r.Name}
		return &Expansion{
			Objects: []WrittenObject{{
				Object: &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Name: r.Name, Annotations: map[string]string{"a": "b"}},
					Spec: appsv1.DeploymentSpec{
						Selector: &metav1.LabelSelector{MatchLabels: labels},
						Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{
							Containers: []v1.Container{{Name: "shop", Image: given.Spec.Image}},
							Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
								PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{HostAffinityTerm(70, labels)},
							}},
						}},
					},
				},
				Origins: []Origin{{"affinity.podAntiAffinity", "operator default"}},
			}},
			Warnings: warnings, Assumptions: []string{fmt.Sprintf("%d resources", len(those))},
		}, nil
	},
}

func expandText(t *testing.T, text string) (*Result, error) {
	t.Helper()
	set, err := manifest.Decode("shops.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Expand([]Operator{shop}, set.Ignored)
}

func TestExpand(t *testing.T) {
	result, err := expandText(t, `
apiVersion: shop.example.com/v1
kind: Shop
metadata: {name: corner, namespace: town}
spec: {image: "shop:1", imgae: x}
---
apiVersion: other.example.com/v1
kind: Shop
metadata: {name: of-another-group}
---
apiVersion: v1
kind: Secret
metadata: {name: secret}
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Objects) != 1 || len(result.Ignored) != 2 {
		t.Fatalf("%d objects, %d ignored", len(result.Objects), len(result.Ignored))
	}
	d := result.Objects[0].Object.(*appsv1.Deployment)
	if d.Namespace != "town" || *d.Spec.Replicas != 1 || result.Objects[0].Source.File != "shops.yaml" {
		t.Errorf("namespace %s, replicas %d, source %s", d.Namespace, *d.Spec.Replicas, result.Objects[0].Source)
	}
	if diff := cmp.Diff(map[string]string{
		"a": "b", OwnerAnnotation: "Shop town/corner", OriginAnnotation + "affinity.podAntiAffinity": "operator default",
	}, d.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Origin{{"affinity.podAntiAffinity", "operator default"}}, OriginsOf(d)); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`Shop town/corner: unknown field "spec.imgae"; did you mean "image"?; the API server would leave it out`, "Shop town/corner: assumed: 3 resources",
	}, result.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Each resource is wrong in another way, and all problems are reported at once: by the operator, by the API server about the created
// object, and by the group's name.
func TestExpandRefuses(t *testing.T) {
	_, err := expandText(t, `
apiVersion: shop.example.com/v1
kind: Shop
metadata: {name: corner}
spec: {image: refused}
---
apiVersion: shop.example.com/v1
kind: Shop
metadata: {name: Upper}
spec: {image: ""}
---
apiVersion: shops.example.com/v1
kind: Shop
metadata: {name: misspelt}
---
apiVersion: shop.example.com/v1
kind: Shop
metadata: {name: typed}
spec: {image: 1}
`)
	want := []string{
		"shops.yaml: document 1: Shop default/corner: spec.image: is refused",
		"shops.yaml: document 1: Shop default/corner: spec: is refused",
		"shops.yaml: document 2: Shop default/Upper: Deployment default/Upper: metadata.name: Invalid value",
		"shops.yaml: document 2: Shop default/Upper: Deployment default/Upper: spec.template.spec.containers[0].image: Required value",
		"shops.yaml: document 3: Shop default/misspelt: unknown API group shops.example.com, a mistake in a document of Shopkeeper: use apiVersion: shop.example.com/v1",
		"shops.yaml: document 4: Shop default/typed: spec.image: Invalid value: 1: a number where a string is wanted; put it in quotes",
	}
	if err == nil {
		t.Fatal("nothing was rejected")
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%v", len(got), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d: %s\nwant: %s", i+1, got[i], want[i])
		}
	}
}

func TestInstall(t *testing.T) {
	installed := shop
	installed.Install = func() (*Expansion, error) {
		return &Expansion{Objects: []WrittenObject{{Object: &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "shops"}, Spec: v1.ServiceSpec{ClusterIP: v1.ClusterIPNone, Ports: []v1.ServicePort{{Port: 80}}},
		}}}}, nil
	}
	result, err := Install([]Operator{shop, installed})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Objects) != 1 || result.Objects[0].GetName() != "shops" {
		t.Errorf("installed %v", result.Objects)
	}
	installed.Install = func() (*Expansion, error) { return nil, errors.New("no") }
	if _, err := Install([]Operator{installed}); err == nil {
		t.Error("an error is lost")
	}
}

// The output contains exactly the operator's fields, and reading it gives the same pods.
func TestWrite(t *testing.T) {
	result, err := expandText(t, `{apiVersion: shop.example.com/v1, kind: Shop, metadata: {name: corner}, spec: {image: "shop:1"}}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `# Shop default/corner: assumed: 1 resources
---
apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    a: b
  name: corner
spec:
  selector:
    matchLabels:
      app: corner
  template:
    metadata:
      labels:
        app: corner
    spec:
      affinity:
        # from: operator default
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - podAffinityTerm:
                labelSelector:
                  matchLabels:
                    app: corner
                topologyKey: kubernetes.io/hostname
              weight: 70
      containers:
        - image: shop:1
          name: shop
`
	var out bytes.Buffer
	if err := Write(&out, result, nil, "yaml"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("yaml (-want +got):\n%s", diff)
	}
	for _, format := range []string{"yaml", "json"} {
		out.Reset()
		if err := Write(&out, result, nil, format); err != nil {
			t.Fatal(err)
		}
		set, err := manifest.Decode("again", out.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		again, before := set.Objects[0].Object.(*appsv1.Deployment), result.Objects[0].Object.(*appsv1.Deployment)
		if diff := cmp.Diff(before.Spec, again.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		if format == "json" && len(OriginsOf(again)) != 1 {
			t.Errorf("origins are %v", OriginsOf(again))
		}
	}
}
