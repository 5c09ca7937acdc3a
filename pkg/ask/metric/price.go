package metric

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/topology"
)

func (m *Metrics) price(nodes []*v1.Node) error {
	sum, priced := 0.0, 0
	for _, node := range nodes {
		price, found, err := topology.Price(node)
		if err != nil {
			return err
		}
		if found {
			sum += price
			priced++
		}
	}
	if priced > 0 {
		m.Cost, m.Unpriced = &sum, len(nodes)-priced
	}
	return nil
}
