package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxFleetObject is the limit in bytes for the YAML of one element.
	maxFleetObject = 1 << 20
	fleetVersion   = "fleet.cattle.io/v1alpha1"

	policyKind      = "Policy"
	restrictionKind = "GitRepoRestriction"
)

// fleetRules are rules that only Fleet's objects have.
type fleetRules struct {
	repositories patterns
	// chartRepos and chartNames are compared with helm.repo and helm.chart as they are in the
	// bundle.
	chartRepos, chartNames patterns
	// targetNamespaces are the namespaces of which the source must force one, nil for no rule.
	targetNamespaces []string
	// refusesNewNamespaces is true if no deployment may create its namespace.
	refusesNewNamespaces bool
}

// fleetObject is a Policy or a GitRepoRestriction
// (pkg/apis/fleet.cattle.io/v1alpha1/policy_types.go and gitreporestriction_types.go).
type fleetObject struct {
	APIVersion string        `yaml:"apiVersion"`
	Kind       string        `yaml:"kind"`
	Metadata   fleetMetadata `yaml:"metadata"`

	AllowedServiceAccounts []string `yaml:"allowedServiceAccounts"`

	RequireServiceAccount  bool `yaml:"requireServiceAccount"`
	AllowNamespaceCreation bool `yaml:"allowNamespaceCreation"`
	// AllowedDownstreamResources is in Fleet 0.17 and later. Its type does not matter here.
	AllowedDownstreamResources any        `yaml:"allowedDownstreamResources"`
	GitRepo                    *gitPolicy `yaml:"gitRepo"`
	HelmOp                     *opPolicy  `yaml:"helmOp"`

	DefaultServiceAccount          string   `yaml:"defaultServiceAccount"`
	AllowedRepoPatterns            []string `yaml:"allowedRepoPatterns"`
	DefaultClientSecretName        string   `yaml:"defaultClientSecretName"`
	AllowedClientSecretNames       []string `yaml:"allowedClientSecretNames"`
	AllowedTargetNamespaces        []string `yaml:"allowedTargetNamespaces"`
	AllowedTargetNamespaceSelector any      `yaml:"allowedTargetNamespaceSelector"`
}

type fleetMetadata struct {
	Name      string         `yaml:"name"`
	Namespace string         `yaml:"namespace"`
	Other     map[string]any `yaml:",inline"`
}

type gitPolicy struct {
	DefaultServiceAccount    string   `yaml:"defaultServiceAccount"`
	DefaultClientSecretName  string   `yaml:"defaultClientSecretName"`
	AllowedClientSecretNames []string `yaml:"allowedClientSecretNames"`
	AllowedRepoPatterns      []string `yaml:"allowedRepoPatterns"`
}

type opPolicy struct {
	DefaultServiceAccount   string   `yaml:"defaultServiceAccount"`
	DefaultHelmSecretName   string   `yaml:"defaultHelmSecretName"`
	AllowedHelmSecretNames  []string `yaml:"allowedHelmSecretNames"`
	AllowedHelmRepoPatterns []string `yaml:"allowedHelmRepoPatterns"`
	AllowedChartPatterns    []string `yaml:"allowedChartPatterns"`
}

// The names of the policies that Fleet's objects are translated into.
const (
	fleetPolicy       = "fleet_policies"
	fleetBundlePolicy = "fleet_policies (Bundle)"
	fleetGitPolicy    = "fleet_policies (GitRepo)"
	fleetHelmOpPolicy = "fleet_policies (HelmOp)"
)

// FromFleet translates Fleet's Policy and GitRepoRestriction objects. As in one namespace of Fleet,
// an item is allowed if one of the objects allows it. unused names the fields that have no effect
// here. The error names the element, counted from 1.
func FromFleet(texts []string) (policies []Policy, unused []string, err error) {
	var objects []fleetObject
	for i, text := range texts {
		read, err := readFleet(text)
		if err != nil {
			return nil, nil, fmt.Errorf("element %d: %w", i+1, err)
		}
		objects = append(objects, read...)
	}
	// Fleet merges them in this order, so that the first default wins.
	slices.SortStableFunc(objects, func(a, b fleetObject) int { return strings.Compare(a.Metadata.Name, b.Metadata.Name) })
	for _, object := range objects {
		if first := objects[0].Metadata.Namespace; object.Metadata.Namespace != first {
			return nil, nil, fmt.Errorf("%s %s is in namespace %q and %s %s in %q; give those of one namespace only, because Fleet joins what they allow",
				objects[0].Kind, objects[0].Metadata.Name, first, object.Kind, object.Metadata.Name, object.Metadata.Namespace)
		}
		unused = append(unused, object.unused()...)
	}
	policies, err = translate(objects)
	return policies, unused, err
}

