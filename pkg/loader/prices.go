package loader

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/input/price"
	"github.com/faultline/faultline/pkg/scenario"
	"github.com/faultline/faultline/pkg/words"
)

// readPrices reads the file of prices that a flag or the scenario names.
func (l *loader) readPrices(named string) {
	var data []byte
	switch {
	case l.opts.Prices != "":
		l.pricesFile = l.opts.Prices
		var err error
		if data, err = manifest.ReadFile(l.opts.FS, nil, l.pricesFile); err != nil {
			l.problems.AddErrors(fmt.Errorf("%s: --prices: %w", scenario.CommandLine, err))
			return
		}
	case named != "":
		var ok bool
		if l.pricesFile, data, ok = l.readNamedFile(field.NewPath("prices"), named); !ok {
			return
		}
	default:
		return
	}
	table, err := price.Parse(l.pricesFile, data)
	if err != nil {
		l.problems.AddErrors(err)
		return
	}
	l.prices = table
}

// annotatePrices annotates the nodes among the objects with the prices of the file. A price in a node's own annotation wins.
func (l *loader) annotatePrices(objects []cluster.Object) {
	var nodes []*v1.Node
	for _, obj := range objects {
		if node, is := obj.(*v1.Node); is {
			nodes = append(nodes, node)
		}
	}
	if l.prices == nil || len(nodes) == 0 {
		return
	}
	priced, unknown := l.prices.Annotate(nodes)
	if len(unknown) == 0 {
		return
	}
	types := words.Few(price.InstanceTypes(unknown))
	if types == "" {
		types = "none"
	}
	text := fmt.Sprintf("%s has no price for %d of %s; their instance types: %s", l.pricesFile, len(unknown), words.Count(len(nodes), "node"), types)
	if priced == 0 {
		l.problems.Add(nil, "%s; give the prices of these nodes, or none", text)
	} else {
		l.notes = append(l.notes, text+".")
	}
}
