package acceptance_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// The files of a release can be installed in all ways that Terraform and OpenTofu have, and run then. The
// home of the user has no settings.
func TestAccProviderInstallation(t *testing.T) {
	t.Parallel()
	testenv.Require(t)
	files := newRelease(t)
	server := serveRelease(t, files)
	forged := serveRelease(t, files.signedBy(t, newSigner(t)))
	const source = "registry.terraform.io/agentless-fleet/fleet"
	tests := map[string]struct {
		source string
		// settings are the way of the installation, in the settings of the CLI.
		settings string
		server   *releaseServer
		// wrong is part of the error, "" for none.
		wrong string
	}{
		"filesystem mirror":        {source: source, settings: fmt.Sprintf("filesystem_mirror { path = %q }", files.mirror(t, source)), server: server},
		"network mirror":           {source: source, settings: fmt.Sprintf("network_mirror { url = %q }", server.URL+"/mirror/"), server: server},
		"registry":                 {source: server.host() + "/agentless-fleet/fleet", settings: "direct {}", server: server},
		"registry and another key": {source: forged.host() + "/agentless-fleet/fleet", settings: "direct {}", server: forged, wrong: "signature"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(t, "settings.tfrc", "provider_installation {\n  "+test.settings+"\n}\n")
			w.write(t, "ca.pem", test.server.authority())
			w.env = append(w.env, "HOME="+t.TempDir(), "TF_CLI_CONFIG_FILE="+filepath.Join(w.dir, "settings.tfrc"), "SSL_CERT_FILE="+filepath.Join(w.dir, "ca.pem"))
			w.write(t, "main.tf", fmt.Sprintf("terraform {\n  required_providers {\n    fleet = {\n      source  = %q\n      version = %q\n    }\n  }\n}\n", test.source, files.version)+
				"provider \"fleet\" {\n  owner = \"acc\"\n}\n"+
				"resource \"fleet_bundle\" \"hello\" {\n  name  = \"hello\"\n  files = { \"hello.yaml\" = \"apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: hello}\\n\" }\n}\n")
			if test.wrong != "" {
				w.fail(t, []string{"init", "-input=false"}, test.wrong)
				return
			}
			w.run(t, "init", "-input=false")
			lock := read(t, filepath.Join(w.dir, ".terraform.lock.hcl"))
			if !strings.Contains(lock, fmt.Sprintf("provider %q", test.source)) || !strings.Contains(lock, fmt.Sprintf("version     = %q", files.version)) {
				t.Errorf("version %s of %s is not locked:\n%s", files.version, test.source, lock)
			}
			w.apply(t)
			w.expectEmptyPlan(t)
		})
	}
}
