package metric

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/topology"
)

func (m *Metrics) price(nodes []*v1.Node, by *scenario.Autoscaler) error {
	sum, priced := 0.0, 0
	for _, node := range nodes {
		price, found, err := topology.Price(node)
		if err != nil {
			return err
		}
		if by != nil {
			price, found = by.Price(node)
		}
		if found {
			sum += price
			priced++
		}
	}
	if sum = math.Round(sum*1e6) / 1e6; priced > 0 {
		m.Cost, m.Unpriced = &sum, len(nodes)-priced
	}
	return nil
}
