package ocp

import "time"

// The artifacts of the OCP Test and Validation output specification 2.0, as
// far as they are written here. Each line of a document is an output with one
// of the first three.

type output struct {
	SchemaVersion    *schemaVersion `json:"schemaVersion,omitempty"`
	TestRunArtifact  *runArtifact   `json:"testRunArtifact,omitempty"`
	TestStepArtifact *stepArtifact  `json:"testStepArtifact,omitempty"`
	SequenceNumber   int            `json:"sequenceNumber"`
	Timestamp        time.Time      `json:"timestamp"`
}

type schemaVersion struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

type runArtifact struct {
	TestRunStart *runStart `json:"testRunStart,omitempty"`
	TestRunEnd   *runEnd   `json:"testRunEnd,omitempty"`
	Log          *log      `json:"log,omitempty"`
}

type stepArtifact struct {
	TestStepID    string       `json:"testStepId"`
	TestStepStart *stepStart   `json:"testStepStart,omitempty"`
	TestStepEnd   *stepEnd     `json:"testStepEnd,omitempty"`
	Measurement   *measurement `json:"measurement,omitempty"`
	Diagnosis     *diagnosis   `json:"diagnosis,omitempty"`
	Error         *failure     `json:"error,omitempty"`
	Log           *log         `json:"log,omitempty"`
}

type runStart struct {
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	CommandLine string         `json:"commandLine"`
	Parameters  map[string]any `json:"parameters"`
	DUTInfo     dutInfo        `json:"dutInfo"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

type dutInfo struct {
	ID            string         `json:"dutInfoId"`
	Name          string         `json:"name,omitempty"`
	PlatformInfos []platformInfo `json:"platformInfos,omitempty"`
	SoftwareInfos []softwareInfo `json:"softwareInfos,omitempty"`
	HardwareInfos []hardwareInfo `json:"hardwareInfos,omitempty"`
}

type platformInfo struct {
	Info string `json:"info"`
}

type softwareInfo struct {
	ID      string `json:"softwareInfoId"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Type    string `json:"softwareType"`
}

type hardwareInfo struct {
	ID           string `json:"hardwareInfoId"`
	Name         string `json:"name"`
	Location     string `json:"location,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	PartType     string `json:"partType,omitempty"`
	Manufacturer string `json:"manufacturer,omitempty"`
}

type runEnd struct {
	Status string `json:"status"`
	Result string `json:"result"`
}

type stepStart struct {
	Name string `json:"name"`
}

type stepEnd struct {
	Status string `json:"status"`
}

type measurement struct {
	Name           string         `json:"name"`
	Value          float64        `json:"value"`
	Unit           string         `json:"unit,omitempty"`
	Validators     []validator    `json:"validators,omitempty"`
	HardwareInfoID string         `json:"hardwareInfoId,omitempty"`
	Subcomponent   *subcomponent  `json:"subcomponent,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
}

type validator struct {
	Name  string  `json:"name,omitempty"`
	Type  string  `json:"type"`
	Value float64 `json:"value"`
}

type subcomponent struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type diagnosis struct {
	Verdict        string        `json:"verdict"`
	Type           string        `json:"type"`
	Message        string        `json:"message,omitempty"`
	HardwareInfoID string        `json:"hardwareInfoId,omitempty"`
	Subcomponent   *subcomponent `json:"subcomponent,omitempty"`
}

// failure is the specification's error.
type failure struct {
	Symptom         string   `json:"symptom"`
	Message         string   `json:"message,omitempty"`
	SoftwareInfoIDs []string `json:"softwareInfoIds,omitempty"`
}

type log struct {
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// Values of the specification's enumerations.
const (
	statusComplete = "COMPLETE"
	statusError    = "ERROR"
	statusSkip     = "SKIP"

	resultPass = "PASS"
	resultFail = "FAIL"
	resultNone = "NOT_APPLICABLE"

	typePass    = "PASS"
	typeFail    = "FAIL"
	typeUnknown = "UNKNOWN"

	severityInfo    = "INFO"
	severityWarning = "WARNING"

	typeBus          = "BUS"
	atLeast          = "GREATER_THAN_OR_EQUAL"
	softwareFirmware = "FIRMWARE"
	softwareSystem   = "SYSTEM"
)
