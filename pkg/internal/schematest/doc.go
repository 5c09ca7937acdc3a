// Package schematest writes the JSON Schemas of the reports, docs/*-report.schema.json, from the Go types of their models and the
// comments on them, and holds the files against them.
package schematest
