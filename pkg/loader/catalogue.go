package loader

import (
	"errors"
	"fmt"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/topology"
)

// ReadCatalogue reads a file of types of nodes. The error has a line for each problem.
func ReadCatalogue(file string, opts Options) (*topology.Catalogue, error) {
	data, err := manifest.ReadFile(opts.FS, nil, file)
	if err != nil {
		return nil, err
	}
	catalogue := &topology.Catalogue{}
	if err := manifest.Unmarshal(file, data, catalogue); err != nil {
		return nil, err
	}
	var problems []error
	for _, invalid := range catalogue.Validate() {
		problems = append(problems, fmt.Errorf("%s: %w", file, invalid))
	}
	return catalogue, errors.Join(problems...)
}
