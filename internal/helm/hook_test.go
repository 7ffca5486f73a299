package helm

import (
	"context"
	"errors"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// noSlot is a token that cannot be taken again.
type noSlot struct {
	release.Slot

	err error
}

func (n noSlot) Resume(context.Context) error { return n.err }

// A hook runs after a wait, during which other operations took the slot. It does not start
// before a slot is free again.
func TestHookTakesItsSlotAgain(t *testing.T) {
	t.Parallel()
	hook := &unstructured.Unstructured{Object: map[string]any{"kind": "Job", "apiVersion": "batch/v1"}}
	hook.SetAnnotations(map[string]string{helmrelease.HookAnnotation: helmrelease.HookPostInstall.String()})
	full := errors.New("not continued")
	client := &kubeClient{settings: settings{slot: noSlot{err: full}}, hooks: newHookObjects()}
	info := &resource.Info{Object: hook}
	client.hooks.built[info] = true
	if _, err := client.Create(kube.ResourceList{info}); !errors.Is(err, full) {
		t.Errorf("error = %v, want %v", err, full)
	}
}
