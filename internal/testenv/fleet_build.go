package testenv

import (
	"context"
	"fmt"
	"path/filepath"
)

// fleetPath is the module of Rancher Fleet, which only tests run.
const fleetPath = "github.com/rancher/fleet"

const (
	fleetController = "fleetcontroller"
	fleetAgent      = "fleetagent"
	fleetCRDs       = "fleet-crds.yaml"
	fleetRBAC       = "fleet-rbac.yaml" // a Helm template
)

// BuildFleet builds the programs of Rancher Fleet unless they are built already. It returns the
// folder with fleetcontroller, fleetagent, and the CRDs and rights that Fleet's charts install. The
// working directory must be inside the repository.
func BuildFleet(ctx context.Context, log Log) (string, error) {
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	module, err := fleetModule(root)
	if err != nil {
		return "", err
	}
	store, err := buildStore()
	if err != nil {
		return "", err
	}
	return build(ctx, orSilent(log), module, store)
}

// fleetPrograms returns the names of the programs of Fleet that run in an environment.
func fleetPrograms() []string { return []string{fleetController, fleetAgent} }

// fleetModule reads everything from one version of Fleet's module: programs, CRDs and rights.
func fleetModule(root string) (buildModule, error) {
	dir := filepath.Join(root, "internal", "testenv", "fleet")
	version, err := requiredVersion(filepath.Join(dir, "go.mod"), fleetPath)
	if err != nil {
		return buildModule{}, err
	}
	return buildModule{
		dir:     dir,
		ldflags: fmt.Sprintf("-s -w -X %s/pkg/version.Version=%s", fleetPath, version),
		tools: []buildTool{
			{name: fleetController, pkg: fleetPath + "/cmd/fleetcontroller", estimate: "about 3 min"},
			{name: fleetAgent, pkg: fleetPath + "/cmd/fleetagent", estimate: "about 10 s"},
		},
		files: []buildFile{
			{name: fleetCRDs, module: fleetPath, paths: []string{"charts/fleet-crd/templates/crds.yaml"}},
			{name: fleetRBAC, module: fleetPath, paths: []string{
				"charts/fleet/templates/serviceaccount.yaml",
				"charts/fleet/templates/rbac.yaml",
			}},
		},
	}, nil
}
