//go:build !ordered

// Command faultline-kueue is Kueue as a decider of simulate. This build of it says only how to build it.
package main

import (
	"fmt"
	"os"
)

// A program without the copy of Kueue that the command ordered writes cannot step Kueue's scheduler.
func main() {
	fmt.Fprintln(os.Stderr, "faultline-kueue: error: the program was built without -tags ordered; build it by make deciders")
	os.Exit(1)
}
