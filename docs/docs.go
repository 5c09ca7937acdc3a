// Package docs holds the JSON Schemas for the command line. They are written from the Go types by tests.
package docs

import "embed"

// Schemas are the files *.schema.json.
//
//go:embed *.schema.json
var Schemas embed.FS
