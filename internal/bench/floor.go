package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// floor makes the same writes directly, which is the lower limit. It is this program itself, in a
// process of its own, which reads all rendered objects from a file.
type floor struct {
	program string
	// seen makes floor wait until the cluster has rolled out or removed the Deployments.
	seen bool
}

func (f floor) name() string {
	if f.seen {
		return "floor-ready"
	}
	return "floor"
}

func (f floor) waits(task) bool { return f.seen }

func (f floor) commands(_ context.Context, t task, s step) ([]command, error) {
	if s == nothing {
		return nil, nil
	}
	path := filepath.Join(t.dir, "writes.json")
	if s == install {
		if err := writePlan(path, t); err != nil {
			return nil, err
		}
	}
	args := []string{
		f.program, "floor", "-writes", path, "-step", string(s), "-kubeconfig", t.kubeconfig,
		"-contexts", strings.Join(helmClusters(t, s), ","), fmt.Sprintf("-seen=%t", f.seen),
	}
	return []command{{args: args, dir: t.dir, env: os.Environ()}}, nil
}

// writes are the writes of the floor to every cluster.
type writes struct {
	Namespace string `json:"namespace"`
	// Objects are all objects of the work, with the first value.
	Objects []*unstructured.Unstructured `json:"objects"`
	// Patches set the second value.
	Patches []patch `json:"patches"`
	// Records have the size of Helm's release records: the records of the first revision, and of
	// the second.
	Records [2][]*unstructured.Unstructured `json:"records"`
}

// A patch is a merge patch of one object.
type patch struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Body json.RawMessage `json:"body"`
}

func writePlan(path string, t task) error {
	plan := writes{Namespace: t.namespace}
	for _, name := range t.work.names() {
		var err error
		if plan, err = plan.with(name, t.work.template(name)); err != nil {
			return fmt.Errorf("rendering %s: %w", name, err)
		}
	}
	content, err := json.Marshal(plan)
	if err != nil {
		return fmt.Errorf("encoding what the floor writes: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("making a folder for what the floor writes: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("writing what the floor writes: %w", err)
	}
	return nil
}

// with adds a release.
func (w writes) with(name, template string) (writes, error) {
	for document := range strings.SplitSeq(render(template, install.value()), "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return writes{}, err
		}
		object.SetNamespace(w.Namespace)
		w.Objects = append(w.Objects, object)
		if body := patchOf(object.GetKind(), change.value()); body != "" {
			w.Patches = append(w.Patches, patch{Kind: object.GetKind(), Name: object.GetName(), Body: json.RawMessage(body)})
		}
	}
	for i, s := range []step{install, change} {
		record, err := record(w.Namespace, name, template, s.value(), i+1)
		if err != nil {
			return writes{}, err
		}
		w.Records[i] = append(w.Records[i], record)
	}
	return w, nil
}

// patchOf returns the patch that changes an object of the kind; "" if the object does not contain
// the value.
func patchOf(kind, value string) string {
	switch kind {
	case "ConfigMap":
		return fmt.Sprintf(`{"data":{"value":%q}}`, value)
	case "Deployment":
		return fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"value":%q}}}}}`, value)
	}
	return ""
}

// record returns a Secret like the one that Helm stores for each revision: chart and manifest,
// packed.
func record(namespace, name, template, value string, revision int) (*unstructured.Unstructured, error) {
	content, err := json.Marshal(map[string]any{
		"name": name, "namespace": namespace, "version": revision, "config": map[string]any{"value": value},
		"chart":    map[string]any{"templates": []map[string]any{{"name": "templates/all.yaml", "data": []byte(template)}}},
		"manifest": render(template, value),
	})
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, errors.Join(errors.New("packing a record"), err)
	}
	release := base64.StdEncoding.EncodeToString(packed.Bytes())
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
		"metadata": map[string]any{
			"name": fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision), "namespace": namespace,
			"labels": map[string]any{"owner": "helm", "name": name, "status": "deployed", "version": fmt.Sprint(revision)},
		},
		"data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(release))},
	}}, nil
}
