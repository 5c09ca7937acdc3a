// Command image writes the image of a program: the program alone, run as nobody in particular, as a file that docker load takes.
//
//	image PROGRAM ARCH VERSION COMMIT_DATE FILE
package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "image: error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("got %d arguments; give PROGRAM ARCH VERSION COMMIT_DATE FILE", len(args))
	}
	program, arch, version, file := args[0], args[1], args[2], args[4]
	made, err := time.Parse(time.RFC3339, args[3])
	if err != nil {
		return fmt.Errorf("COMMIT_DATE %s: %w", args[3], err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	img, err := image(data, arch, made)
	if err != nil {
		return err
	}
	tag, err := name.NewTag("ghcr.io/faultline/simulate:" + version)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, img)
}

// nobody is distroless's nonroot user and group, by number, since the image has no list of users.
const nobody = 65532

// image holds the program as /simulate. The same program and time give the same bytes.
func image(program []byte, arch string, made time.Time) (v1.Image, error) {
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	header := &tar.Header{Name: "simulate", Mode: 0o755, Size: int64(len(program)), ModTime: made}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: made}
	config.Config = v1.Config{Entrypoint: []string{"/simulate"}, User: fmt.Sprintf("%d:%[1]d", nobody), WorkingDir: "/work"}
	return mutate.ConfigFile(img, config)
}
