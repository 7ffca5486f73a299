//go:build !race

package unknowns_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/charttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sopstest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// samples use servers that really respond, and clusters that do not: planning needs no cluster.
type samples struct {
	git                     *gittest.Server
	charts                  *charttest.Server
	commit, dir             string
	certificate, key        string
	kubeconfig, kubeconfigs string
	// encrypted is a manifest that both keys decrypt.
	ageKey, pgpKey, encrypted string
}

func newSamples(t *testing.T) *samples {
	t.Helper()
	s := &samples{git: gittest.New(t, gittest.Options{AllowReachableSHA1InWant: true}), charts: charttest.New(t, charttest.Options{}), dir: t.TempDir()}
	commit, err := s.git.Commit(t.Context(), "fleet", "main", "First", map[string]string{"one/cm.yaml": manifest, "one/fleet.yaml": "defaultNamespace: ns\n", "two/cm.yaml": manifest})
	if err != nil {
		t.Fatal(err)
	}
	s.commit = commit
	s.charts.AddChart(charttest.Chart{Name: "web", Version: "1.2.3", Files: map[string]string{"templates/cm.yaml": manifest}})
	s.write(t, "checkout/one/cm.yaml", manifest)
	s.certificate, s.key = certificate(t)
	s.kubeconfigs = "apiVersion: v1\nkind: Config\nclusters: [{name: x, cluster: {server: \"https://127.0.0.1:1\"}}]\nusers: [{name: x, user: {token: x}}]\n" +
		"contexts: [{name: x, context: {cluster: x, user: x}}]\ncurrent-context: x\n"
	s.kubeconfig = s.write(t, "kubeconfig", s.kubeconfigs)
	ageKey, recipient := sopstest.Age(t)
	pgpKey, public := sopstest.PGP(t)
	s.ageKey, s.pgpKey = ageKey, pgpKey
	s.encrypted = sopstest.File{Age: []string{recipient}, PGP: []*openpgp.Entity{public}}.Encrypt(t, manifest)
	return s
}

const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"

func (s *samples) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate returns a self-signed certificate and its key.
func certificate(t *testing.T) (certificate, key string) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &made.PublicKey, made)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(made)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}))
}

// blocks returns the schemas whose attributes have to be in a sample.
func (s *samples) blocks() map[string]*tfprotov6.SchemaBlock {
	blocks := map[string]*tfprotov6.SchemaBlock{"provider": providertest.Schemas().Provider.Block}
	for name, schema := range providertest.Schemas().ResourceSchemas {
		blocks[name] = schema.Block
	}
	return blocks
}

func (s *samples) all(t *testing.T) []sample {
	t.Helper()
	all := append(s.bundles(t), s.gitRepos(t)...)
	return append(append(all, s.targets(t)...), s.engines(t)...)
}

// engines are reached in every possible way. A bundle needs none, so nothing of it is unknown.
func (s *samples) engines(t *testing.T) []sample {
	t.Helper()
	var all []sample
	var connections []*tfprotov6.SchemaAttribute
	for _, attribute := range providertest.Schemas().Provider.Block.Attributes {
		if attribute.Name == "engine" {
			connections = attribute.NestedType.Attributes
		}
	}
	for name, cluster := range s.clusters()["clusters"].(map[string]any) { //nolint:forcetypeassert // made below
		connection := map[string]any{"namespace": "fleet-default", "offline_after": "1h", "on_offline": "error", "deliver": true}
		for _, attribute := range connections {
			if value, ok := cluster.(map[string]any)[attribute.Name]; ok {
				connection[attribute.Name] = value
			}
		}
		provider := s.providerOf(t, map[string]any{"engine": connection})
		made := s.of(t, "bundle and engine "+name, "fleet_bundle", provider, map[string]any{"name": "web", "files": map[string]any{"cm.yaml": manifest}})
		made.shared, made.ofProvider, made.createOnly = nil, true, true
		all = append(all, made)
	}
	return all
}

func (s *samples) providerOf(t *testing.T, plain map[string]any) tftypes.Value {
	t.Helper()
	plain["owner"] = "acme"
	return providertest.Typed(t, providertest.Schemas().Provider.ValueType(), plain)
}

