package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/awslabs/operatorpkg/status"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/faultline/faultline/deciders/kit/api"
)

// cloud is the kwok provider, with what it leaves to chance drawn from the seed: the zone, among offerings of equal price, and the node's name.
type cloud struct {
	*kwok.CloudProvider
	api   *api.Client
	types []*cloudprovider.InstanceType
	// classes are the kinds of node classes that the cluster's NodePools and NodeClaims name, whatever their provider.
	classes []schema.GroupVersionKind
	chance  *rand.Rand
	// shapes are the types that the cluster's nodes have; given: types are those of a file, for every provider.
	shapes []*cloudprovider.InstanceType
	given  bool
	aws    *aws // whose types are given; nil: none
}

// Create creates the instance of a NodeClaim: of the cheapest type that it allows, as the kwok provider does, and its node.
func (c *cloud) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	types := c.typesOf(claim.Spec.NodeClassRef)
	instanceType, offering, err := c.cheapest(claim, types)
	if err != nil {
		return nil, err
	}
	narrowed := claim.DeepCopy()
	narrowed.Spec.Requirements = slices.DeleteFunc(narrowed.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == corev1.LabelInstanceTypeStable || offering.Requirements.Has(r.Key)
	})
	narrowed.Spec.Requirements = append(narrowed.Spec.Requirements, in(corev1.LabelInstanceTypeStable, instanceType.Name))
	for _, key := range sorted(offering.Requirements) {
		narrowed.Spec.Requirements = append(narrowed.Spec.Requirements, in(key, sorted(lo.Keyify(offering.Requirements.Get(key).Values()))...))
	}
	made := make(chan *corev1.Node, 1)
	provider := kwok.NewCloudProvider(ctx, nodeMaker{c.api, made}, types)
	created, err := provider.Create(ctx, narrowed)
	if err != nil {
		return nil, err
	}
	node := <-made
	node.Name = claim.Name
	node.Spec.ProviderID = "kwok://" + node.Name
	if claim.Spec.NodeClassRef.Kind != "KWOKNodeClass" {
		node.Status.Capacity = instanceType.Capacity // the kwok provider reports what the NodeClaim requests
	}
	setPrice(node, offering.Price)
	created.Name, created.Status.NodeName, created.Status.ProviderID, created.Status.Capacity = node.Name, node.Name, node.Spec.ProviderID, node.Status.Capacity
	err = c.api.Create(api.WithWhy(ctx, fmt.Sprintf("%s, %s, %s", instanceType.Name, offering.Zone(), offering.CapacityType())), node)
	return created, err
}

// priceAnnotation is where simulate reads what a node costs an hour.
const priceAnnotation = "faultline.dev/price-per-hour"

func setPrice(node *corev1.Node, price float64) {
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[priceAnnotation] = strconv.FormatFloat(math.Round(price*1e6)/1e6, 'f', -1, 64)
}

// priceOf returns what a node of a NodePool costs an hour: the price of its type's offering in its zone, of its capacity type.
func (c *cloud) priceOf(pool *v1.NodePool, node *corev1.Node) (price float64, known bool) {
	t, found := lo.Find(c.typesOf(pool.Spec.Template.Spec.NodeClassRef), func(t *cloudprovider.InstanceType) bool { return t.Name == node.Labels[corev1.LabelInstanceTypeStable] })
	if !found {
		return 0, false
	}
	offerings := t.Offerings.Compatible(scheduling.NewLabelRequirements(lo.PickByKeys(node.Labels, []string{corev1.LabelTopologyZone, v1.CapacityTypeLabelKey})))
	if len(offerings) == 0 {
		return 0, false
	}
	return offerings[0].Price, true
}

// price says the price of the nodes of NodePools that were there before Karpenter was first asked, unless the user has given one.
func (o *operator) price(ctx context.Context) error {
	pools := o.poolsByName()
	for _, node := range api.List[corev1.Node](o.api) {
		pool := pools[node.Labels[v1.NodePoolLabelKey]]
		if pool == nil || node.Annotations[priceAnnotation] != "" {
			continue
		}
		price, known := o.cloud.priceOf(pool, node)
		if !known {
			continue
		}
		priced := node.DeepCopy()
		setPrice(priced, price)
		if err := o.api.Patch(ctx, priced, client.MergeFrom(node)); err != nil {
			o.failed(err)
		}
	}
	return nil
}

