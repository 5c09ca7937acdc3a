package inmemory

import (
	"fmt"
	"strconv"
	"strings"
)

// Pace is how time passes in a cluster in memory.
type Pace struct {
	// Rate is how many seconds pass in the cluster in a second of the clock.
	Rate float64
	// Settles says that the cluster acts until nothing moves after each request, and that its time jumps over what it waits for.
	Settles bool
}

// Paces are the paces that have a name.
var Paces = map[string]Pace{"settle": {Rate: 1, Settles: true}, "real": {Rate: 1}, "stand": {}}

// maxRate is a day in a second.
const maxRate = 86400

// ParsePace returns the pace that a text such as settle or x60 names.
func ParsePace(text string) (Pace, error) {
	if pace, named := Paces[text]; named {
		return pace, nil
	}
	factor, isRate := strings.CutPrefix(text, "x")
	rate, err := strconv.ParseFloat(factor, 64)
	if !isRate || err != nil || !(rate > 0 && rate <= maxRate) {
		return Pace{}, fmt.Errorf("--time: %q is not a way in which time passes; give settle, real, stand, or a factor above 0 and up to %d such as x60", text, maxRate)
	}
	return Pace{Rate: rate}, nil
}

// String returns the text that ParsePace reads.
func (p Pace) String() string {
	for name, pace := range Paces {
		if pace == p {
			return name
		}
	}
	return "x" + strconv.FormatFloat(p.Rate, 'g', -1, 64)
}
