package metric

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/scenario"
)

// Cost returns what the nodes with a price cost an hour in total, and the number of nodes without a price. It returns nil and 0 if no node
// has one.
func Cost(nodes []*v1.Node, by *scenario.Autoscaler) (cost *float64, unpriced int, err error) {
	sum, priced := 0.0, 0
	for _, node := range nodes {
		price, known, err := by.Price(node)
		if err != nil {
			return nil, 0, err
		}
		if known {
			sum += price
			priced++
		}
	}
	if priced == 0 {
		return nil, 0, nil
	}
	sum = math.Round(sum*1e6) / 1e6
	return &sum, len(nodes) - priced, nil
}
