package doc

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantity returns the amount as people write it: 1,096 or 14.5 cores, 250m, 1.5Gi.
func Quantity(name v1.ResourceName, n float64) string {
	switch {
	case name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
		return FormatBytes(n)
	case name == v1.ResourceCPU && n < 1:
		return resource.NewMilliQuantity(int64(n*1000+0.5), resource.DecimalSI).String()
	case name == v1.ResourceCPU && n < 100:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
	}
	return groupThousands(fmt.Sprintf("%.0f", n))
}

// groupThousands separates thousands by commas.
func groupThousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// FormatBytes returns a number of bytes in the largest unit that does not exceed it: 1.5Gi.
func FormatBytes(n float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", n/unit.size), ".0") + unit.name
		}
	}
	return fmt.Sprintf("%.0f", n)
}