func (s *samples) of(t *testing.T, name, resource string, provider tftypes.Value, plain map[string]any) sample {
	t.Helper()
	made := sample{name: name, resource: resource, provider: provider, config: providertest.Typed(t, providertest.Schemas().ResourceSchemas[resource].ValueType(), plain)}
	if resource != "fleet_cluster_target" {
		made.state = made.applied(t)
		made.shared = providertest.New(t)
		if wrong := made.shared.Configure(t, provider); len(wrong) > 0 {
			t.Fatalf("%s: %q", name, wrong)
		}
	}
	return made
}

func (s sample) applied(t *testing.T) providertest.Resource {
	t.Helper()
	c := providertest.New(t)
	if wrong := c.Configure(t, s.provider); len(wrong) > 0 {
		t.Fatalf("%s: %q", s.name, wrong)
	}
	prior := providertest.NoResource(s.resource)
	plan := c.Plan(t, s.resource, s.config, prior)
	if len(plan.Errors) > 0 {
		t.Fatalf("%s: %q", s.name, plan.Errors)
	}
	return c.Apply(t, s.resource, s.config, prior, plan)
}

// access are the credentials of a provider, for a repository and for charts.
func (s *samples) access() map[string]any {
	return map[string]any{
		"cache_dir": s.dir,
		"git": map[string]any{
			s.git.URL(""):              map[string]any{"username": "x", "password": "x", "ca_bundle": s.certificate},
			"https://git.invalid/":     map[string]any{"token": "x", "insecure": true},
			"https://git.invalid/app/": map[string]any{"github_app": map[string]any{"id": "1", "installation_id": 1, "private_key": "x", "api_url": "https://git.invalid/"}},
			"ssh://git@git.invalid/":   map[string]any{"ssh_private_key": "x", "ssh_passphrase": "x", "known_hosts": "x"},
		},
		"registries": map[string]any{
			s.charts.RepositoryURL(): map[string]any{"username": "x", "password": "x", "ca_bundle": s.certificate},
			"oci://charts.invalid/":  map[string]any{"token": "x", "insecure": true, "plain_http": true},
			"oci://helper.invalid/":  map[string]any{"exec": map[string]any{"command": "x", "args": []any{"x"}, "env": map[string]any{"X": "x"}}},
		},
		"tls": map[string]any{"ca_bundle": s.certificate, "system_roots": true}, "private_addresses": false,
		"sops": map[string]any{"age_keys": []any{s.ageKey}, "pgp_keys": []any{s.pgpKey}},
	}
}

func (s *samples) gitRepos(t *testing.T) []sample {
	t.Helper()
	laid := map[string]any{
		"name": "apps", "strict": true, "on_error": "hold", "follow_charts": "constraint", "helm_ignore": true, "image_scans": false, "submodules": true, "target_namespace": "ns", "service_account": "x", "labels": map[string]any{"key": "x"}, "paused": true,
		"keep_resources": true, "delete_namespace": true, "correct_drift": map[string]any{"enabled": true, "force": true, "keep_fail_history": true},
		"sources": []any{"https://**"}, "helm_repo_url_regex": "^https://", "force_sync_generation": 1,
	}
	with := func(more map[string]any) map[string]any {
		plain := maps.Clone(laid)
		maps.Copy(plain, more)
		return plain
	}
	table := []allowed{{when: `.*`, unknown: "bundles commit contents"}}
	branch := s.of(t, "gitrepo of a branch", "fleet_gitrepo", s.providerOf(t, s.access()), with(map[string]any{"repo": s.git.URL("fleet"), "branch": "main", "paths": []any{"one"}}))
	revision := s.of(t, "gitrepo of a revision", "fleet_gitrepo", s.providerOf(t, s.access()), with(map[string]any{
		"repo": s.git.URL("fleet"), "revision": s.commit, "bundle_paths": []any{map[string]any{"base": "one", "options": "fleet.yaml"}},
	}))
	directory := s.of(t, "gitrepo of a directory", "fleet_gitrepo", s.providerOf(t, s.access()), with(map[string]any{"directory": filepath.Join(s.dir, "checkout")}))
	branch.unknown, revision.unknown, directory.unknown = table, table, table
	access := branch
	access.name, access.shared, access.ofProvider = "gitrepo and its provider", nil, true
	access.unknown = accessTable("bundles contents", "git", s.git.URL(""))
	for i := range access.unknown {
		access.unknown[i].onlyNew = true // The commit that is known already is in cache_dir.
	}
	return []sample{branch, revision, directory, access}
}