// readFleet reads all documents of a text.
func readFleet(text string) ([]fleetObject, error) {
	if len(text) > maxFleetObject {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFleetObject)
	}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	var objects []fleetObject
	for {
		var object fleetObject
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the YAML: %w", err)
		}
		if err := object.check(); err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil, errors.New("it contains no object")
	}
	return objects, nil
}

func (f fleetObject) check() error {
	if f.APIVersion != fleetVersion || f.Kind != policyKind && f.Kind != restrictionKind {
		return fmt.Errorf("%s %s is no Policy and no GitRepoRestriction of %s", f.APIVersion, f.Kind, fleetVersion)
	}
	if f.Metadata.Name == "" {
		return fmt.Errorf("a %s has no name", f.Kind)
	}
	ofOther := f.RequireServiceAccount || f.AllowNamespaceCreation || f.AllowedDownstreamResources != nil || f.GitRepo != nil || f.HelmOp != nil
	if f.Kind == policyKind {
		ofOther = f.DefaultServiceAccount != "" || f.AllowedRepoPatterns != nil || f.DefaultClientSecretName != "" || f.AllowedClientSecretNames != nil ||
			f.AllowedTargetNamespaces != nil || f.AllowedTargetNamespaceSelector != nil
	}
	if ofOther {
		return fmt.Errorf("%s %s has fields of the other kind, which Fleet would ignore", f.Kind, f.Metadata.Name)
	}
	for _, account := range f.accounts() {
		if strings.ContainsAny(account, "*?") {
			return fmt.Errorf("%s %s: %q is not the name of a service account", f.Kind, f.Metadata.Name, account)
		}
	}
	if f.AllowedTargetNamespaceSelector != nil {
		return fmt.Errorf("%s %s: allowedTargetNamespaceSelector selects namespaces by their labels on the clusters, which a plan does not read; list them in allowedTargetNamespaces",
			f.Kind, f.Metadata.Name)
	}
	return nil
}

// accounts returns all service accounts that an object names.
func (f fleetObject) accounts() []string {
	accounts := append(slices.Clone(f.AllowedServiceAccounts), f.DefaultServiceAccount)
	if f.GitRepo != nil {
		accounts = append(accounts, f.GitRepo.DefaultServiceAccount)
	}
	if f.HelmOp != nil {
		accounts = append(accounts, f.HelmOp.DefaultServiceAccount)
	}
	return accounts
}

// unused returns the fields that are set and have no effect: those that name Secrets, because
// credentials here belong to a URL, and allowedDownstreamResources, because nothing is copied here.
func (f fleetObject) unused() []string {
	var fields []string
	add := func(name string, isSet bool) {
		if isSet {
			fields = append(fields, fmt.Sprintf("%s %s: %s", f.Kind, f.Metadata.Name, name))
		}
	}
	add("allowedDownstreamResources", f.AllowedDownstreamResources != nil)
	add("defaultClientSecretName", f.DefaultClientSecretName != "")
	add("allowedClientSecretNames", len(f.AllowedClientSecretNames) > 0)
	if f.GitRepo != nil {
		add("gitRepo.defaultClientSecretName", f.GitRepo.DefaultClientSecretName != "")
		add("gitRepo.allowedClientSecretNames", len(f.GitRepo.AllowedClientSecretNames) > 0)
	}
	if f.HelmOp != nil {
		add("helmOp.defaultHelmSecretName", f.HelmOp.DefaultHelmSecretName != "")
		add("helmOp.allowedHelmSecretNames", len(f.HelmOp.AllowedHelmSecretNames) > 0)
	}
	return fields
}
