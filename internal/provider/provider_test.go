package provider

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The framework checks schemas when a server is asked for them.
func TestSchemasAreValid(t *testing.T) {
	t.Parallel()
	server, err := providerserver.NewProtocol6WithError(New("test", &Cleanup{})())()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range resp.Diagnostics {
		t.Errorf("%s: %s", found.Summary, found.Detail)
	}
	if got := len(resp.ResourceSchemas); got != 3 {
		t.Errorf("%d resources, want 3", got)
	}
}

func TestCreateLegRemovals(t *testing.T) {
	t.Parallel()
	one := deploy.Record{Release: "one", Namespace: "ns"}
	records := map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "one"}: one, {Cluster: "b", Bundle: "one"}: one}
	tests := map[string]struct {
		leg  createLeg
		want []string
	}{
		"a destroy removes all":                        {leg: createLeg{}, want: []string{"a/one", "b/one"}},
		"a replacement keeps what Create wants":        {leg: createLeg{Planned: true, Target: "all", Wanted: map[string]string{"a/one": "ns/one", "c/one": "ns/one"}}, want: []string{"b/one"}},
		"a replacement that wants it elsewhere":        {leg: createLeg{Planned: true, Target: "all", Wanted: map[string]string{"a/one": "elsewhere/one", "b/one": "ns/one"}}},
		"a replacement of another name":                {leg: createLeg{Planned: true, Target: "other", Wanted: map[string]string{"a/one": "ns/one", "b/one": "ns/one"}}},
		"a replacement that wants nothing":             {leg: createLeg{Planned: true, Target: "all"}, want: []string{"a/one", "b/one"}},
		"a replacement whose wishes are not known yet": {leg: createLeg{Planned: true, Target: "all", Unknown: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What is stored is read back as it was.
			raw, err := json.Marshal(test.leg)
			if err != nil {
				t.Fatal(err)
			}
			var stored createLeg
			if err := json.Unmarshal(raw, &stored); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, key := range stored.removals(records) {
				got = append(got, key.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	one := func(change func(*target.Deployment)) []target.Deployment {
		d := target.Deployment{Cluster: "a", Bundle: &bundle.Bundle{Name: "one"}, Release: "one", Namespace: "ns", Digest: "d"}
		change(&d)
		return []target.Deployment{d}
	}
	before := func(change func(*deploy.Record)) map[deploy.Key]deploy.Record {
		record := deploy.Record{Release: "one", Namespace: "ns", Digest: "d", State: status.Ready}
		change(&record)
		return map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "one"}: record}
	}
	same, asIs := func(*target.Deployment) {}, func(*deploy.Record) {}
	tests := map[string]struct {
		wanted []target.Deployment
		prior  map[deploy.Key]deploy.Record
		remark bool
		want   string
	}{
		"nothing changes":           {wanted: one(same), prior: before(asIs), want: "+0 ~0 -0 =1"},
		"added":                     {wanted: one(same), want: "+1 ~0 -0 =0"},
		"removed":                   {prior: before(asIs), want: "+0 ~0 -1 =0"},
		"another digest":            {wanted: one(func(d *target.Deployment) { d.Digest = "x" }), prior: before(asIs), want: "+0 ~1 -0 =0"},
		"another namespace":         {wanted: one(func(d *target.Deployment) { d.Namespace = "x" }), prior: before(asIs), want: "+0 ~1 -0 =0"},
		"another release":           {wanted: one(func(d *target.Deployment) { d.Release = "x" }), prior: before(asIs), want: "+0 ~1 -0 =0"},
		"not ready yet":             {wanted: one(same), prior: before(func(r *deploy.Record) { r.State = status.NotReady }), want: "+0 ~0 -0 =1"},
		"failed before":             {wanted: one(same), prior: before(func(r *deploy.Record) { r.State = status.ErrApplied }), want: "+0 ~1 -0 =0"},
		"changed by somebody":       {wanted: one(same), prior: before(func(r *deploy.Record) { r.State, r.Digest = status.Modified, "" }), want: "+0 ~1 -0 =0"},
		"cut short before":          {wanted: one(same), prior: before(func(r *deploy.Record) { r.State = status.WaitApplied }), want: "+0 ~1 -0 =0"},
		"all to be marked anew":     {wanted: one(same), prior: before(asIs), remark: true, want: "+0 ~1 -0 =0"},
		"paused and changed":        {wanted: one(func(d *target.Deployment) { d.Paused, d.Digest = true, "x" }), prior: before(asIs), want: "+0 ~0 -0 =1, 1 held"},
		"paused and not there yet":  {wanted: one(func(d *target.Deployment) { d.Paused = true }), want: "+0 ~0 -0 =0, 1 held"},
		"paused and to be marked":   {wanted: one(func(d *target.Deployment) { d.Paused = true }), prior: before(asIs), remark: true, want: "+0 ~0 -0 =1, 1 held"},
		"paused and as wanted":      {wanted: one(func(d *target.Deployment) { d.Paused = true }), prior: before(asIs), want: "+0 ~0 -0 =1"},
		"another cluster, same key": {wanted: one(func(d *target.Deployment) { d.Cluster = "b" }), prior: before(asIs), want: "+1 ~0 -1 =0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := compare(test.wanted, test.prior, test.remark).counts().String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// The same cause on many clusters is one diagnostic.
func TestFailuresAreGroupedByCause(t *testing.T) {
	t.Parallel()
	down := func(cluster string) error {
		return &status.UnreachableError{Cluster: cluster, Err: &url.Error{Op: "Get", URL: "https://x", Err: errors.New("connection refused")}}
	}
	outcome := deploy.Outcome{
		Records: map[deploy.Key]deploy.Record{{Cluster: "a", Bundle: "one"}: {State: status.ErrApplied, Release: "one", Namespace: "ns"}},
		Failures: []deploy.Failure{
			{Cluster: "a", Bundle: "one", Doing: "upgrading", Err: errors.New("immutable")},
			{Cluster: "b", Bundle: "one", Doing: "deploying", Err: down("b")},
			{Cluster: "c", Bundle: "one", Doing: "deploying", Err: down("c")},
		},
	}
	var diags diag.Diagnostics
	addFailures(&diags, "all", outcome)
	if got := diags.ErrorsCount(); got != 2 {
		t.Fatalf("%d diagnostics, want 2: %v", got, diags)
	}
	for i, want := range [][]string{
		{"upgrading a/one failed", "immutable", "a/one is ErrApplied (release one in namespace ns)", "Next:"},
		{"2 deployments failed", "b/one, c/one", "does not answer", "connection refused", "b/one is not deployed", "Bring the cluster back"},
	} {
		text := diags[i].Summary() + "\n" + diags[i].Detail()
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("diagnostic %d does not say %q:\n%s", i, part, text)
			}
		}
	}
}

func TestYAMLValuesMeanTheSame(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		left, right string
		want        bool
	}{
		"order and comments": {left: "a: 1\nb: [x]\n", right: "# hi\nb:\n- x\na: 1\n", want: true},
		"YAML and JSON":      {left: "a: {b: true}", right: `{"a":{"b":true}}`, want: true},
		"empty and nothing":  {left: "", right: "{}", want: true},
		"another value":      {left: "a: 1", right: "a: 2"},
		"another type":       {left: "a: 1", right: `a: "1"`},
		"not YAML":           {left: "a: [", right: "a: ["},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			left := yamlValue{StringValue: basetypes.NewStringValue(test.left)}
			got, diags := left.StringSemanticEquals(t.Context(), yamlValue{StringValue: basetypes.NewStringValue(test.right)})
			if diags.HasError() || got != test.want {
				t.Errorf("got %t, want %t (%v)", got, test.want, diags)
			}
		})
	}
}