// accessTable states that unknown credentials and authorities leave unknown only what needs them.
func accessTable(unknown, attribute, prefix string) []allowed {
	return []allowed{
		{when: attribute, unknown: unknown}, {when: attribute + `\["` + regexp.QuoteMeta(prefix) + `"\].*`, unknown: unknown}, {when: `tls.*|private_addresses`, unknown: unknown},
	}
}

// bundles are bundles of every source. Only some have all options, because the framework is slow
// with large configurations.
func (s *samples) bundles(t *testing.T) []sample {
	t.Helper()
	provider := s.providerOf(t, s.access())
	const ofBundle = `bundles["web"] contents["web"] digest`
	of := func(name string, plain map[string]any) sample {
		plain["name"] = "web"
		made := s.of(t, name, "fleet_bundle", provider, plain)
		made.unknown = []allowed{
			{when: `name`, unknown: "bundles contents digest"},
			{when: `.*`, unknown: ofBundle},
		}
		return made
	}
	files := map[string]any{"x": "a: 1", "folder/kustomization.yaml": "resources: [cm.yaml]", "folder/cm.yaml": manifest}
	options := s.options()
	customized := map[string]any{"target_customizations": options["target_customizations"], "files": files}
	delete(options, "target_customizations")
	options["files"] = files
	access := of("bundle and its provider", map[string]any{"chart": map[string]any{"repo": s.charts.RepositoryURL(), "name": "web", "version": "^1.0.0"}})
	access.shared, access.ofProvider, access.unknown = nil, true, accessTable(ofBundle, "registries", s.charts.RepositoryURL())
	tailored := of("customized bundle", customized)
	tailored.createOnly = true
	local := of("bundle of files and its provider", map[string]any{"files": files})
	local.shared, local.ofProvider, local.unknown = nil, true, nil
	encrypted := of("encrypted bundle and its provider", map[string]any{"files": map[string]any{"cm.yaml": s.encrypted}})
	encrypted.shared, encrypted.ofProvider, encrypted.unknown = nil, true, []allowed{{when: `sops.*`, unknown: ofBundle}}
	return []sample{
		of("bundle of files", options), tailored, encrypted,
		of("bundle of a chart", map[string]any{"chart": map[string]any{"repo": s.charts.RepositoryURL(), "name": "web", "version": "^1.0.0", "follow": "constraint"}}),
		of("bundle of a directory", map[string]any{"directory": filepath.Join(s.dir, "checkout/one"), "helm_ignore": true}),
		of("bundle of a git folder", map[string]any{"git": map[string]any{"repo": s.git.URL("fleet"), "revision": "main", "path": "two", "submodules": true}}),
		access, local,
	}
}

// options are all options of a bundle.
func (s *samples) options() map[string]any {
	plain := map[string]any{}
	for _, attribute := range providertest.Schemas().ResourceSchemas["fleet_bundle"].Block.Attributes {
		plain[attribute.Name] = s.sampled(attribute)
	}
	for _, source := range []string{"chart", "git", "directory", "files", "digest", "bundles", "contents"} {
		delete(plain, source)
	}
	return plain
}

