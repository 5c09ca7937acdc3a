package doc

import (
	"strconv"
)

// Course is a picture of how counts change, such as nodes, Pending pods and the price: a curve for each, over the same moments.
type Course struct {
	// Title says what the curves show.
	Title string
	// Moments are the steps, turns or times that the curves pass, in order.
	Moments []string
	Curves  []Curve
}

// Curve is one count at each moment. Its style is the colour, as that of a Part.
type Curve struct {
	Name   string
	Style  Style
	Values []float64
}

// Most is the curve's highest value, and at least 0.
func (c *Curve) Most() (most float64) {
	for _, value := range c.Values {
		most = max(most, value)
	}
	return most
}

// Note is "3 → 5, at most 7": where the curve begins and ends, and its highest value if that lies between.
func (c *Curve) Note() string {
	if len(c.Values) == 0 {
		return None
	}
	first, last, most := c.Values[0], c.Values[len(c.Values)-1], c.Most()
	note := Amount(first)
	if first != last {
		note += " → " + Amount(last)
	}
	if most > first && most > last {
		note += ", at most " + Amount(most)
	}
	return note
}

// Amount is a number with at most two decimals.
func Amount(value float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'f', 2, 64), 64) // it has just been printed
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
