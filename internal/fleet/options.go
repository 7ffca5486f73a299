package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// labelReference begins a value that Fleet replaces by a label of the cluster, even if
// pre-processing is off (Fleet: internal/cmd/controller/target/target.go).
const labelReference = "global.fleet.clusterLabels."

// Check returns the reasons why a real Fleet cannot carry out a deployment. The errors are
// joined.
func Check(d target.Deployment) error {
	const bundles, targets = "fleet_bundle", "fleet_cluster_target"
	var errs []error
	// option is what the user has written, and attribute its row in the table.
	refuse := func(is bool, option, of, attribute string) {
		if is {
			errs = append(errs, fmt.Errorf("%s is not supported with an engine: %s", option, strings.TrimSuffix(Refusal(of, attribute), ".")))
		}
	}
	helm := d.HelmOptions()
	refuse(helm.CRDs != "", "helm.crds or crds = "+helm.CRDs, bundles, "helm.crds")
	refuse(!d.Options.CreatesNamespace(), "createNamespace: false", bundles, "create_namespace")
	refuse(d.HasWriteOnlyFiles(), target.FilesAttribute, targets, target.FilesAttribute)
	refuse(d.Bundle.HasDecryptedFiles(), "a manifest encrypted by sops", bundles, "directory")
	if directory, found := d.Bundle.ChartDirectory(d.Options.Helm); found {
		refuse(path.Ext(directory) == ".tgz", "a packed chart in the bundle ("+directory+")", bundles, "helm.chart")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Bundle.Definition.Labels)) {
		refuse(strings.Contains(name, wellknown.RancherDomain) || strings.HasPrefix(name, labelPrefix), "the label "+name, bundles, "labels")
	}
	refersToLabel := false
	fleetyaml.EachText(d.PlainValues(), func(text string) { refersToLabel = refersToLabel || strings.HasPrefix(text, labelReference) })
	refuse(refersToLabel, "a value that begins with "+labelReference, bundles, "helm.values")
	return errors.Join(errs...)
}

// newEntry translates a deployment. Everything is resolved, so that Fleet finds nothing to merge or
// to template when a label of the cluster changes.
func newEntry(d target.Deployment) (entry, error) {
	options, helm := d.Options, d.HelmOptions()
	helm.ReleaseName = d.Release
	helm.Values = d.PlainValues()
	helm.DisablePreProcess = true
	// helm.Values already has the values of the other sources, and the charts are among the files.
	helm.ValuesFiles = nil
	helm.TemplateValues = nil
	helm.DisableDependencyUpdate = false
	// With a timeout, an agent repeats a failed operation without end.
	helm.TimeoutSeconds = 0
	options.Helm = &helm
	options.CreateNamespace = nil
	options.DefaultNamespace = d.Namespace
	options.CorrectDrift = correctsDrift(options.CorrectDrift)
	translated, err := asJSON(options)
	if err != nil {
		return entry{}, fmt.Errorf("translating the options of %s: %w", d.Key(), err)
	}
	made := entry{options: translated, digest: d.Digest}
	if hidesValues(d) {
		made.values = child(child(translated, "helm"), "values")
		delete(child(translated, "helm"), "values")
	}
	return made, nil
}

// hidesValues reports whether the values of a deployment must not be in a Bundle. Terraform does
// not report which values of a configuration are sensitive, so all texts in it count.
func hidesValues(d target.Deployment) bool {
	return len(d.Bundle.HCL.Texts) > 0 || d.HasSecretValues()
}

// correctsDrift returns correctDrift with the default of this provider, which is to correct drift.
func correctsDrift(given *fleetyaml.CorrectDrift) *fleetyaml.CorrectDrift {
	if given.Off() {
		return nil
	}
	corrects, enabled := fleetyaml.CorrectDrift{}, true
	if given != nil {
		corrects = *given
	}
	corrects.Enabled = &enabled
	return &corrects
}

// emptyDigest is the digest of a deployment that is being removed.
const emptyDigest = "gone"

// gone returns an entry that deploys the empty chart in folder. The options of the release itself
// stay.
func (e entry) gone(folder string, isKustomized bool) entry {
	options := maps.Clone(e.options)
	for _, key := range []string{"yaml", "kustomize", "downstreamResources", "diff", "ignore"} {
		delete(options, key)
	}
	helm := map[string]any{"chart": "./" + folder, "disablePreProcess": true}
	for _, key := range []string{"releaseName", "force", "takeOwnership", "maxHistory"} {
		if value, ok := child(e.options, "helm")[key]; ok {
			helm[key] = value
		}
	}
	options["helm"] = helm
	if isKustomized {
		options["kustomize"] = map[string]any{"dir": folder}
	}
	return entry{options: options, digest: emptyDigest}
}

// keepsResources reports whether the objects of an entry stay when it is removed.
func (e entry) keepsResources() bool { is, _ := e.options["keepResources"].(bool); return is }

// Digest returns a digest of a deployment and of its other settings in a Bundle, such as how live
// objects are compared, dependencies and the rollout strategy. Without these settings in the
// digest, a change of them alone would not be written.
func Digest(d target.Deployment) string {
	definition := d.Bundle.Definition
	text, err := json.Marshal(map[string]any{
		"diff": d.Options.Diff, "ignore": d.Options.Ignore, "correctDrift": correctsDrift(d.Options.CorrectDrift),
		"dependsOn": definition.DependsOn, "rolloutStrategy": definition.RolloutStrategy, "labels": definition.Labels,
	})
	if err != nil {
		return d.Digest // Marshalling these types cannot fail.
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "engine v1 %s\n", d.Digest)
	sum.Write(text)
	return "v1-" + hex.EncodeToString(sum.Sum(nil))[:32]
}

// CheckBundles returns the errors of bundles that cannot be written as Bundles of Fleet, by
// deployment.
func CheckBundles(owner string, deployments []target.Deployment) map[deploy.Key]error {
	of := map[string][]target.Deployment{}
	for _, d := range deployments {
		of[d.Bundle.Name] = append(of[d.Bundle.Name], d)
	}
	broken := map[deploy.Key]error{}
	for name, all := range of {
		if err := checkBundle(owner, name, all); err != nil {
			for _, d := range all {
				broken[deploy.KeyOf(d)] = err
			}
		}
	}
	return broken
}

func checkBundle(owner, name string, all []target.Deployment) error {
	made := content{specification: newSpecification(all[0].Bundle, owner), entries: map[string]entry{}}
	for _, d := range all {
		translated, err := newEntry(d)
		if err != nil {
			return err
		}
		made.entries[d.Cluster] = translated
	}
	values, err := secretValues(made.entries, nil, func(string) bool { return false }, []byte(rand.Text()))
	if err != nil {
		return err
	}
	spec, err := made.compose()
	if err != nil {
		return err
	}
	return errors.Join(checkSize(name, spec, deploymentsText(made.entries)), checkValuesSize(name, values))
}