// sampled makes a value for an attribute.
func (s *samples) sampled(attribute *tfprotov6.SchemaAttribute) any {
	if attribute.NestedType != nil {
		object := map[string]any{}
		for _, below := range attribute.NestedType.Attributes {
			object[below.Name] = s.sampled(below)
		}
		if attribute.NestedType.Nesting == tfprotov6.SchemaObjectNestingModeList {
			return []any{object}
		}
		return object
	}
	switch attribute.Name {
	case "all": // The other criteria are set, too.
		return false
	case "operator":
		return "In"
	case "dir":
		return "folder"
	case "op":
		return "remove"
	case "path":
		return "/data/x"
	case "json_pointers":
		return []any{"/data/x"}
	case "target_customization_mode":
		return "AllMatches"
	case "max_unavailable", "max_unavailable_partitions", "auto_partition_size":
		return "50%"
	case "crds":
		return fleetyaml.CRDsSkip
	case "accepted_states":
		return []any{string(status.Ready)}
	case "chart":
		return "web"
	case "repo":
		return s.charts.RepositoryURL()
	case "version":
		return "^1.0.0"
	case "sources":
		return []any{"https://**"}
	case "values":
		if attribute.Type.Is(tftypes.String) {
			return "a: 1"
		}
	}
	return sampledType(attribute.Type)
}

func sampledType(of tftypes.Type) any {
	switch of := of.(type) {
	case tftypes.List:
		return []any{sampledType(of.ElementType)}
	case tftypes.Map:
		return map[string]any{"key": sampledType(of.ElementType)}
	}
	switch {
	case of.Is(tftypes.Bool):
		return true
	case of.Is(tftypes.Number):
		return 1
	}
	return "x"
}

// targets are a target on clusters that are reached in every possible way.
func (s *samples) targets(t *testing.T) []sample {
	t.Helper()
	made := s.of(t, "bundle", "fleet_bundle", s.providerOf(t, s.access()), map[string]any{"name": "one", "files": map[string]any{"cm.yaml": manifest}})
	bundles := providertest.Plain(t, providertest.Attributes(t, made.state.Value)["bundles"])
	config := map[string]any{
		"name": "all", "bundles": []any{bundles}, "wait": true, "deployment_timeout": "5m", "max_history": 5, "take_ownership": false, "adoption_key": "key", "allow_empty": true,
		"max_removals": "10%", "deletion_protection": true, "plan_objects": true, "drift": "live", "diff": "rendered", "on_error": "hold", "crds": "skip",
		"targets": []any{
			map[string]any{"all": false, "cluster_name": "a"},
			map[string]any{"cluster_selector": map[string]any{
				"all":               false,
				"match_labels":      map[string]any{"on": "yes"},
				"match_expressions": []any{map[string]any{"key": "on", "operator": "In", "values": []any{"yes"}}},
			}},
			map[string]any{"cluster_group": "some"},
			map[string]any{"cluster_group_selector": map[string]any{
				"all":               false,
				"match_labels":      map[string]any{"tier": "prod"},
				"match_expressions": []any{map[string]any{"key": "tier", "operator": "In", "values": []any{"prod"}}},
			}},
		},
		"ready_for": "10s", "explain_logs": true,
		"timeouts": map[string]any{"create": "1h", "update": "1h", "delete": "1h"},
	}
	small := s.clusters()
	small["clusters"] = map[string]any{"a": small["clusters"].(map[string]any)["a"]} //nolint:forcetypeassert // made below
	target := s.of(t, "target", "fleet_cluster_target", s.providerOf(t, small), config)
	target.state = target.deployed(t)
	target.unknown = targetTable()
	whole := s.of(t, "", "fleet_cluster_target", s.providerOf(t, s.clusters()), config)
	whole.state = whole.deployed(t)
	whole.name, whole.ofProvider, whole.unknown = "target and its provider", true, clustersTable()
	whole.createOnly = true
	one := target
	one.name, one.ofProvider, one.unknown = "target and its only cluster", true, clustersTable()
	consenting := s.of(t, "target with consent to some deployments", "fleet_cluster_target", s.providerOf(t, small), map[string]any{
		"name": "all", "bundles": []any{bundles}, "targets": []any{map[string]any{"cluster_name": "a"}}, "take_ownership_of": []any{"a/*"},
	})
	consenting.state = consenting.deployed(t)
	consenting.unknown = targetTable()
	consenting.createOnly = true
	return []sample{target, whole, one, consenting}
}

