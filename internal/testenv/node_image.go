package testenv

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// TestImage is the image of the program that containers of tests run, see nodeimage/app.
const TestImage = "docker.io/library/fleet-test-app:1"

// pauseImage holds the namespaces of a pod.
const pauseImage = "registry.k8s.io/pause:3.10"

// WriteImages writes the images that tests use into a folder, as archives that kind loads. It returns
// their paths. The working directory must be inside the repository.
func WriteImages(ctx context.Context, dir string, log Log) ([]string, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("images of tests are built on Linux, and this is %s", runtime.GOOS)
	}
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	store, err := buildStore()
	if err != nil {
		return nil, err
	}
	programs, err := build(ctx, orSilent(log), testProgramsModule(root), store)
	if err != nil {
		return nil, err
	}
	return writeTestImages(dir, programs)
}

func writeTestImages(dir, programs string) ([]string, error) {
	app, pause := filepath.Join(dir, "app.tar"), filepath.Join(dir, "pause.tar")
	return []string{app, pause}, errors.Join(
		writeImage(app, filepath.Join(programs, "app"), TestImage),
		// Tests change the version of an image, and containerd has a version for the sandboxes of pods.
		writeImage(pause, filepath.Join(programs, "pause"), "registry.k8s.io/pause:3.9", pauseImage, pauseImage+".1", pauseImage+".2"),
	)
}

// writeImage writes an image of one program as an archive that container runtimes load.
func writeImage(path, program string, names ...string) error {
	content, err := os.ReadFile(filepath.Clean(program))
	if err != nil {
		return fmt.Errorf("reading the program of an image: %w", err)
	}
	at := "/" + filepath.Base(program)
	layer, err := archive(entry{name: "tmp/", mode: 0o1777}, entry{name: at[1:], mode: 0o755, content: content})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": "2026-01-01T00:00:00Z",
		"config": map[string]any{"Entrypoint": []string{at}, "WorkingDir": "/"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
	})
	if err != nil {
		return fmt.Errorf("encoding an image: %w", err)
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": digest(config) + ".json", "RepoTags": names, "Layers": []string{digest(layer) + "/layer.tar"}}})
	if err != nil {
		return fmt.Errorf("encoding an image: %w", err)
	}
	image, err := archive(
		entry{name: digest(config) + ".json", mode: 0o644, content: config},
		entry{name: digest(layer) + "/layer.tar", mode: 0o644, content: layer},
		entry{name: "manifest.json", mode: 0o644, content: manifest},
	)
	if err != nil {
		return err
	}
	return write(path, image)
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// entry is a file in an archive, or a folder if its name ends with a slash.
type entry struct {
	name    string
	mode    int64
	content []byte
}

func archive(entries ...entry) ([]byte, error) {
	var written bytes.Buffer
	to := tar.NewWriter(&written)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), Typeflag: tar.TypeReg}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := to.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("writing an archive: %w", err)
		}
		if _, err := to.Write(e.content); err != nil {
			return nil, fmt.Errorf("writing an archive: %w", err)
		}
	}
	if err := to.Close(); err != nil {
		return nil, fmt.Errorf("writing an archive: %w", err)
	}
	return written.Bytes(), nil
}
