package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
)

const (
	// valuesType is the type of a Secret with the values of a Bundle of the same name
	// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1, SecretTypeBundleValues).
	valuesType = "fleet.cattle.io/bundle-values/v1alpha1"
	// saltKey is a key of that Secret that Fleet does not know. Its random value keeps anybody
	// who may read Bundles from trying values against the hash in them. No cluster has this name.
	saltKey = "_salt"
)

// hashOf is the hash by which Fleet finds that a Secret and a Bundle belong together
// (Fleet: pkg/helmvalues/hash.go, HashValuesSecret).
func hashOf(data map[string][]byte) string {
	text, _ := json.Marshal(data) // Bytes cannot fail.
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// secretValues are the contents of the values Secret, nil if no cluster needs one. before is what the
// Secret has now. kept reports the clusters whose values stay as they are: a plan has not
// shown that they change. salt is used if before has none.
func secretValues(entries map[string]entry, before map[string][]byte, kept func(cluster string) bool, salt []byte) (map[string][]byte, error) {
	data := map[string][]byte{}
	for cluster, of := range entries {
		if known, ok := before[cluster]; ok && kept(cluster) && of.digest != goneDigest {
			data[cluster] = known
			continue
		}
		if of.values == nil {
			continue
		}
		text, err := json.Marshal(of.values)
		if err != nil {
			return nil, fmt.Errorf("writing the values of cluster %s as JSON: %w", cluster, err)
		}
		data[cluster] = text
	}
	if len(data) == 0 {
		return nil, nil
	}
	data[saltKey] = salt
	if known := before[saltKey]; len(known) > 0 {
		data[saltKey] = known
	}
	return data, nil
}

// equalData reports whether two Secrets have the same contents.
func equalData(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) })
}

// valuesHash is the hash by which an agent finds that its values and the BundleDeployment belong
// together, "" if there are none (Fleet: pkg/helmvalues/hash.go, HashOptions). Staged values are
// those of the agent when it is given them.
func (e entry) valuesHash() string {
	values := e.values
	if values == nil {
		values = child(child(e.options, "helm"), "values")
	}
	if len(values) == 0 {
		return ""
	}
	text, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	sum := sha256.New()
	sum.Write(text)
	sum.Write(text)
	return hex.EncodeToString(sum.Sum(nil))
}
