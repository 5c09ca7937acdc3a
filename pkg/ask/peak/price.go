package peak

import (
	v1 "k8s.io/api/core/v1"

	"github.com/faultline/faultline/pkg/ask/metric"
)

// sum adds up what nodes cost per hour. prices is nil as soon as one price is not known; cores stand for the price then.
type sum struct {
	prices *float64
	cores  float64
}

func newSum() *sum { return &sum{prices: new(float64)} }

// add adds this number of nodes like one, of which each costs so much; 0 if that is not known.
func (s *sum) add(price float64, nodes int, like *v1.Node) {
	s.cores += float64(nodes) * like.Status.Allocatable.Cpu().AsApproximateFloat64()
	if price <= 0 {
		s.prices = nil
	}
	if s.prices != nil {
		*s.prices += price * float64(nodes)
	}
}

// markBeaten marks the changes that others beat: these leave no more pods without a node, for no higher price, and are better in one of both.
// Replicas that a change gives up count as pods without a node. If not every price is known, the CPU that is added stands for the price.
func markBeaten(remedies []Remedy) {
	priced := true
	for i := range remedies {
		priced = priced && (remedies[i].Price != nil || remedies[i].cores == 0)
	}
	goals := make([]map[string]float64, len(remedies))
	for i := range remedies {
		r := &remedies[i]
		cost := r.cores
		if priced {
			cost = 0
			if r.Price != nil {
				cost = *r.Price
			}
		}
		goals[i] = map[string]float64{"pods": float64(r.Most() + r.GivesUp), "cost": cost}
	}
	for i, best := range metric.Front(goals) {
		remedies[i].Beaten = !best
	}
}
