package report

import (
	"fmt"
)

// percent never rounds something to nothing, nor what is not everything to everything.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return "<1%"
	case share > 0.99 && share < 1:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

func shareStyle(share float64) style {
	switch {
	case share >= 1:
		return red
	case share >= 0.5:
		return yellow
	}
	return plain
}
