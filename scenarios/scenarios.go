// Package scenarios holds the scenario that is part of the program.
package scenarios

import "embed"

// FS holds the kind walkthrough.
//
//go:embed kind-walkthrough
var FS embed.FS

// Walkthrough is the path of its scenario file.
const Walkthrough = "kind-walkthrough/scenario.yaml"
