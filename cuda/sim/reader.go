package sim

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// reader walks a YAML document and keeps the first thing that is wrong with
// it. After that every method returns zero values.
type reader struct {
	file string
	err  *FileError
}

// field is one key of a mapping and what reads its value.
type field struct {
	key  string
	read func(ast.Node)
}

// document parses one YAML document whose top is a mapping.
func (r *reader) document(data []byte) ast.Node {
	if len(data) > maxFile {
		r.err = &FileError{File: r.file, Problem: fmt.Sprintf("%d bytes are too much for a node file; at most %d are read", len(data), maxFile)}
		return nil
	}
	if nested(data) > maxDepth {
		r.err = &FileError{File: r.file, Problem: fmt.Sprintf("more than %d brackets are open at once; a node file needs five", maxDepth)}
		return nil
	}
	file, err := parseYAML(data)
	if err != nil {
		r.err = &FileError{File: r.file, Problem: "not YAML: " + err.Error()}
		var located yaml.Error
		if errors.As(err, &located) {
			r.err.Problem = "not YAML: " + located.GetMessage()
			if t := located.GetToken(); t != nil && t.Position != nil {
				r.err.Line, r.err.Column = t.Position.Line, t.Position.Column
			}
		}
		return nil
	}
	if len(file.Docs) > 1 {
		second := file.Docs[1]
		r.err = &FileError{File: r.file, Problem: "a second YAML document begins here; a node file holds one"}
		if second.Start != nil {
			r.err.Line, r.err.Column = second.Start.Position.Line, second.Start.Position.Column
		} else if second.Body != nil {
			r.fail(second.Body, "%s", r.err.Problem)
		}
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		r.err = &FileError{File: r.file, Problem: "the file is empty; expected a node, from \"version: 1\" on"}
		return nil
	}
	return file.Docs[0].Body
}

// maxDepth bounds the brackets that may be open at once: the YAML parser takes
// minutes where there are thousands.
const maxDepth = 50

// nested is how many brackets are open at once, those in text counted too.
func nested(data []byte) int {
	open, most := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			open++
			most = max(most, open)
		case ']', '}':
			open--
		}
	}
	return most
}

// parseYAML turns a panic of the YAML parser, which hostile input can provoke,
// into an error.
func parseYAML(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser gave up: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0)
}

// fail keeps the first complaint, with the place of n.
func (r *reader) fail(n ast.Node, format string, args ...any) {
	if r.err != nil && r.err.Line > 0 {
		return
	}
	r.err = &FileError{File: r.file, Problem: fmt.Sprintf(format, args...)}
	if pair, ok := n.(*ast.MappingValueNode); ok {
		n = pair.Key
	}
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key // a block mapping's own token is its first colon
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		r.err.Line, r.err.Column = 1, 1
		return
	}
	p := n.GetToken().Position
	r.err.Line, r.err.Column = p.Line, p.Column
}

func (r *reader) failed() bool { return r.err != nil }

// found describes a value for an error message.
func found(n ast.Node) string {
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias, which a node file cannot hold"
	case *ast.TagNode:
		return "a tag, which a node file cannot hold"
	case *ast.LiteralNode:
		return "a block of text"
	default:
		return quote(v.GetToken().Value)
	}
}

// quote shows a user's text in a message: escaped, and not too much of it.
func quote(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return strconv.Quote(text)
}

// mapping reads a mapping with the known fields, each at most once, in the
// order of the document. It returns the values by key.
func (r *reader) mapping(n ast.Node, what string, fields ...field) map[string]ast.Node {
	values := map[string]ast.Node{}
	for _, pair := range r.pairs(n, what) {
		key, ok := pair.Key.(*ast.StringNode)
		if !ok {
			r.fail(pair.Key, "a key of %s must be plain text; known here: %s", what, fieldNames(fields))
			return values
		}
		known := false
		for _, f := range fields {
			if f.key == key.Value {
				known = true
				values[f.key] = pair.Value
				if !r.failed() {
					f.read(pair.Value)
				}
			}
		}
		if !known {
			r.fail(key, "%s has no key %s; known here: %s", what, quote(key.Value), fieldNames(fields))
			return values
		}
	}
	return values
}

