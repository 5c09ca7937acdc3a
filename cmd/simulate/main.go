// Command simulate shows, before anything is deployed, where the real kube-scheduler will put pods, and which pods stay Pending.
package main

import (
	"os"

	"github.com/faultline/faultline/cmd/simulate/app"
)

func main() {
	tuneCollector()
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
