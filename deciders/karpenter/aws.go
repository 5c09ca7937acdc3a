package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// aws has what the AWS CLI prints about instance types and prices.
type aws struct {
	types []awsType
	// onDemand is the price an hour, by type; nil: no price list is given.
	onDemand map[string]float64
	// spot is the price an hour, by type and zone; nil: no spot prices are given.
	spot map[string]map[string]awsSpot
	// zones are the zones in which a type is offered; nil: not known.
	zones map[string][]string
}

// awsType is a type of aws ec2 describe-instance-types.
type awsType struct {
	InstanceType          string
	SupportedUsageClasses []string
	BareMetal             bool
	VCpuInfo              struct{ DefaultVCpus int64 }
	MemoryInfo            struct{ SizeInMiB int64 }
	ProcessorInfo         struct{ SupportedArchitectures []string }
	NetworkInfo           struct{ MaximumNetworkInterfaces, Ipv4AddressesPerInterface int64 }
	GpuInfo               struct {
		Gpus []struct {
			Name, Manufacturer string
			Count              int64
		}
	}
}

// awsSpot is a price of aws ec2 describe-spot-price-history, the latest of a type in a zone.
type awsSpot struct {
	price float64
	at    string
}

// awsFile is any of the four documents.
type awsFile struct {
	InstanceTypes         []awsType
	InstanceTypeOfferings []struct{ InstanceType, Location string }
	SpotPriceHistory      []struct{ InstanceType, AvailabilityZone, ProductDescription, SpotPrice, Timestamp string }
	// PriceList has documents of aws pricing get-products, each as text or as it is.
	PriceList []json.RawMessage
}

// awsProduct is an entry of a price list.
type awsProduct struct {
	Product struct {
		Attributes struct{ InstanceType, OperatingSystem, Tenancy, PreInstalledSw, Capacitystatus string }
	}
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				Unit         string
				PricePerUnit struct{ USD string }
			}
		}
	}
}

// isAWS reports whether the file is what aws ec2 describe-instance-types prints.
func isAWS(content []byte) bool {
	var head struct{ InstanceTypes []json.RawMessage }
	return json.Unmarshal(content, &head) == nil && head.InstanceTypes != nil
}

// newAWS reads the instance types of a file, and the prices and offerings of others.
func newAWS(types []byte, others []string) (*aws, error) {
	a := &aws{}
	if err := a.read(types); err != nil {
		return nil, err
	}
	for _, file := range others {
		content, err := os.ReadFile(file)
		if err == nil {
			err = a.read(content)
		}
		if err != nil {
			return nil, fmt.Errorf("--prices %s: %w", file, err)
		}
	}
	return a, nil
}

func (a *aws) read(content []byte) error {
	var file awsFile
	if err := json.Unmarshal(content, &file); err != nil {
		return fmt.Errorf("it is not JSON as the AWS CLI prints it: %w", err)
	}
	if len(file.InstanceTypes)+len(file.InstanceTypeOfferings)+len(file.SpotPriceHistory)+len(file.PriceList) == 0 {
		return fmt.Errorf("it has none of InstanceTypes, InstanceTypeOfferings, SpotPriceHistory and PriceList; give what aws ec2 describe-instance-types, describe-instance-type-offerings or describe-spot-price-history, or aws pricing get-products prints")
	}
	a.types = append(a.types, file.InstanceTypes...)
	for _, offering := range file.InstanceTypeOfferings {
		if a.zones == nil {
			a.zones = map[string][]string{}
		}
		a.zones[offering.InstanceType] = append(a.zones[offering.InstanceType], offering.Location)
	}
	for _, spot := range file.SpotPriceHistory {
		price, err := strconv.ParseFloat(spot.SpotPrice, 64)
		if err != nil {
			return fmt.Errorf("the spot price of %s is %q, which is no number", spot.InstanceType, spot.SpotPrice)
		}
		if !strings.HasPrefix(spot.ProductDescription, "Linux/UNIX") {
			continue
		}
		if a.spot == nil {
			a.spot = map[string]map[string]awsSpot{}
		}
		if a.spot[spot.InstanceType] == nil {
			a.spot[spot.InstanceType] = map[string]awsSpot{}
		}
		if known, has := a.spot[spot.InstanceType][spot.AvailabilityZone]; !has || known.at < spot.Timestamp {
			a.spot[spot.InstanceType][spot.AvailabilityZone] = awsSpot{price, spot.Timestamp}
		}
	}
	for i, entry := range file.PriceList {
		if a.onDemand == nil {
			a.onDemand = map[string]float64{}
		}
		var text string
		if json.Unmarshal(entry, &text) == nil {
			entry = json.RawMessage(text)
		}
		var product awsProduct
		if err := json.Unmarshal(entry, &product); err != nil {
			return fmt.Errorf("PriceList[%d]: %w", i, err)
		}
		a.readProduct(&product)
	}
	return nil
}

// readProduct keeps the price on demand of a Linux machine without other software, shared, whose capacity is not reserved.
func (a *aws) readProduct(p *awsProduct) {
	of := p.Product.Attributes
	if of.OperatingSystem != "Linux" || of.Tenancy != "Shared" || of.PreInstalledSw != "NA" && of.PreInstalledSw != "" || of.Capacitystatus != "Used" && of.Capacitystatus != "" {
		return
	}
	for _, term := range p.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			if price, err := strconv.ParseFloat(dimension.PricePerUnit.USD, 64); err == nil && price > 0 && dimension.Unit == "Hrs" {
				a.onDemand[of.InstanceType] = price
			}
		}
	}
}

