package acceptance_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/provider"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// factories run the provider inside the test, where the race detector sees it.
func factories(t *testing.T) map[string]func() (tfprotov6.ProviderServer, error) {
	t.Helper()
	cleanup := &provider.Cleanup{}
	t.Cleanup(func() {
		if err := cleanup.Run(); err != nil {
			t.Error(err)
		}
	})
	return map[string]func() (tfprotov6.ProviderServer, error){
		"fleet": func() (tfprotov6.ProviderServer, error) { return provider.Server("test", cleanup)(), nil },
	}
}

const all = "fleet_cluster_target.all"

func elementAt(attribute, key string) tfjsonpath.Path { return tfjsonpath.New(attribute).AtMapKey(key) }

// The five steps of the demo, inside one process.
func TestAccFiveSteps(t *testing.T) {
	t.Parallel()
	s := newFixture(t, testenv.Shared(t))
	git := gittest.New(t, gittest.Options{})
	content := map[string]string{
		"apps/web/fleet.yaml": "defaultNamespace: " + s.namespace + "\nhelm:\n  releaseName: web\n  values:\n    replicas: 1\n    from: ${ .ClusterName }\n" +
			"targetCustomizations:\n- name: prod\n  clusterSelector:\n    matchLabels:\n      env: prod\n  helm:\n    values:\n      replicas: 3\n",
		"apps/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"apps/web/templates/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations:\n    from: {{ .Values.from }}\nspec:\n  replicas: {{ .Values.replicas }}\n" +
			"  selector:\n    matchLabels: {app: web}\n  template:\n    metadata:\n      labels: {app: web}\n    spec:\n      containers:\n      - {name: web, image: registry.k8s.io/pause:3.10}\n",
		"apps/raw/fleet.yaml": "name: raw\ndefaultNamespace: " + s.namespace + "\n",
		"apps/raw/cm.yaml":    configMap("raw", "blue"),
	}
	commit := func() {
		if _, err := git.Commit(t.Context(), "fleet", "main", "Content", content); err != nil {
			t.Fatal(err)
		}
	}
	commit()
	repo := fmt.Sprintf("resource \"fleet_gitrepo\" \"apps\" {\n  name = \"apps\"\n  repo = %q\n  branch = \"main\"\n  paths = [\"apps/*\"]\n}\n", git.URL("fleet"))
	config := func(labels ...string) string {
		return s.provider("", labels...) + repo + s.bundle("banner", "x") + target("", "fleet_gitrepo.apps.bundles", "fleet_bundle.banner.bundles")
	}
	dev, prod := on+`, env = "dev"`, on+`, env = "prod"`
	releases := func(i int, names ...string) resource.TestCheckFunc {
		return func(*terraform.State) error { s.expectReleases(t, i, names...); return nil }
	}

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(t),
		CheckDestroy: func(*terraform.State) error {
			for i := range 3 {
				s.expectNothing(t, i)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: config(dev, prod, prod),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue(all, elementAt("deployments", "a/apps-apps-web"), knownvalue.StringRegexp(regexp.MustCompile("^web-[^ ]+ "+s.namespace+"/web [0-9a-f]{8}$"))),
					plancheck.ExpectUnknownValue(all, tfjsonpath.New("records")),
					plancheck.ExpectKnownValue(all, tfjsonpath.New("not_ready"), knownvalue.MapSizeExact(0)),
					plancheck.ExpectKnownValue(all, elementAt("clusters", "c"), knownvalue.StringExact("3/3 deployments, 3/3 objects")),
					plancheck.ExpectKnownValue(all, elementAt("objects", "c/raw ConfigMap/"+s.namespace+"/raw"), knownvalue.NotNull()),
					plancheck.ExpectUnknownValue("fleet_gitrepo.apps", tfjsonpath.New("commit")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(all, tfjsonpath.New("not_ready"), knownvalue.MapSizeExact(0)),
					statecheck.ExpectKnownValue(all, tfjsonpath.New("clusters"), knownvalue.MapSizeExact(3)),
				},
				Check: resource.ComposeTestCheckFunc(
					releases(0, "banner", "raw", "web"), releases(1, "banner", "raw", "web"), releases(2, "banner", "raw", "web"),
					func(*terraform.State) error { return s.expectWeb(t, 0, 1, "a") },
					func(*terraform.State) error { return s.expectWeb(t, 1, 3, "b") },
				),
			},
			{
				Config:             config(dev, prod, prod),
				PlanOnly:           true,
				ExpectNonEmptyPlan: false,
			},
			{
				PreConfig: func() {
					content["apps/raw/cm.yaml"] = configMap("raw", "green")
					commit()
				},
				Config: config(dev, prod, prod),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("fleet_gitrepo.apps", plancheck.ResourceActionUpdate),
					plancheck.ExpectResourceAction("fleet_bundle.banner", plancheck.ResourceActionNoop),
					plancheck.ExpectUnknownValue(all, elementAt("records", "b/raw")),
					plancheck.ExpectKnownValue(all, elementAt("records", "b/apps-apps-web"), knownvalue.NotNull()),
				}},
				Check: func(*terraform.State) error {
					for i := range 3 {
						if got := s.value(t, i, "raw"); got != "green" {
							return fmt.Errorf("cluster %d has the value %q", i, got)
						}
					}
					return nil
				},
			},
			{
				Config: config(dev, prod, `on = "no"`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue(all, tfjsonpath.New("deployments"), knownvalue.MapSizeExact(6)),
					// A cluster without deployments is not listed.
					plancheck.ExpectKnownValue(all, tfjsonpath.New("clusters"), knownvalue.MapSizeExact(2)),
				}},
				Check: func(*terraform.State) error { s.expectNothing(t, 2); return nil },
			},
		},
	})
}

// A cluster whose address another resource makes in the same apply.
func TestAccUnknownHost(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	s := newFixture(t, env)
	late := env.Cluster(2)
	made := fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = %q\n}\n", late.Host())
	entry := fmt.Sprintf("c = { host = terraform_data.late.output, cluster_ca_certificate = <<-CA\n%sCA\n token = %q, labels = { on = \"yes\" } }\n",
		string(late.CACertificate()), late.Token())
	if late.Token() == "" {
		t.Skip("the cluster of this context is not reached by a token")
	}
	config := strings.Replace(s.provider("", on, on), "clusters = {", "clusters = {\n"+entry, 1) +
		made + s.bundle("one", "x") + target("", "fleet_bundle.one.bundles")

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(t),
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectKnownValue(all, elementAt("deployments", "c/one"), knownvalue.NotNull()),
					plancheck.ExpectKnownValue(all, elementAt("objects", "a/one ConfigMap/"+s.namespace+"/one"), knownvalue.NotNull()),
					// A rendering needs no cluster.
					plancheck.ExpectKnownValue(all, elementAt("objects", "c/one ConfigMap/"+s.namespace+"/one"), knownvalue.NotNull()),
					plancheck.ExpectKnownValue(all, elementAt("clusters", "c"), knownvalue.StringExact("1/1 deployment, 1/1 object")),
				}},
				Check: func(*terraform.State) error { s.expectReleases(t, 2, "one"); return nil },
			},
			{Config: config, PlanOnly: true},
		},
		CheckDestroy: func(*terraform.State) error { s.expectNothing(t, 2); return nil },
	})
}
