package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestParseImportID(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name     string
		clusters []string
		fails    bool
	}{
		"prod":           {name: "prod"},
		"prod/eu-1":      {name: "prod", clusters: []string{"eu-1"}},
		"prod/eu-1,eu-2": {name: "prod", clusters: []string{"eu-1", "eu-2"}},
		"":               {fails: true},
		"/eu-1":          {fails: true},
		"prod/":          {fails: true},
		"prod/eu-1,":     {fails: true},
	}
	for id, test := range tests {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			name, clusters, err := run.ParseImportID(id)
			if (err != nil) != test.fails || name != test.name || !cmp.Equal(clusters, test.clusters) {
				t.Errorf("got %q, %q, %v", name, clusters, err)
			}
		})
	}
}

// recordedReleases lists the releases of a cluster.
type recordedReleases struct{ snapshot release.Snapshot }

func (r recordedReleases) Snapshot(context.Context) (release.Snapshot, error) { return r.snapshot, nil }

func (r recordedReleases) StoredRenderings(_ context.Context, observed []release.Observed) ([]release.Rendering, error) {
	renderings := make([]release.Rendering, len(observed))
	for i, of := range observed {
		renderings[i] = release.Rendering{Chart: of.Release}
	}
	return renderings, nil
}

func TestImport(t *testing.T) {
	t.Parallel()
	cluster := func(uid string, observed ...release.Observed) recordedReleases {
		releases := map[string]release.Observed{}
		for _, of := range observed {
			releases[of.Release] = of
		}
		return recordedReleases{release.Snapshot{UID: uid, Releases: releases}}
	}
	observed := func(name, owner, target, instance, bundle string) release.Observed {
		return release.Observed{Release: name, Namespace: "shop", Revision: 3, Mark: release.NewMark(owner, target, instance, bundle, "v1-0")}
	}
	uninstalled := observed("gone", "us", "prod", "1", "gone")
	uninstalled.Status = release.StatusUninstalled
	clusters := map[string]recordedReleases{
		"a": cluster("uid-a", observed("web", "us", "prod", "1", "web"), observed("db", "us", "prod", "2", "db"), uninstalled),
		"b": cluster("uid-b", observed("web", "us", "prod", "1", "web"), observed("web-old", "us", "prod", "1", "web")),
		"c": cluster("uid-b", observed("web", "us", "prod", "1", "web")), // The same cluster as b.
		"d": cluster("uid-d", observed("web", "others", "prod", "1", "web"), observed("db", "us", "test", "1", "db")),
	}
	connect := func(name string) (run.RecordLister, error) {
		if found, ok := clusters[name]; ok {
			return found, nil
		}
		return nil, errors.New("no answer")
	}
	imported := run.Import(t.Context(), "us", "prod", []string{"d", "c", "b", "a", "e"}, 2, connect)
	if got := imported.Instance(); got != "1" {
		t.Errorf("the target continues as %q", got)
	}
	all, others := imported.Deployments()
	if diff := cmp.Diff([]string{"a/db", "a/web", "b/web"}, all); diff != "" {
		t.Errorf("deployments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a/db"}, others); diff != "" {
		t.Errorf("deployments of another instance (-want +got):\n%s", diff)
	}
	record := imported.Records[deploy.Key{Cluster: "b", Bundle: "web"}]
	if record.Release != "web" || record.Chart != "web" || record.Known.UID != "uid-b" || record.Known.Revision != 3 || record.Known.Key == "" || !record.Known.Imported {
		t.Errorf("the record is %+v", record)
	}
	if len(record.Leftovers) != 1 || record.Leftovers[0].Release != "web-old" {
		t.Errorf("further releases of the deployment are %+v", record.Leftovers)
	}
	if len(imported.Failures) != 1 || imported.Failures[0].Cluster != "e" || !strings.Contains(imported.Failures[0].Err.Error(), "no answer") {
		t.Errorf("failures are %v", imported.Failures)
	}
	if nothing := run.Import(t.Context(), "us", "prod", []string{"d"}, 1, connect); nothing.Instance() != "" {
		t.Errorf("imported %q from a cluster without releases of the target", nothing.Instance())
	}
}
