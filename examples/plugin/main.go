// Command plugin is simulate with a plugin of its own, PreferLabel: what docs/plugins.md describes.
package main

import (
	"os"

	"github.com/faultline/faultline/cmd/simulate/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, app.WithPlugin(Name, New)))
}
