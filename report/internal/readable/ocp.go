package readable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// object is an artifact's required keys with the kind of their values, and
// those that it may have besides.
type object struct{ required, optional map[string]string }

// artifacts are those of the OCP Test and Validation specification 2.0 that
// this program writes.
var artifacts = map[string]object{
	"schemaVersion": {map[string]string{"major": "number", "minor": "number"}, nil},
	"testRunStart": {
		map[string]string{"name": "string", "version": "string", "commandLine": "string", "parameters": "object", "dutInfo": "object"},
		map[string]string{"metadata": "object"},
	},
	"testRunEnd":    {map[string]string{"status": "string", "result": "string"}, nil},
	"testStepStart": {map[string]string{"name": "string"}, nil},
	"testStepEnd":   {map[string]string{"status": "string"}, nil},
	"measurement": {
		map[string]string{"name": "string", "value": "number"},
		map[string]string{"unit": "string", "validators": "array", "hardwareInfoId": "string", "subcomponent": "object", "metadata": "object"},
	},
	"diagnosis": {
		map[string]string{"verdict": "string", "type": "string"},
		map[string]string{"message": "string", "hardwareInfoId": "string", "subcomponent": "object"},
	},
	"error": {map[string]string{"symptom": "string"}, map[string]string{"message": "string", "softwareInfoIds": "array"}},
	"log":   {map[string]string{"severity": "string", "message": "string"}, nil},
	"dutInfo": {
		map[string]string{"dutInfoId": "string"},
		map[string]string{"name": "string", "platformInfos": "array", "softwareInfos": "array", "hardwareInfos": "array"},
	},
	"subcomponent": {map[string]string{"name": "string"}, map[string]string{"type": "string"}},
}

// words are the values that an enumeration allows.
var words = map[string][]string{
	"testRunEnd.status":  {"COMPLETE", "ERROR", "SKIP"},
	"testRunEnd.result":  {"PASS", "FAIL", "NOT_APPLICABLE"},
	"testStepEnd.status": {"COMPLETE", "ERROR", "SKIP"},
	"diagnosis.type":     {"PASS", "FAIL", "UNKNOWN"},
	"log.severity":       {"INFO", "DEBUG", "WARNING", "ERROR", "FATAL"},
	"subcomponent.type":  {"UNSPECIFIED", "ASIC", "ASIC-SUBSYSTEM", "BUS", "FUNCTION", "CONNECTOR"},
}

// pairs are the ends of a run that the specification allows.
var pairs = []string{"SKIP NOT_APPLICABLE", "ERROR NOT_APPLICABLE", "COMPLETE PASS", "COMPLETE FAIL"}

// OCP says what the specification does not allow in a document.
func OCP(text []byte) error {
	if err := Plain(text); err != nil {
		return err
	}
	r := ocpReader{known: map[string]bool{}, steps: map[string]bool{}}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		if err := r.line(i, line); err != nil {
			return fmt.Errorf("line %d: %w: %.300s", i+1, err, line)
		}
	}
	switch {
	case !r.ended:
		return errors.New("no testRunEnd")
	case r.failed != (r.end == "COMPLETE FAIL"):
		return fmt.Errorf("the run ended %q, a diagnosis FAIL was written: %v", r.end, r.failed)
	}
	return nil
}

// ocpReader keeps what the rules need of the lines read so far.
type ocpReader struct {
	known  map[string]bool // ids of hardware and software, with their kind
	steps  map[string]bool // false once ended
	failed bool
	ended  bool
	end    string
}

func (r *ocpReader) line(i int, line []byte) error {
	var root map[string]any
	if err := json.Unmarshal(line, &root); err != nil {
		return err
	}
	if n, ok := root["sequenceNumber"].(float64); !ok || n != float64(i) {
		return fmt.Errorf("sequenceNumber %v, want %d", root["sequenceNumber"], i)
	}
	stamp, _ := root["timestamp"].(string)
	if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil {
		return err
	}
	delete(root, "sequenceNumber")
	delete(root, "timestamp")
	kind, artifact, err := only(root)
	if err != nil {
		return err
	}
	step := ""
	switch kind {
	case "testRunArtifact":
		kind, artifact, err = only(artifact)
	case "testStepArtifact":
		step, _ = artifact["testStepId"].(string)
		if step == "" {
			return errors.New("no testStepId")
		}
		delete(artifact, "testStepId")
		kind, artifact, err = only(artifact)
	}
	if err != nil {
		return err
	}
	if first := [...]string{"schemaVersion", "testRunStart"}; i < len(first) && kind != first[i] || i >= len(first) && slices.Contains(first[:], kind) {
		return fmt.Errorf("a %s in line %d", kind, i+1)
	}
	if r.ended {
		return errors.New("after testRunEnd")
	}
	if err := check(kind, artifact); err != nil {
		return err
	}
	if step != "" {
		if err := r.inStep(kind, step); err != nil {
			return err
		}
	}
	return r.artifact(kind, artifact)
}

