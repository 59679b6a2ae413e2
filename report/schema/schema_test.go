package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	generator "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/schema"
)

var update = flag.Bool("update", false, "write the schemas from the Go types")

const module = "github.com/peerproof/peerproof"

// generated is a type's schema, with the types' comments as descriptions.
func generated(t *testing.T, of any, name, title string) *generator.Schema {
	t.Helper()
	r := generator.Reflector{AllowAdditionalProperties: true, ExpandedStruct: true, Anonymous: true, Mapper: mapped}
	for _, dir := range []string{"report", "fixtures/topology", "fixtures/verdict"} {
		if err := r.AddGoComments(module+"/"+dir, "../../"+dir, generator.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	for key, comment := range r.CommentMap { // read from ../../report, known by its import path
		delete(r.CommentMap, key)
		for _, dir := range []string{"report", "fixtures/topology", "fixtures/verdict"} {
			if i := strings.LastIndex(key, "/"+dir+"."); i >= 0 {
				r.CommentMap[module+key[i:]] = strings.Join(strings.Fields(comment), " ")
			}
		}
	}
	s := r.Reflect(of)
	s.ID, s.Title = generator.ID("https://"+module+"/report/schema/"+name), title
	return s
}

// mapped are the types whose schema says more than their Go type.
func mapped(of reflect.Type) *generator.Schema {
	switch of {
	case reflect.TypeFor[verdict.Verdict]():
		return &generator.Schema{Type: "string", Enum: []any{verdict.Pass, verdict.Fail, verdict.Error, verdict.Skip, verdict.Waived}}
	default:
		return nil
	}
}

func property(t *testing.T, s *generator.Schema, definition, name string) *generator.Schema {
	t.Helper()
	in := s
	if definition != "" {
		in = s.Definitions[definition]
	}
	if in == nil {
		t.Fatalf("no definition %s", definition)
	}
	p, ok := in.Properties.Get(name)
	if !ok {
		t.Fatalf("%s has no %s", definition, name)
	}
	return p
}

// resultsSchema adds to the types what only the rules of a run say.
func resultsSchema(t *testing.T) *generator.Schema {
	s := generated(t, report.Results{}, "results.schema.json", "peerproof results.json, version 1")
	property(t, s, "", "version").Const = report.Version
	property(t, s, "", "exit").Enum = []any{0, 1, 2, 3, 5}
	for _, name := range []string{"pass", "fail", "error", "skip", "waived"} {
		property(t, s, "Counts", name).Minimum = "0"
	}
	property(t, s, "GPU", "slot").Pattern = "^gpu[0-9]+$"
	property(t, s, "GPU", "numa").Minimum = "-1"
	for _, name := range []string{"from", "to", "gpu"} {
		property(t, s, "Subject", name).Pattern = "^gpu[0-9]+$"
	}
	property(t, s, "Spec", "id").Pattern = `^[a-z0-9-]+/[a-z0-9-]+(\[gpu[0-9]+(-(>)?gpu[0-9]+)?\])?$`
	property(t, s, "Spec", "code").Pattern = "^[a-z0-9-]+$"
	property(t, s, "Spec", "duration_s").Minimum = "0"
	property(t, s, "Measurement", "floor").Minimum = "0"
	property(t, s, "Measurement", "theoretical").Minimum = "0"
	is := func(v ...any) *generator.Schema {
		p := generator.NewProperties()
		p.Set("verdict", &generator.Schema{Enum: v})
		return &generator.Schema{Properties: p}
	}
	without := func(name string) *generator.Schema {
		return &generator.Schema{Not: &generator.Schema{Required: []string{name}}}
	}
	s.Definitions["Spec"].AllOf = []*generator.Schema{
		{If: is(verdict.Pass), Then: without("code"), Else: &generator.Schema{Required: []string{"code"}}},
		{If: is(verdict.Waived), Else: without("waiver")},
	}
	return s
}

func nodeSchema(t *testing.T) *generator.Schema {
	s := generated(t, topology.Node{}, "node.schema.json", "peerproof node.json, version 1")
	property(t, s, "", "version").Const = 1
	property(t, s, "GPU", "slot").Minimum = "0"
	property(t, s, "GPU", "numa").Minimum = "-1"
	return s
}

// The committed schemas are what the types say; -update writes them.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		file      string
		want      *generator.Schema
		committed []byte
	}{
		{"results.schema.json", resultsSchema(t), schema.Results()},
		{"node.schema.json", nodeSchema(t), schema.Node()},
	} {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(c.want); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(c.file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(c.committed), b.String()); diff != "" {
			t.Errorf("%s is not what the types say; go test ./report/schema -update writes it (-committed +types):\n%s", c.file, diff)
		}
	}
}

func compiled(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("document.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("document.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// broken is results.json and node.json of the sample run.
func broken(t *testing.T) (results, node string) {
	t.Helper()
	r, err := report.Build(strings.NewReader(sample.Broken().String()))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	inventory, err := json.Marshal(r.Node)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), string(inventory)
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestExamples(t *testing.T) {
	results, node := broken(t)
	example := func(name string) string {
		text, err := os.ReadFile("../../docs/example-h200/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, text := range map[string]string{"sample": results, "real H200": example("results.json")} {
		if err := validate(t, compiled(t, schema.Results()), text); err != nil {
			t.Errorf("results.json of %s: %v", name, err)
		}
	}
	for name, text := range map[string]string{"sample": node, "real H200": example("node.json")} {
		if err := validate(t, compiled(t, schema.Node()), text); err != nil {
			t.Errorf("node.json of %s: %v", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	results, node := broken(t)
	for _, c := range []struct {
		schema []byte
		good   string
		change [2]string
	}{
		{schema.Results(), results, [2]string{`{"version":1,`, `{`}},
		{schema.Results(), results, [2]string{`"version":1`, `"version":2`}},
		{schema.Results(), results, [2]string{`"verdict":"pass"`, `"verdict":"passed"`}},
		{schema.Results(), results, [2]string{`"verdict":"fail","code":"below-floor"`, `"verdict":"fail"`}},
		{schema.Results(), results, [2]string{`"verdict":"pass"`, `"verdict":"pass","code":"x"`}},
		{schema.Results(), results, [2]string{`"exit":1`, `"exit":7`}},
		{schema.Results(), results, [2]string{`"duration_s":0.5`, `"duration_s":"0.5"`}},
		{schema.Results(), results, [2]string{`"started":"2026-`, `"started":"yesterday-`}},
		{schema.Results(), results, [2]string{`"simulated":true`, `"simulated":"yes"`}},
		{schema.Results(), results, [2]string{`"from":"gpu0"`, `"from":0`}},
		{schema.Results(), results, [2]string{`"id":"inventory/model[gpu0]"`, `"id":"inventory"`}},
		{schema.Results(), results, [2]string{`"value":38.2`, `"value":"38.2"`}},
		{schema.Results(), results, [2]string{`"verdict":"fail","code"`, `"waiver":{"spec":"a","reason":"b","owner":"c","expires":"d"},"verdict":"fail","code"`}},
		{schema.Node(), node, [2]string{`{"version":1,`, `{`}},
		{schema.Node(), node, [2]string{`"slot":0`, `"slot":"gpu0"`}},
		{schema.Node(), node, [2]string{`"numa":`, `"numma":`}},
	} {
		text := strings.Replace(c.good, c.change[0], c.change[1], 1)
		if text == c.good {
			t.Errorf("%q changes nothing", c.change[0])
			continue
		}
		if validate(t, compiled(t, c.schema), text) == nil {
			t.Errorf("%q is accepted for %q", c.change[1], c.change[0])
		}
	}
}
