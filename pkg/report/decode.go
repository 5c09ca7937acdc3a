package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
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
	data, err := onlyDocument(data)
	if err != nil {
		return nil, head, fmt.Errorf("%s: %w", file, err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return nil, head, fmt.Errorf("%s: not a report: %w", file, err)
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
	problems, err := kjson.UnmarshalStrict(data, r)
	if err != nil {
		problems = append(problems, err)
	}
	for i, problem := range problems {
		problems[i] = fmt.Errorf("%s: %w", file, problem)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return r, nil
}

// onlyDocument returns the one document that the data holds, as JSON.
func onlyDocument(data []byte) ([]byte, error) {
	if utilyaml.IsJSONBuffer(data) {
		return data, nil
	}
	var document []byte
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		next, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(next)) == 0 {
			continue
		}
		if document != nil {
			return nil, errors.New("several documents; give one report a file")
		}
		document = next
	}
	converted, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // upstream lists duplicate keys a line each
	}
	return converted, nil
}

// DecodeOutcomes is Decode for an OutcomesReport.
func DecodeOutcomes(file string, data []byte) (*OutcomesReport, error) {
	return decode[OutcomesReport](file, data, OutcomesKind)
}
