package decider

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Find returns the program of the decider: faultline-NAME beside this program, or in the PATH.
func Find(name string) (string, error) {
	program := "faultline-" + name
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), program)
		if found, err := exec.LookPath(beside); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("there is no program %s beside simulate or in the PATH; build it by make deciders, take it from the release, or name it by --decider %s=COMMAND", program, name)
	}
	return filepath.Abs(found)
}