// clusters are the clusters of a provider, reached in every possible way.
func (s *samples) clusters() map[string]any {
	facts := func(connection map[string]any) map[string]any {
		connection["labels"] = map[string]any{"on": "yes"}
		return connection
	}
	host := func(more map[string]any) map[string]any {
		more["host"] = "https://127.0.0.1:1"
		return facts(more)
	}
	plain := s.access()
	maps.Copy(plain, map[string]any{
		"parallelism": 4, "render_timeout": "1m", "on_unreachable": "keep", "on_missing": "error",
		"clusters": map[string]any{
			"a": host(map[string]any{
				"token": "x", "cluster_ca_certificate": s.certificate, "tls_server_name": "x", "impersonate_user": "x", "qps": 5, "burst": 6, "request_timeout": "3s",
				"proxy_url": "http://127.0.0.1:1", "annotations": map[string]any{"key": "x"}, "template_values": "a: 1", "namespace": "fleet-default",
				"uid": "8f14e45f-ceea-467f-9d3c-2a0e1f1b7c55", "display_name": "first", "paused": false,
			}),
			"b": host(map[string]any{"token_file": s.kubeconfig, "insecure": true, "namespaces": []any{"default"}}),
			"c": host(map[string]any{"username": "x", "password": "x"}),
			"d": host(map[string]any{"client_certificate": s.certificate, "client_key": s.key, "kube_version": "1.34", "api_versions": []any{"monitoring.coreos.com/v1"}}),
			"e": host(map[string]any{"exec": map[string]any{"api_version": "client.authentication.k8s.io/v1", "command": "false", "args": []any{"x"}, "env": map[string]any{"key": "x"}}}),
			"f": facts(map[string]any{"kubeconfig": s.kubeconfigs}),
			"g": facts(map[string]any{"config_path": s.kubeconfig, "config_context": "x", "config_context_cluster": "x", "config_context_auth_info": "x"}),
			"h": facts(map[string]any{"config_paths": []any{s.kubeconfig}, "from_environment": false}),
		},
		"cluster_groups": map[string]any{"some": map[string]any{
			"selector": map[string]any{
				"all":               false,
				"match_labels":      map[string]any{"on": "yes"},
				"match_expressions": []any{map[string]any{"key": "on", "operator": "In", "values": []any{"yes"}}},
			},
			"labels": map[string]any{"tier": "prod"},
		}},
		"policies": map[string]any{"all": map[string]any{
			"action": "warn",
			"applies_to": map[string]any{
				"clusters": []any{
					map[string]any{"all": false, "cluster_name": "a"},
					map[string]any{"cluster_selector": map[string]any{
						"all":               false,
						"match_labels":      map[string]any{"on": "yes"},
						"match_expressions": []any{map[string]any{"key": "on", "operator": "In", "values": []any{"yes"}}},
					}},
					map[string]any{"cluster_group": "some"},
					map[string]any{"cluster_group_selector": map[string]any{
						"all":               false,
						"match_labels":      map[string]any{"tier": "prod"},
						"match_expressions": []any{map[string]any{"key": "tier", "operator": "In", "values": []any{"prod"}}},
					}},
				},
				"all": false, "bundles": []any{"*"}, "repositories": []any{"https://git.invalid/**"},
				"bundle_selector": map[string]any{
					"all":               false,
					"match_labels":      map[string]any{"on": "yes"},
					"match_expressions": []any{map[string]any{"key": "on", "operator": "In", "values": []any{"yes"}}},
				},
			},
			"repositories": []any{"**"}, "charts": []any{map[string]any{"source": "**", "version": "*"}}, "namespaces": []any{"*"},
			"service_accounts": map[string]any{"allowed": []any{"*"}, "default": "x", "required": true},
			"allowed_kinds":    []any{"*"}, "denied_kinds": []any{"Secret"}, "cluster_scoped": false, "image_registries": []any{"ghcr.io"},
			"labels": map[string]any{"team": "*"}, "annotations": map[string]any{"team": "*"}, "max_objects": 5, "max_replicas": 5,
		}},
		"fleet_policies": []any{"apiVersion: fleet.cattle.io/v1alpha1\nkind: Policy\nmetadata: {name: x}\nallowedServiceAccounts: [x]\n"},
	})
	maps.Copy(plain, windowSamples())
	return plain
}

