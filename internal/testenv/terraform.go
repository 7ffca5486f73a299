package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CLIVariable names the command to run configurations with: "tofu", "terraform-1.15",
// "terraform-1.16", or the name or the path of another command, such as
// "/opt/terraform-1.14/terraform".
const CLIVariable = "FLEET_TEST_CLI"

const (
	openTofu      = "tofu"
	terraformPath = "github.com/hashicorp/terraform"
)

// builtTerraform has the versions that are built from Terraform's module, by the name of the command.
// From 1.16 on Terraform passes the private data of a plan to its apply.
func builtTerraform() map[string]string {
	return map[string]string{"terraform-1.15": "v1.15.0", "terraform-1.16": "v1.16.4"}
}

// TerraformCLI returns the path of the command to run configurations with: the command that
// CLIVariable names, else terraform from PATH, else tofu from PATH. If tofu is missing, it is built
// from its Go module. terraform-1.15 and terraform-1.16 are always built. A build takes some minutes the first time.
// The working directory must be inside the repository.
func TerraformCLI(ctx context.Context, log Log) (string, error) {
	chosen := os.Getenv(CLIVariable)
	if version, ok := builtTerraform()[chosen]; ok {
		return buildCLI(ctx, log, "terraform", func(string) buildModule { return terraformModule(version) })
	}
	if chosen != "" && chosen != openTofu {
		path, err := exec.LookPath(chosen)
		if err != nil {
			return "", fmt.Errorf("looking for the command that %s names: %w", CLIVariable, err)
		}
		return filepath.Abs(path)
	}
	for _, name := range []string{"terraform", openTofu} {
		if chosen != "" && chosen != name {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return buildCLI(ctx, log, openTofu, openTofuModule)
}

func buildCLI(ctx context.Context, log Log, name string, module func(root string) buildModule) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	store, err := buildStore()
	if err != nil {
		return "", err
	}
	dir, err := build(ctx, orSilent(log), module(root), store)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

func openTofuModule(root string) buildModule {
	return buildModule{
		dir: filepath.Join(root, "internal", "testenv", "opentofu"),
		// A build that is not marked as released is a prerelease, which version constraints refuse.
		ldflags: "-s -w -X github.com/opentofu/opentofu/version.dev=no",
		tools: []buildTool{
			{name: openTofu, pkg: "github.com/opentofu/opentofu/cmd/tofu", estimate: "about 3 min"},
		},
	}
}

// terraformModule returns a module that requires Terraform. Terraform's backends that have their
// own modules are not published. Each is replaced by a package that panics if a configuration uses
// the backend.
func terraformModule(version string) buildModule {
	var goMod strings.Builder
	fmt.Fprintf(&goMod, "module %s/internal/testenv/terraform\n\ngo 1.26.0\n\ngodebug winsymlink=0\n\nrequire %s %s\n", modulePath, terraformPath, version)
	written := map[string]string{}
	for _, backend := range []string{"azure", "consul", "cos", "gcs", "kubernetes", "oci", "oss", "pg", "s3"} {
		path := terraformPath + "/internal/backend/remote-state/" + backend
		fmt.Fprintf(&goMod, "\nreplace %s => ./%s\n", path, backend)
		written[backend+"/go.mod"] = "module " + path + "\n\ngo 1.26.0\n"
		written[backend+"/backend.go"] = fmt.Sprintf(backendText, backend, terraformPath)
	}
	legacy := terraformPath + "/internal/legacy"
	fmt.Fprintf(&goMod, "\nreplace %s => ./legacy\n", legacy)
	written["legacy/go.mod"] = "module " + legacy + "\n\ngo 1.26.0\n"
	written["go.mod"] = goMod.String()
	return buildModule{
		written: written,
		// A build that is not marked as released is a prerelease, which version constraints refuse.
		ldflags: "-s -w -X " + terraformPath + "/version.dev=no",
		tools: []buildTool{
			{name: "terraform", pkg: terraformPath, estimate: "about 3 min"},
		},
	}
}

const backendText = `package %[1]s

import "%[2]s/internal/backend"

func New() backend.Backend { panic("this build of Terraform has no backend %[1]s") }
`
