package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// What is written is an image that docker loads: the program alone, not run as root, and the same bytes each time.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "simulate")
	if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	var written [2][]byte
	for i := range written {
		file := filepath.Join(dir, "image.tar")
		if err := run([]string{program, "arm64", "1.2.3", "2026-01-02T03:04:05Z", file}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		written[i] = data
	}
	if string(written[0]) != string(written[1]) {
		t.Error("the same program makes another image")
	}
	image, err := tarball.ImageFromPath(filepath.Join(dir, "image.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" || config.Config.User != "65532:65532" || len(config.Config.Entrypoint) != 1 || config.Config.Entrypoint[0] != "/simulate" {
		t.Errorf("%+v", config)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	read := tar.NewReader(files)
	header, err := read.Next()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(read)
	if err != nil || header.Name != "simulate" || header.Mode != 0o755 || string(data) != "a program" {
		t.Errorf("%+v %q %v", header, data, err)
	}
	if _, err := read.Next(); err != io.EOF {
		t.Errorf("more than the program: %v", err)
	}
}

func TestImageUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"none", "amd64", "1", "yesterday", "x"}, {"none", "amd64", "1", "2026-01-02T03:04:05Z", "x"}} {
		if run(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
