package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A work is what a contender deploys to every cluster.
type work struct {
	// Releases is the number of releases on each cluster.
	Releases int `json:"releases"`
	// Objects is the number of objects in each release.
	Objects int `json:"objects"`
	// Unprobed leaves out the readiness probes.
	Unprobed bool `json:"-"`
}

// fixedObjects is the number of objects of a release that are not ConfigMaps.
const fixedObjects = 3

// workOf returns the work with releases of this number of objects: ten small or medium ones, or a
// large one.
func workOf(objects int) (work, error) {
	const large = 400
	if objects <= fixedObjects {
		return work{}, fmt.Errorf("a release has at least %d objects, not %d", fixedObjects+1, objects)
	}
	if objects >= large {
		return work{Releases: 1, Objects: objects}, nil
	}
	return work{Releases: 10, Objects: objects}, nil
}

func (w work) String() string {
	return fmt.Sprintf("%d×%d releases of %d objects", clusterCount, w.Releases, w.Objects)
}

// names returns the names of the releases, which are also the names of charts and Deployments.
func (w work) names() []string {
	names := make([]string, w.Releases)
	for i := range names {
		names[i] = fmt.Sprintf("%s%02d", namePrefix, i+1)
	}
	return names
}

const (
	namePrefix = "app-"
	// valueCall is the only template expression, so replacing it by a value renders the template.
	valueCall = "{{ .Values.value }}"
)

// template returns the objects of a release, as a chart contains them.
func (w work) template(name string) string {
	probe := ", readinessProbe: {tcpSocket: {port: 80}}"
	if w.Unprobed {
		probe = ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {value: %[2]q}}
    spec:
      serviceAccountName: %[1]s
      containers: [{name: main, image: "registry.example.com/app:1"%[3]s}]
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s}
`, name, valueCall, probe)
	for i := range w.Objects - fixedObjects {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%03d}\ndata: {value: %q}\n", name, i+1, valueCall)
	}
	return text.String()
}

// render returns the rendered template.
func render(template, value string) string { return strings.ReplaceAll(template, valueCall, value) }

// writeCharts writes the charts into folders of their names. A fleet.yaml beside each names the
// namespace and the value; the other contenders ignore it.
func (w work) writeCharts(dir, namespace, value string) error {
	for _, name := range w.names() {
		err := writeFiles(filepath.Join(dir, name), map[string]string{
			"Chart.yaml":         fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 1.0.0\n", name),
			"values.yaml":        "value: none\n",
			"templates/all.yaml": w.template(name),
			"fleet.yaml":         fmt.Sprintf("defaultNamespace: %s\nhelm:\n  releaseName: %s\n  values: {value: %q}\n", namespace, name, value),
			".helmignore":        "fleet.yaml\n",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeFiles writes files by their paths below a folder.
func writeFiles(dir string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return fmt.Errorf("making the folder of %s: %w", path, err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}