// in returns the types that are offered in the zones, by name. A type that a price list does not have is not offered.
func (a *aws) in(zones []string) []*cloudprovider.InstanceType {
	var all []*cloudprovider.InstanceType
	for _, t := range slices.SortedFunc(slices.Values(a.types), func(x, y awsType) int { return strings.Compare(x.InstanceType, y.InstanceType) }) {
		offered := zones
		if a.zones != nil {
			offered = lo.Filter(zones, func(zone string, _ int) bool { return slices.Contains(a.zones[t.InstanceType], zone) })
		}
		price, priced := a.onDemand[t.InstanceType]
		if a.onDemand == nil {
			price, priced = priceOfResources(float64(t.VCpuInfo.DefaultVCpus), float64(t.MemoryInfo.SizeInMiB)*(1<<20)), true
		}
		if priced && len(offered) > 0 {
			all = append(all, a.instanceType(t, price, offered))
		}
	}
	return all
}

// allZones returns the zones that the files name.
func (a *aws) allZones() []string {
	zones := map[string]bool{}
	for _, of := range a.zones {
		for _, zone := range of {
			zones[zone] = true
		}
	}
	for _, of := range a.spot {
		for zone := range of {
			zones[zone] = true
		}
	}
	return slices.Sorted(maps.Keys(zones))
}

// instanceType makes a type as Karpenter's provider for AWS does by its defaults: 7.5 % of the memory are the machine's own, and the kubelet
// reserves by the numbers of CPUs and pods. See
// https://github.com/aws/karpenter-provider-aws/blob/v1.9.0/pkg/providers/instancetype/types.go.
func (a *aws) instanceType(t awsType, price float64, zones []string) *cloudprovider.InstanceType {
	pods := t.NetworkInfo.MaximumNetworkInterfaces*(t.NetworkInfo.Ipv4AddressesPerInterface-1) + 2
	memory := int64(float64(t.MemoryInfo.SizeInMiB) * (1 - 0.075))
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(t.VCpuInfo.DefaultVCpus, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory<<20, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(pods, resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
	for _, gpu := range t.GpuInfo.Gpus {
		name := corev1.ResourceName(strings.ToLower(gpu.Manufacturer) + ".com/gpu")
		total := capacity[name]
		total.Add(*resource.NewQuantity(gpu.Count, resource.DecimalSI))
		capacity[name] = total
	}
	capacityTypes := []string{v1.CapacityTypeOnDemand}
	if slices.Contains(t.SupportedUsageClasses, "spot") {
		capacityTypes = append(capacityTypes, v1.CapacityTypeSpot)
	}
	var offerings cloudprovider.Offerings
	for _, zone := range zones {
		for _, capacityType := range capacityTypes {
			cost := price
			if capacityType == v1.CapacityTypeSpot {
				cost = price * spotShare
				if a.spot != nil {
					known, has := a.spot[t.InstanceType][zone]
					if cost = known.price; !has {
						continue
					}
				}
			}
			offerings = append(offerings, offering(zone, capacityType, cost))
		}
	}
	return &cloudprovider.InstanceType{
		Name: t.InstanceType, Requirements: t.requirements(zones, capacityTypes), Offerings: offerings, Capacity: capacity,
		Overhead: &cloudprovider.InstanceTypeOverhead{
			KubeReserved: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(reservedCPU(t.VCpuInfo.DefaultVCpus), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity((11*pods+255)<<20, resource.BinarySI),
			},
			EvictionThreshold: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")},
		},
	}
}

// reservedCPU is what the kubelet reserves, in thousandths: 6 % of the first CPU, 1 % of the second, 0.5 % of the third and fourth, 0.25 % of the
// others.
func reservedCPU(cpus int64) int64 {
	reserved := 0.0
	for i := range cpus {
		switch {
		case i == 0:
			reserved += 60
		case i == 1:
			reserved += 10
		case i < 4:
			reserved += 5
		default:
			reserved += 2.5
		}
	}
	return int64(reserved)
}

// awsName matches the name of a type: its category, generation and size.
var awsName = regexp.MustCompile(`^(([a-z]+?)(\d+)[-a-z0-9]*)\.(.+)$`)

// requirements returns the labels of a node of the type.
func (t awsType) requirements(zones, capacityTypes []string) scheduling.Requirements {
	architectures := lo.FilterMap(t.ProcessorInfo.SupportedArchitectures, func(name string, _ int) (string, bool) {
		arch, known := map[string]string{"x86_64": "amd64", "arm64": "arm64"}[name]
		return arch, known
	})
	labels := map[string][]string{
		corev1.LabelInstanceTypeStable: {t.InstanceType}, corev1.LabelArchStable: architectures, corev1.LabelOSStable: {"linux"},
		corev1.LabelTopologyZone: zones, v1.CapacityTypeLabelKey: capacityTypes,
	}
	own := map[string]string{"cpu": strconv.FormatInt(t.VCpuInfo.DefaultVCpus, 10), "memory": strconv.FormatInt(t.MemoryInfo.SizeInMiB, 10)}
	if parts := awsName.FindStringSubmatch(t.InstanceType); parts != nil {
		own["family"], own["category"], own["generation"], own["size"] = parts[1], parts[2], parts[3], parts[4]
	}
	for _, gpu := range t.GpuInfo.Gpus {
		own["gpu-name"], own["gpu-manufacturer"] = strings.ToLower(strings.ReplaceAll(gpu.Name, " ", "-")), strings.ToLower(gpu.Manufacturer)
		own["gpu-count"] = strconv.FormatInt(gpu.Count, 10)
	}
	for name, value := range own {
		key := "karpenter.k8s.aws/instance-" + name
		labels[key] = []string{value}
		v1.WellKnownLabels.Insert(key)
	}
	requirements := scheduling.NewRequirements()
	for key, values := range labels {
		requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, values...))
	}
	return requirements
}
