package doc

import (
	"strconv"
)

// Course is a picture of counts over time, such as nodes, Pending pods and the price: a curve for each count, over the same moments.
type Course struct {
	// Title says what the curves show.
	Title string
	// Moments are the names of the steps, turns or times, in order.
	Moments []string
	Curves  []Curve
}

// Curve is one count at each moment. Its style is its colour, as in a Part.
type Curve struct {
	Name   string
	Style  Style
	Values []float64
}

// Most returns the curve's highest value, at least 0.
func (c *Curve) Most() (most float64) {
	for _, value := range c.Values {
		most = max(most, value)
	}
	return most
}

// Note returns "3 → 5, at most 7": the first and the last value, and the highest one if it is higher than both.
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

// Amount returns a number with at most two decimals.
func Amount(value float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'f', 2, 64), 64) // the text is a number
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
