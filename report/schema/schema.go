// Package schema holds the JSON Schemas (draft 2020-12) of the documents that a
// run leaves, written from the Go types by this package's test.
package schema

import (
	_ "embed"
	"slices"
)

var (
	//go:embed results.schema.json
	results []byte
	//go:embed node.schema.json
	node []byte
)

// Results is the schema of results.json. A later version of the tool may add
// keys, so a reader should not refuse those that it does not know; the schema
// does not either.
func Results() []byte { return slices.Clone(results) }

// Node is the schema of node.json, the inventory, likewise.
func Node() []byte { return slices.Clone(node) }
