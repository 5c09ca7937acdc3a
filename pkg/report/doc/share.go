package doc

import (
	"fmt"
)

// Percent returns a share in percent. It never rounds a positive share to 0%, nor a share below 1 to 100%.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.01:
		return "<1%"
	case share > 0.99 && share < 1:
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// ShareStyle returns the style for a lost share, between 0 and 1: Red for 1, Yellow from 0.5 on.
func ShareStyle(share float64) Style {
	switch {
	case share >= 1:
		return Red
	case share >= 0.5:
		return Yellow
	}
	return Plain
}