// pairs are the keys and values of a mapping.
func (r *reader) pairs(n ast.Node, what string) []*ast.MappingValueNode {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	}
	r.fail(n, "%s must be a mapping, found %s", what, found(n))
	return nil
}

func fieldNames(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	return strings.Join(names, ", ")
}

// list reads a list.
func (r *reader) list(n ast.Node, what string) []ast.Node {
	if v, ok := n.(*ast.SequenceNode); ok {
		return v.Values
	}
	r.fail(n, "%s must be a list, found %s", what, found(n))
	return nil
}

// scalar is the text of a plain or quoted value, also where YAML would read a
// number or a boolean in it: versions such as 13.0 need that.
func (r *reader) scalar(n ast.Node, what string) string {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return v.GetToken().Value
	}
	r.fail(n, "%s must be text, found %s", what, found(n))
	return ""
}

// text reads text that is not a number or a boolean.
func (r *reader) text(n ast.Node, what string) string {
	if v, ok := n.(*ast.StringNode); ok {
		return v.Value
	}
	r.fail(n, "%s must be text, found %s", what, found(n))
	return ""
}

// choice reads one of a few words.
func (r *reader) choice(n ast.Node, what string, words ...string) string {
	text := r.scalar(n, what)
	for _, w := range words {
		if text == w {
			return w
		}
	}
	r.fail(n, "%s must be one of %s, found %s", what, strings.Join(words, ", "), found(n))
	return ""
}

// boolean reads true or false.
func (r *reader) boolean(n ast.Node, what string) bool {
	if v, ok := n.(*ast.BoolNode); ok {
		return v.Value
	}
	r.fail(n, "%s must be true or false, found %s", what, found(n))
	return false
}

// integer reads a whole number from lo to hi.
func (r *reader) integer(n ast.Node, what string, lo, hi int64) int64 {
	var i int64
	ok := false
	if v, isInt := n.(*ast.IntegerNode); isInt {
		switch value := v.Value.(type) {
		case int64:
			i, ok = value, true
		case uint64:
			if value <= math.MaxInt64 {
				i, ok = int64(value), true
			}
		}
	}
	if !ok || i < lo || i > hi {
		r.fail(n, "%s must be a whole number from %d to %d, found %s", what, lo, hi, found(n))
		return lo
	}
	return i
}

// number reads a number from lo to hi.
func (r *reader) number(n ast.Node, what string, lo, hi float64) float64 {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
		// 1e-3 without a point is text to the parser.
		x, err := strconv.ParseFloat(n.GetToken().Value, 64)
		if err == nil && x >= lo && x <= hi {
			return x
		}
	}
	r.fail(n, "%s must be a number from %v to %v, found %s", what, lo, hi, found(n))
	return lo
}

var sizeText = regexp.MustCompile(`^([0-9]+) ?(B|KiB|MiB|GiB|TiB)?$`)

// size reads a size in bytes, "64MiB" or a plain number.
func (r *reader) size(n ast.Node, what string) uint64 {
	text := r.scalar(n, what)
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		r.fail(n, "%s must be a size such as 64MiB (B, KiB, MiB, GiB, TiB), found %s", what, found(n))
		return 0
	}
	shift := map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[m[2]]
	x, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil || x > math.MaxInt64>>shift {
		r.fail(n, "%s is too large: %s", what, found(n))
		return 0
	}
	return x << shift
}

// integers reads a list of whole numbers from lo to hi.
func (r *reader) integers(n ast.Node, what, each string, lo, hi int64) []int {
	var all []int
	for _, v := range r.list(n, what) {
		all = append(all, int(r.integer(v, each, lo, hi)))
	}
	return all
}

// require complains about the first key that a mapping lacks.
func (r *reader) require(n ast.Node, what string, values map[string]ast.Node, keys ...string) {
	for _, k := range keys {
		if values[k] == nil {
			r.fail(n, "%s lacks the key %s", what, k)
		}
	}
}
