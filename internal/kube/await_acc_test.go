package kube_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// The objects that a bundle depends on must exist and be ready. Nothing else about them matters.
func TestAccAwait(t *testing.T) {
	t.Parallel()
	l := newLab(t, "await")
	const group = "await.example.com"
	l.define(t, group)
	suspended := strings.Replace(job("migrate"), "spec: {template", "spec: {suspend: true, template", 1)
	changed := configMap("changed", "") + "\ndata: {a: x}"
	late := widget(group, "late")
	l.written(t, configMap("settings", ""), strings.Replace(changed, "a: x", "a: other", 1), suspended)
	infos := l.written(t, late)
	l.patch(t, infos[0], widgetIs("False", "not yet"), "status")

	for name, test := range map[string]struct {
		manifests         []string
		missing, notReady []string
	}{
		"ready, or no matter": {manifests: []string{configMap("settings", ""), changed, suspended}},
		"not ready":           {manifests: []string{configMap("settings", ""), late}, notReady: []string{"Widget await/late"}},
		"missing":             {manifests: []string{configMap("settings", ""), configMap("gone", "")}, missing: []string{"ConfigMap await/gone"}},
		"of no known kind":    {manifests: []string{"apiVersion: nowhere.example.com/v1\nkind: Ghost\nmetadata: {name: boo}", late}, missing: []string{"Ghost await/boo"}, notReady: []string{"Widget await/late"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finding, err := l.Await(soon(t, short), l.inspection(release.Rules{}), manifest(t, test.manifests...))
			if err != nil {
				t.Fatal(err)
			}
			var notReady []string
			for _, object := range finding.NotReady {
				notReady = append(notReady, object.Object)
			}
			if diff := cmp.Diff(test.missing, finding.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.notReady, notReady); diff != "" {
				t.Errorf("not ready (-want +got):\n%s", diff)
			}
			if want := len(test.manifests) - len(test.missing) - len(test.notReady); finding.Ready != want {
				t.Errorf("%d are ready, want %d", finding.Ready, want)
			}
		})
	}
}

func TestAccAwaitByWatch(t *testing.T) {
	t.Parallel()
	l := newLab(t, "await-watch")
	const group = "await-watch.example.com"
	l.define(t, group)
	late := widget(group, "late")
	infos := l.written(t, late)
	l.patch(t, infos[0], widgetIs("False", "not yet"), "status")
	client, proxy := l.through(t)
	var seen watching
	proxy.Set(seen.fault)
	var changing sync.WaitGroup
	changing.Go(func() {
		eventually(t, "a watch begins", func() bool { return seen.begun.Load() > 0 })
		l.patch(t, infos[0], widgetIs("True", ""), "status")
	})
	defer changing.Wait()
	finding, err := client.Await(soon(t, long), l.inspection(release.Rules{}), manifest(t, late))
	if err != nil || !finding.Settled() || finding.Ready != 1 {
		t.Errorf("found %+v, %v; want that it is ready", finding, err)
	}
}