// only is the one key of an object, and its value.
func only(in map[string]any) (string, map[string]any, error) {
	if len(in) != 1 {
		return "", nil, fmt.Errorf("%d artifacts in one", len(in))
	}
	for key, value := range in {
		of, ok := value.(map[string]any)
		if !ok {
			return "", nil, fmt.Errorf("%s is no object", key)
		}
		return key, of, nil
	}
	panic("a map of one has an entry")
}

func check(kind string, artifact map[string]any) error {
	rule, ok := artifacts[kind]
	if !ok {
		return fmt.Errorf("unknown artifact %s", kind)
	}
	for key := range rule.required {
		if _, ok := artifact[key]; !ok {
			return fmt.Errorf("%s lacks %s", kind, key)
		}
	}
	for key, value := range artifact {
		want := rule.required[key]
		if want == "" {
			want = rule.optional[key]
		}
		is := map[bool]string{}
		switch value.(type) {
		case string:
			is[true] = "string"
		case float64:
			is[true] = "number"
		case map[string]any:
			is[true] = "object"
		case []any:
			is[true] = "array"
		}
		if is[true] != want {
			return fmt.Errorf("%s.%s is a %s, want %q", kind, key, is[true], want)
		}
		if allowed, ok := words[kind+"."+key]; ok && !slices.Contains(allowed, value.(string)) {
			return fmt.Errorf("%s.%s is %v", kind, key, value)
		}
		if _, nested := artifacts[key]; nested {
			if err := check(key, value.(map[string]any)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *ocpReader) inStep(kind, step string) error {
	open, known := r.steps[step]
	switch {
	case kind == "testStepStart" && known:
		return fmt.Errorf("step %s starts twice", step)
	case kind != "testStepStart" && !open:
		return fmt.Errorf("step %s is not open", step)
	}
	r.steps[step] = kind != "testStepEnd"
	return nil
}

func (r *ocpReader) artifact(kind string, artifact map[string]any) error {
	switch kind {
	case "testRunStart":
		dut := artifact["dutInfo"].(map[string]any)
		for list, id := range map[string]string{"hardwareInfos": "hardwareInfoId", "softwareInfos": "softwareInfoId"} {
			all, _ := dut[list].([]any)
			for _, info := range all {
				name, _ := info.(map[string]any)["name"].(string)
				key, _ := info.(map[string]any)[id].(string)
				if key == "" || name == "" || r.known[id+key] {
					return fmt.Errorf("%s %q, named %q, is empty or known already", id, key, name)
				}
				r.known[id+key] = true
			}
		}
	case "testRunEnd":
		r.ended, r.end = true, fmt.Sprint(artifact["status"], " ", artifact["result"])
		if !slices.Contains(pairs, r.end) {
			return fmt.Errorf("the run ended %s", r.end)
		}
		for step, open := range r.steps {
			if open {
				return fmt.Errorf("step %s did not end", step)
			}
		}
	case "diagnosis":
		r.failed = r.failed || artifact["type"] == "FAIL"
	}
	if id, ok := artifact["hardwareInfoId"].(string); ok && !r.known["hardwareInfoId"+id] {
		return fmt.Errorf("hardwareInfoId %s is not in dutInfo", id)
	}
	ids, _ := artifact["softwareInfoIds"].([]any)
	for _, id := range ids {
		if !r.known["softwareInfoId"+fmt.Sprint(id)] {
			return fmt.Errorf("softwareInfoId %v is not in dutInfo", id)
		}
	}
	validators, _ := artifact["validators"].([]any)
	for _, v := range validators {
		of := v.(map[string]any)
		if _, ok := of["value"].(float64); !ok || of["type"] != "GREATER_THAN_OR_EQUAL" {
			return fmt.Errorf("validator %v", of)
		}
	}
	return nil
}
