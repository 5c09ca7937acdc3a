package world

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/scenario"
)

// Moment counts nodes and Pending pods at a time.
type Moment struct {
	At      metav1.Time `json:"at"`
	Nodes   int         `json:"nodes"`
	Pending int         `json:"pending"`
	// Price is what all nodes with a known price cost in an hour; missing if no price is known.
	Price *float64 `json:"price,omitempty"`
}

// appendMoment appends the numbers of the state, unless they equal those of the last moment.
func appendMoment(moments []Moment, state *cluster.State, pending int, by *scenario.Autoscaler) []Moment {
	now := Moment{At: state.Now, Nodes: len(state.Nodes), Pending: pending}
	for _, node := range state.Nodes {
		if price, known, _ := by.Price(node); known { // loading the scenario has validated the price
			now.Price = ptr.To(ptr.Deref(now.Price, 0) + price)
		}
	}
	if n := len(moments); n > 0 {
		if last := moments[n-1]; last.Nodes == now.Nodes && last.Pending == now.Pending && ptr.Equal(last.Price, now.Price) {
			return moments
		}
	}
	return append(moments, now)
}