// windowSamples are windows that are always open, and one for a bundle that does not exist.
func windowSamples() map[string]any {
	selector := func() map[string]any {
		return map[string]any{
			"all":               false,
			"match_labels":      map[string]any{"on": "yes"},
			"match_expressions": []any{map[string]any{"key": "on", "operator": "In", "values": []any{"yes"}}},
		}
	}
	return map[string]any{
		"windows": map[string]any{
			"always": map[string]any{"all": true, "effect": "allow", "cron": "* * * * *", "duration": "1h", "time_zone": "Europe/Berlin", "correct_drift": true},
			"freeze": map[string]any{
				"effect": "deny", "weekly": map[string]any{"days": []any{"sun"}, "start": "22:00"}, "duration": "168h", "bundles": []any{"other"}, "bundle_selector": selector(),
				"targets": []any{map[string]any{"all": false, "cluster_name": "a", "cluster_selector": selector(), "cluster_group": "some", "cluster_group_selector": map[string]any{
					"all":               false,
					"match_labels":      map[string]any{"tier": "prod"},
					"match_expressions": []any{map[string]any{"key": "tier", "operator": "In", "values": []any{"prod"}}},
				}}},
			},
		},
		"fleet_schedules": []any{"apiVersion: fleet.cattle.io/v1alpha1\nkind: Schedule\nmetadata: {name: always}\n" +
			"spec: {schedule: 0 * * * * *, duration: 1h, targets: {clusters: [{clusterName: a}]}}\n"},
		"windows_override": "incident",
	}
}

// deployed is the state after all planned deployments were deployed and are ready.
func (s sample) deployed(t *testing.T) providertest.Resource {
	t.Helper()
	c := providertest.New(t)
	if wrong := c.Configure(t, s.provider); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	plan := c.Plan(t, s.resource, s.config, providertest.NoResource(s.resource))
	if len(plan.Errors) > 0 {
		t.Fatal(plan.Errors)
	}
	attributes := providertest.Attributes(t, plan.Value)
	planned := state.Shown{Deployments: textsOf(t, attributes["deployments"]), Objects: textsOf(t, attributes["objects"])}
	records := state.Decode(planned, state.Planned{}, state.DriftState{}).Records
	var decided string
	if err := attributes["planned"].As(&decided); err != nil {
		t.Fatal(err)
	}
	writes := state.DecodePlanned(decided).Write
	for key, record := range records {
		chart, name, _ := strings.Cut(planned.Deployments[key.String()], " ")
		record.Chart, record.Version, _ = strings.Cut(chart, "-")
		record.Namespace, record.Release, _ = strings.Cut(strings.Fields(name)[0], "/")
		if writes[key].Digest == "" {
			t.Fatalf("the plan has no digest of %s: %q", key, decided)
		}
		record.Digest, record.State, record.Counts = writes[key].Digest, status.Ready, status.Counts{Ready: len(record.Objects)}
		records[key] = record
	}
	shown := state.Contents{Records: records, ShowsObjects: true}.Shown()
	for name, texts := range map[string]map[string]string{
		"deployments": shown.Deployments, "objects": shown.Objects, "records": shown.Records, "not_ready": shown.NotReady, "clusters": shown.Clusters,
	} {
		attributes[name] = mapOf(texts)
	}
	attributes["id"] = tftypes.NewValue(tftypes.String, "INSTANCE")
	return providertest.Resource{Value: tftypes.NewValue(plan.Value.Type(), attributes)}
}

// mapOf is the inverse of textsOf.
func mapOf(texts map[string]string) tftypes.Value {
	elements := make(map[string]tftypes.Value, len(texts))
	for name, text := range texts {
		elements[name] = tftypes.NewValue(tftypes.String, text)
	}
	return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, elements)
}

// textsOf returns the elements of a map of texts.
func textsOf(t *testing.T, value tftypes.Value) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for name, element := range providertest.Attributes(t, value) {
		var text string
		if err := element.As(&text); err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	return texts
}
