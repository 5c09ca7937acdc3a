package doc

import (
	"fmt"
)

// Percent never rounds something to nothing, nor what is not everything to everything.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return "<1%"
	case share > 0.99 && share < 1:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// ShareStyle is the style of a share of what is lost, between 0 and 1: Red for all, Yellow from a half on.
func ShareStyle(share float64) Style {
	switch {
	case share >= 1:
		return Red
	case share >= 0.5:
		return Yellow
	}
	return Plain
}