func TestHeadCountsOnlyForItsRepository(t *testing.T) {
	t.Parallel()
	main := checkout{repo: "https://x/y", ref: source.Ref{Branch: "main"}}
	private := privateKeys{}
	var diags diag.Diagnostics
	main.store(t.Context(), private, "c0ffee", &diags)
	tests := map[string]struct {
		checkout checkout
		want     string
	}{
		"the same":           {checkout: main, want: "c0ffee"},
		"another repository": {checkout: checkout{repo: "https://x/z", ref: source.Ref{Branch: "main"}}},
		"another branch":     {checkout: checkout{repo: "https://x/y", ref: source.Ref{Branch: "next"}}},
		"a revision":         {checkout: checkout{repo: "https://x/y", ref: source.Ref{Revision: "main"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			if got := test.checkout.stored(t.Context(), private, &diags); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// privateKeys is private state as it comes with a request.
type privateKeys map[string][]byte

func (p privateKeys) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) {
	return p[key], nil
}

func (p privateKeys) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p[key] = value
	return nil
}

// Whatever a fleet.yaml can say, but for what only controllers act upon, has an
// attribute; and every attribute says something that a fleet.yaml can say.
func TestOptionsAreThoseOfFleetYAML(t *testing.T) {
	t.Parallel()
	attributes := definitionAttributes()
	maps.Copy(attributes, optionAttributes())
	got := fieldPaths("", attributes)
	want := jsonPaths("", reflect.TypeFor[fleetyaml.Definition]())
	for _, path := range []string{"name", "imageScans", "targets", "downstreamResources", "targetCustomizations.downstreamResources"} {
		want = slices.DeleteFunc(want, func(field string) bool { return field == path || strings.HasPrefix(field, path+".") })
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-fleet.yaml +attributes):\n%s", diff)
	}
}

// fieldPaths are the names that attributes have in a fleet.yaml, with those of
// attributes in them.
func fieldPaths(prefix string, attributes map[string]schema.Attribute) []string {
	var paths []string
	for name, attribute := range attributes {
		path := prefix + fieldName(name)
		paths = append(paths, path)
		switch attribute := attribute.(type) {
		case schema.SingleNestedAttribute:
			paths = append(paths, fieldPaths(path+".", attribute.Attributes)...)
		case schema.ListNestedAttribute:
			paths = append(paths, fieldPaths(path+".", attribute.NestedObject.Attributes)...)
		}
	}
	return paths
}

func jsonPaths(prefix string, of reflect.Type) []string {
	var paths []string
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		path := prefix + name
		paths = append(paths, path)
		below := field.Type
		for below.Kind() == reflect.Pointer || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && below != reflect.TypeFor[fleetyaml.Count]() {
			paths = append(paths, jsonPaths(path+".", below)...)
		}
	}
	return paths
}
