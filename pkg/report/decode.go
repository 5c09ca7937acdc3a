package report

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// Decode reads a report back from its JSON or YAML. It is strict: another apiVersion or kind, an unknown or a duplicate field
// and a second document are errors, one a line, each with the file's name in front.
func Decode(file string, data []byte) (*Report, error) { return decode[Report](file, data, Kind) }

// DecodeBlast is Decode for a BlastReport.
func DecodeBlast(file string, data []byte) (*BlastReport, error) {
	return decode[BlastReport](file, data, BlastKind)
}

// DecodeDrain is Decode for a DrainReport.
func DecodeDrain(file string, data []byte) (*DrainReport, error) {
	return decode[DrainReport](file, data, DrainKind)
}

// DecodeExplain is Decode for an ExplainReport.
func DecodeExplain(file string, data []byte) (*ExplainReport, error) {
	return decode[ExplainReport](file, data, ExplainKind)
}

// DecodeDiff is Decode for a DiffReport.
func DecodeDiff(file string, data []byte) (*DiffReport, error) {
	return decode[DiffReport](file, data, DiffKind)
}

// DecodeSweep is Decode for a SweepReport.
func DecodeSweep(file string, data []byte) (*SweepReport, error) {
	return decode[SweepReport](file, data, SweepKind)
}

// KindOf is the kind that the JSON or YAML names, such as Report; it need not be one of a report.
func KindOf(file string, data []byte) (string, error) {
	_, head, err := headOf(file, data)
	return head.Kind, err
}

// headOf returns the only document that the data holds, as JSON, and its head.
func headOf(file string, data []byte) ([]byte, metav1.TypeMeta, error) {
	var head metav1.TypeMeta
	data, err := manifest.Document(file, data)
	if err != nil {
		return nil, head, err
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &head) != nil {
		head = metav1.TypeMeta{} // they are no strings, hence not a report's
	}
	return data, head, nil
}

// DecodeVerify is Decode for a VerifyReport.
func DecodeVerify(file string, data []byte) (*VerifyReport, error) {
	return decode[VerifyReport](file, data, VerifyKind)
}

// DecodeCapacity is Decode for a CapacityReport.
func DecodeCapacity(file string, data []byte) (*CapacityReport, error) {
	return decode[CapacityReport](file, data, CapacityKind)
}

// DecodeSize is Decode for a SizeReport.
func DecodeSize(file string, data []byte) (*SizeReport, error) {
	return decode[SizeReport](file, data, SizeKind)
}

func decode[R any](file string, data []byte, kind string) (*R, error) {
	data, head, err := headOf(file, data)
	if err != nil {
		return nil, err
	}
	if head.APIVersion != APIVersion || head.Kind != kind {
		return nil, fmt.Errorf("%s: apiVersion %q and kind %q; give a report of apiVersion %s and kind %s",
			file, head.APIVersion, head.Kind, APIVersion, kind)
	}
	r := new(R)
	if err := manifest.Unmarshal(file, data, r); err != nil {
		return nil, err
	}
	if stepped, ok := any(r).(interface{ stepNames() []string }); ok {
		return r, checkSteps(file, stepped.stepNames())
	}
	return r, nil
}

// checkSteps finds what would pass for a report in which nothing happened: one without steps, or with steps that are null.
func checkSteps(file string, names []string) error {
	if names == nil {
		return fmt.Errorf("%s: steps: is missing; write the report anew", file)
	}
	if i := slices.Index(names, ""); i >= 0 {
		return fmt.Errorf("%s: steps[%d].name: is missing; write the report anew", file, i)
	}
	return nil
}

func (r *Report) stepNames() []string {
	return namesOf(r.Steps, func(step *Step) string { return step.Name })
}

func (r *BlastReport) stepNames() []string {
	return namesOf(r.Steps, func(step *BlastStep) string { return step.Name })
}

func namesOf[S any](steps []S, name func(*S) string) []string {
	if steps == nil {
		return nil
	}
	names := make([]string, len(steps))
	for i := range steps {
		names[i] = name(&steps[i])
	}
	return names
}

// DecodeOutcomes is Decode for an OutcomesReport.
func DecodeOutcomes(file string, data []byte) (*OutcomesReport, error) {
	return decode[OutcomesReport](file, data, OutcomesKind)
}
