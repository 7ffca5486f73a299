package kustomize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
)

// A kustomization of a repository must not use more than a limited part of all memory and time.
func TestAttackBuild(t *testing.T) {
	tests := map[string]string{
		"copies that double":         doubling(20),
		"bases that are named twice": diamonds(12),
		"a file that is named often": generators(1<<20, 70),
		"aliases of aliases":         aliases(7),
	}
	for name, archive := range tests {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			built, err := kustomize.Build(files(archive), ".", nil)
			if _, ok := errors.AsType[*kustomize.Error](err); !ok {
				t.Errorf("%d bytes were built (%v)", len(built), err)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

const empty = "\n-- app.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  a: {b: aaaaaaaaaaaaaaaa}\n"

// doubling copies an object into itself, so that each copy contains all earlier ones.
func doubling(times int) string {
	var patch strings.Builder
	for i := range times {
		fmt.Fprintf(&patch, "      - {op: copy, from: /data/a, path: /data/x}\n      - {op: copy, from: /data/x, path: /data/a/c%d}\n", i)
	}
	return "-- kustomization.yaml --\nresources: [app.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: |\n" +
		strings.ReplaceAll(patch.String(), "      - ", "    - ") + empty
}

// diamonds returns layers of two bases that each name both bases of the next layer.
func diamonds(layers int) string {
	var archive strings.Builder
	archive.WriteString("-- kustomization.yaml --\nresources: [a0, b0]\n")
	for i := range layers {
		for _, side := range "ab" {
			fmt.Fprintf(&archive, "-- %c%d/kustomization.yaml --\nnamePrefix: %c-\nresources: [../a%d, ../b%d]\n", side, i, side, i+1, i+1)
		}
	}
	for _, side := range "ab" {
		fmt.Fprintf(&archive, "-- %c%d/kustomization.yaml --\nnamePrefix: %c-\nresources: [app.yaml]\n-- %c%d/app.yaml --%s", side, layers, side, side, layers, strings.TrimPrefix(empty, "\n-- app.yaml --"))
	}
	return archive.String()
}

// generators returns generators that name one file many times.
func generators(size, times int) string {
	var archive strings.Builder
	archive.WriteString("-- kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  files:\n")
	for i := range times {
		fmt.Fprintf(&archive, "  - k%d=large\n", i)
	}
	return archive.String() + "-- large --\n" + strings.Repeat("a", size) + "\n"
}

// aliases returns an object of few lines that expands to very many.
func aliases(levels int) string {
	var content strings.Builder
	content.WriteString("  l0: &l0 [a, a, a, a, a, a, a, a, a, a]\n")
	for i := range levels {
		fmt.Fprintf(&content, "  l%d: &l%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i), 9), ", "))
	}
	return "-- kustomization.yaml --\nresources: [app.yaml]\n-- app.yaml --\napiVersion: v1\nkind: Bomb\nmetadata:\n  name: app\ndata:\n" + content.String()
}