// cheapest returns the first type of the NodeClaim that has the cheapest offering, and one of the offerings of this price.
func (c *cloud) cheapest(claim *v1.NodeClaim, types []*cloudprovider.InstanceType) (*cloudprovider.InstanceType, *cloudprovider.Offering, error) {
	requirements := scheduling.NewNodeSelectorRequirementsWithMinValues(claim.Spec.Requirements...)
	allowed, ok := lo.Find(claim.Spec.Requirements, func(r v1.NodeSelectorRequirementWithMinValues) bool { return r.Key == corev1.LabelInstanceTypeStable })
	var names []string
	if ok {
		names = allowed.Values
	} else { // a NodeClaim of a NodePool with replicas
		for _, t := range types {
			if requirements.Intersects(t.Requirements) == nil {
				names = append(names, t.Name)
			}
		}
	}
	var best *cloudprovider.InstanceType
	var offerings cloudprovider.Offerings
	for _, name := range names {
		t, ok := lo.Find(types, func(t *cloudprovider.InstanceType) bool { return t.Name == name })
		if !ok {
			return nil, nil, fmt.Errorf("instance type %s not found", name)
		}
		available := t.Offerings.Available().Compatible(requirements)
		if len(available) == 0 {
			continue
		}
		if price := available.Cheapest().Price; best == nil || price < offerings[0].Price {
			best = t
			offerings = lo.Filter(available, func(o *cloudprovider.Offering, _ int) bool { return o.Price == price })
		}
	}
	if best == nil {
		return nil, nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf("no offering meets the requirements of nodeclaim %s", claim.Name))
	}
	slices.SortFunc(offerings, func(a, b *cloudprovider.Offering) int {
		return cmp.Or(cmp.Compare(a.Zone(), b.Zone()), cmp.Compare(a.CapacityType(), b.CapacityType()))
	})
	return best, offerings[c.chance.IntN(len(offerings))], nil
}

func in(key string, values ...string) v1.NodeSelectorRequirementWithMinValues {
	return v1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func sorted[T any](of map[string]T) []string {
	keys := lo.Keys(of)
	slices.Sort(keys)
	return keys
}

// nodeMaker is the client of the kwok provider, which creates the node in a goroutine: it hands the node over.
type nodeMaker struct {
	*api.Client
	made chan *corev1.Node
}

// Create hands the node over.
func (m nodeMaker) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	m.made <- object.(*corev1.Node)
	return nil
}

// Get returns the node class: one of another provider stands for one of kwok's. Its node is there at once.
func (m nodeMaker) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	class := into.(*v1alpha1.KWOKNodeClass)
	class.Name = key.Name
	return nil
}

// GetInstanceTypes returns the types. Karpenter sorts the list in place.
func (c *cloud) GetInstanceTypes(_ context.Context, pool *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return slices.Clone(c.typesOf(pool.Spec.Template.Spec.NodeClassRef)), nil
}

// List returns what runs: each node of a NodePool has an instance.
func (c *cloud) List(ctx context.Context) ([]*v1.NodeClaim, error) {
	nodes := &corev1.NodeList{}
	if err := c.api.List(ctx, nodes, client.HasLabels{v1.NodePoolLabelKey}); err != nil {
		return nil, err
	}
	return lo.Map(nodes.Items, func(node corev1.Node, _ int) *v1.NodeClaim {
		return &v1.NodeClaim{Status: v1.NodeClaimStatus{NodeName: node.Name, ProviderID: node.Spec.ProviderID}}
	}), nil
}

// Get returns the instance, which runs as long as its node exists and is not deleted.
func (c *cloud) Get(ctx context.Context, providerID string) (*v1.NodeClaim, error) {
	nodes := &corev1.NodeList{}
	if err := c.api.List(ctx, nodes, client.MatchingFields{"spec.providerID": providerID}); err != nil {
		return nil, err
	}
	if len(nodes.Items) == 0 || nodes.Items[0].DeletionTimestamp != nil {
		return nil, cloudprovider.NewNodeClaimNotFoundError(fmt.Errorf("no instance %s", providerID))
	}
	return &v1.NodeClaim{Status: v1.NodeClaimStatus{NodeName: nodes.Items[0].Name, ProviderID: providerID}}, nil
}

// GetSupportedNodeClasses returns the kinds of node classes of the cluster.
func (c *cloud) GetSupportedNodeClasses() []status.Object {
	return lo.Map(c.classes, func(of schema.GroupVersionKind, _ int) status.Object {
		class := &nodeClass{}
		class.SetUnstructuredContent(map[string]any{})
		class.SetGroupVersionKind(of)
		return class
	})
}

// nodeClass is a node class of any provider. One without conditions, as it stands in a file, is ready.
type nodeClass struct{ unstructured.Unstructured }

// GetConditions implements status.Object.
func (c *nodeClass) GetConditions() []status.Condition {
	conditions := (&status.UnstructuredAdapter[*v1alpha1.KWOKNodeClass]{Unstructured: c.Unstructured}).GetConditions()
	if len(conditions) == 0 {
		return []status.Condition{{Type: status.ConditionReady, Status: "True", Reason: "Ready"}}
	}
	return conditions
}

// SetConditions implements status.Object. Karpenter only reads a node class.
func (c *nodeClass) SetConditions([]status.Condition) {}

// StatusConditions implements status.Object.
func (c *nodeClass) StatusConditions(opts ...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions().For(c, append(opts, status.WithObservedOnly())...)
}
