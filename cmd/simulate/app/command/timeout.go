package command

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/faultline/faultline/cmd/simulate/app/exit"
)

// Timeout is the flag that ends a question after some time. The command then prints the part of the answer that is known.
type Timeout struct{ given string }

// Register adds the flag.
func (t *Timeout) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.given, "timeout", "", "print what is known after this `TIME`, such as 10s or 2m, as a true part of the answer (default no limit)")
}

// limit returns the time limit, or 0 without the flag.
func (t *Timeout) limit(cmd *cobra.Command) (time.Duration, error) {
	if !cmd.Flags().Changed("timeout") {
		return 0, nil
	}
	limit, err := ParseTimeLimit(t.given)
	if err != nil {
		return 0, exit.Usage(cmd, "--timeout: %w", err)
	}
	return limit, nil
}

// ParseTimeLimit parses a length of time above 0.
func ParseTimeLimit(text string) (time.Duration, error) {
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("%q is not a time above 0; give a number with its unit, such as 10s or 2m", text)
	}
	return limit, nil
}

// errNothingKnown is the error of a question that has no part of its answer when its time is over.
var errNothingKnown = errors.New("--timeout: the time was over before any part of the answer was known; give more time, such as --timeout 1m, or ask about less")
