package acceptance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// expectHelmsObjects compares the releases of foreign charts with the output of Helm's own command.
// A chart whose objects a plan cannot show can have other objects there.
func (c *consistencyBatch) expectHelmsObjects(t *testing.T, i int, failed map[string]bool) {
	t.Helper()
	var compared []*consistencyRow
	for _, row := range c.live() {
		if row.foreign && len(row.planned.unknown) == 0 && !failed[row.name] {
			compared = append(compared, row)
		}
	}
	if len(compared) == 0 {
		return
	}
	helm, err := testenv.HelmCLI(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	var comparing errgroup.Group
	comparing.SetLimit(4)
	for _, row := range compared {
		comparing.Go(func() error {
			if err := c.compareWithHelm(t.Context(), helm, row, i); err != nil {
				row.failf("step %d: comparing with Helm: %v", i+1, err)
			}
			return nil
		})
	}
	if err := comparing.Wait(); err != nil {
		t.Error(err)
	}
}

func (c *consistencyBatch) compareWithHelm(ctx context.Context, helm string, row *consistencyRow, i int) error {
	words := strings.Split(row.planned.Deployments["a/"+row.name], " ")
	namespace, release, _ := strings.Cut(words[1], "/")
	applied, err := c.ground.manifest(ctx, namespace, release)
	if err != nil {
		return err
	}
	values := filepath.Join(c.dir, row.name+".values.json")
	content := row.step(i).Values
	if len(content) == 0 {
		content = json.RawMessage("{}")
	}
	if err := os.WriteFile(values, content, 0o600); err != nil {
		return err
	}
	arguments := []string{
		"template", release, filepath.Join(c.dir, "charts", row.name), "--namespace", namespace, "--values", values,
		"--no-hooks", "--validate", "--dry-run=server", "--kubeconfig", c.site.env.Kubeconfig(), "--kube-context", c.site.env.Contexts()[0],
	}
	if i > 0 {
		arguments = append(arguments, "--is-upgrade")
	}
	command := exec.CommandContext(ctx, helm, arguments...)
	command.Env = append(os.Environ(), "HOME="+c.dir)
	rendered, err := command.Output()
	if err != nil {
		if failure, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("helm template: %w: %s", err, failure.Stderr)
		}
		return err
	}
	helms, err := objectsOf(string(rendered))
	if err != nil {
		return err
	}
	if diff := godiff.Diff(contents(helms), contents(applied)); diff != "" {
		row.failf("step %d: the objects are not those of Helm (-Helm +release): %s", i+1, diff)
	}
	return nil
}

// contents returns objects by their identity. The provider adds a policy that keeps custom resource
// definitions, so contents leaves this policy out.
func contents(objects []*unstructured.Unstructured) map[string]any {
	found := map[string]any{}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
			if len(object.GetAnnotations()) == 0 {
				unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
			}
		}
		key := strings.Join([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}, "/")
		found[key] = object.Object
	}
	return found
}
