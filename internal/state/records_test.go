package state_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

var key = deploy.Key{Cluster: "a", Bundle: "web"} //nolint:gochecknoglobals // nothing writes it

func known(name string) release.Known {
	return release.Known{
		Release: name, Namespace: "ns", UID: "uid", Instance: "instance", Digest: "digest", Key: "key", Imported: true, Revision: 3, TargetNamespace: "forced",
		UninstallPolicy: release.UninstallPolicy{ServiceAccount: "deployer", KeepResources: true, DeleteNamespace: true, NamespaceKeys: true, OwnValues: true},
	}
}

// States contain the text.
func TestRecordAsText(t *testing.T) {
	t.Parallel()
	record := deploy.Record{
		Release: "web", Namespace: "ns", Chart: "nginx", Version: "1.0.0", Digest: "digest", State: status.NotReady, Message: "a Pod is Pending",
		Objects: map[string]string{"Pod/ns/x": "1"}, NamesVary: true, HidesNames: true, Known: known("web"), Accepted: map[string]string{"x": "-"}, HandedOver: map[string]string{"y": "db"},
		BundleLabels: map[string]string{"tier": "prod"},
		Leftovers:    []release.Known{{Release: "old", Namespace: "former"}},
	}
	want := map[string]string{
		"a/web": `{"release":"web","namespace":"ns","cluster_uid":"uid","instance":"instance","digest":"digest","key":"key","imported":true,"revision":3,"target_namespace":"forced",` +
			`"service_account":"deployer","keep_resources":true,"delete_namespace":true,"namespace_keys":true,"own_values":true,"chart":"nginx","version":"1.0.0","state":"NotReady","message":"a Pod is Pending","objects":{"Pod/ns/x":"1"},"hides_names":true,` +
			`"accepted":{"x":"-"},"handed_over":{"y":"db"},"bundle_labels":{"tier":"prod"}}`,
		"a/web former/old": `{"release":"old","namespace":"former"}`,
	}
	if diff := cmp.Diff(want, state.EncodeRecord(key, record)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct{ digest, want string }{
		"as written": {"digest", `{"release":"web","namespace":"ns","digest":"digest"}`},
		"another":    {"other", `{"release":"web","namespace":"ns","digest":"digest","deployed":"other"}`},
		"of others":  {"", `{"release":"web","namespace":"ns","digest":"digest","deployed":"none"}`},
	} {
		record := deploy.Record{Release: "web", Namespace: "ns", Digest: test.digest, State: status.Ready, Known: release.Known{Digest: "digest"}}
		text := state.EncodeRecord(key, record)
		if text[key.String()] != test.want {
			t.Errorf("%s: got %s, want %s", name, text[key.String()], test.want)
		}
		if got := state.DecodeRecords(text).Current[key].Digest; got != test.digest {
			t.Errorf("%s: read as %q", name, got)
		}
	}
}

// The keys of a target are those of the releases with its id.
func TestKeys(t *testing.T) {
	t.Parallel()
	shown := state.Shown{Deployments: map[string]string{"a/web": "", "a/damaged": ""}, Records: map[string]string{}}
	for name, of := range map[string]release.Known{"a/web": {Instance: "i", Key: "one"}, "a/db": {Instance: "j", Key: "two"}, "a/web ns/old": {Instance: "i", Key: "three"}} {
		of.Release = "r"
		shown.Records[name] = state.EncodeKnown(of)
	}
	shown.Records["a/unknown"], shown.Records["a/damaged"] = "", "{"
	got := state.Decode(shown, state.Planned{}, state.DriftState{}).Keys("i")
	slices.Sort(got)
	if diff := cmp.Diff([]string{"one", "three"}, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestRecordsAreDecoded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		elements map[string]string
		want     deploy.Record
	}{
		"the release": {elements: map[string]string{"a/web": `{"release":"web","namespace":"ns"}`}, want: deploy.Record{Release: "web", Namespace: "ns", State: status.Ready, Known: release.Known{Release: "web", Namespace: "ns"}}},
		"one that a failed move left": {
			elements: map[string]string{"a/web ns/old": `{"release":"old","namespace":"ns"}`, "a/web ns/older": `{"release":"older","namespace":"ns"}`},
			want:     deploy.Record{Leftovers: []release.Known{{Release: "old", Namespace: "ns"}, {Release: "older", Namespace: "ns"}}},
		},
		"of another bundle": {elements: map[string]string{"a/db": `{"release":"db"}`, "b/web": `{"release":"web"}`}},
		"unknown":           {elements: map[string]string{"a/web": ""}},
		"no JSON":           {elements: map[string]string{"a/web": `{"release":"web`}},
		"without a name":    {elements: map[string]string{"a/web": `{"namespace":"ns"}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := state.DecodeRecords(test.elements)
			got := records.Current[key]
			got.Leftovers = records.Leftovers[key]
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingReleases(t *testing.T) {
	t.Parallel()
	records := state.DecodeRecords(map[string]string{"a/web": `{"release":"web","namespace":"ns"}`, "a/db": `{"release":"db","namespace":"ns"}`, "a/db ns/left": `{"release":"left"}`, "b/web": `{"release":"web"}`})
	missing := records.Missing(func(at deploy.Key) bool { return at.Cluster == "b" })
	web, db := release.Known{Release: "web", Namespace: "ns"}, release.Known{Release: "db", Namespace: "ns"}
	if diff := cmp.Diff(state.MissingReleases{key: web, {Cluster: "a", Bundle: "db"}: db}, missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	wanted := []target.Deployment{{Cluster: "a", Bundle: &bundle.Bundle{Name: "web"}}, {Cluster: "b", Bundle: &bundle.Bundle{Name: "web"}}}
	if diff := cmp.Diff(state.MissingReleases{key: web}, missing.Wanted(wanted)); diff != "" {
		t.Errorf("wanted (-want +got):\n%s", diff)
	}
	there := deploy.Key{Cluster: "b", Bundle: "web"}
	want := map[deploy.Key]deploy.Record{
		there: {Release: "web", State: status.Ready},
		key:   {Release: "web", Namespace: "ns", State: status.WaitApplied, Message: "the release was missing and exists again", Known: web},
	}
	if diff := cmp.Diff(want, missing.Wanted(wanted).AddedTo(map[deploy.Key]deploy.Record{there: {Release: "web", State: status.Ready}})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// FuzzRecord checks that what is read from any records is the same after it is written and read
// again.
func FuzzRecord(f *testing.F) {
	f.Add("a/web", state.EncodeKnown(known("web")))
	f.Add("a/web ns/old", `{"release":"old","accepted":{"a":"-"}}`)
	f.Add("web", `{"release":"web","revision":-1,"handed_over":{"a":"b"},"accepted":{}}`)
	f.Add("", `null`)
	f.Fuzz(func(t *testing.T, name, text string) {
		want := state.DecodeRecords(map[string]string{name: text})
		got := map[string]string{}
		for at, record := range want.Current {
			record.NamesVary = record.Objects != nil
			maps.Copy(got, state.EncodeRecord(at, record))
		}
		for at, left := range want.Leftovers {
			if len(left) != 1 {
				t.Fatalf("%d releases of one element", len(left))
			}
			got[at.String()+" left"] = state.EncodeKnown(left[0])
		}
		if len(got) > 1 || strings.Contains(name, " ") == (len(want.Current) > 0) && len(got) > 0 {
			t.Fatalf("%q was read as %v", name, want)
		}
		if diff := cmp.Diff(want, state.DecodeRecords(got), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(state.Records{}, "Damaged")); diff != "" {
			t.Errorf("written and read (-want +got):\n%s", diff)
		}
	})
}
