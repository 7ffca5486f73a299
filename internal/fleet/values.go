package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

const (
	// valuesType is the type of a Secret with the values of a Bundle of the same name
	// (Fleet: pkg/apis/fleet.cattle.io/v1alpha1, SecretTypeBundleValues).
	valuesType = "fleet.cattle.io/bundle-values/v1alpha1"
	// saltKey is a key of that Secret that Fleet does not use. With its random value, a user who
	// can read Bundles cannot test guessed values against the hash in them.
	saltKey = "_salt"
)

// hashOf returns the hash by which Fleet matches a Secret to a Bundle (Fleet:
// pkg/helmvalues/hash.go, HashValuesSecret).
func hashOf(data map[string][]byte) string {
	text, _ := json.Marshal(data) // Marshalling bytes cannot fail.
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// rootKey is the key of the values that all clusters have in common in that Secret. Fleet merges
// the values of a cluster into them (Fleet: pkg/helmvalues/set.go).
const rootKey = "values.yaml"

// targetName returns the name that the target of a cluster has in a Bundle. It is also the key of the
// cluster's values in that Secret. Any cluster name is possible, such as rootKey, and no name with
// this prefix is one of the other keys.
func targetName(cluster string) string { return "cluster." + cluster }

// secretValues returns the contents of the values Secret, nil if no cluster needs one. before is
// the present content of the Secret. kept reports whether the values of a cluster stay as they are:
// no plan has shown that they change. salt is used if before has none.
func secretValues(
	entries map[string]entry, before map[string][]byte, kept func(cluster string) bool, salt []byte,
) (map[string][]byte, error) {
	hidden, deployed := map[string]map[string]any{}, 0
	for cluster, of := range entries {
		if of.digest == emptyDigest {
			continue
		}
		deployed++
		if known, ok := before[targetName(cluster)]; ok && kept(cluster) {
			if values, err := storedValues(before[rootKey], known); err == nil {
				hidden[cluster] = values
				continue
			}
		}
		if of.values != nil {
			hidden[cluster] = of.values
		}
	}
	if len(hidden) == 0 {
		return nil, nil
	}
	data, err := valuesData(hidden, len(hidden) == deployed)
	if err != nil {
		return nil, err
	}
	data[saltKey] = salt
	if known := before[saltKey]; len(known) > 0 {
		data[saltKey] = known
	}
	return data, nil
}

// storedValues returns the values of one cluster in a Secret. No value is in both parts.
func storedValues(root, own []byte) (map[string]any, error) {
	values := map[string]any{}
	for _, text := range [][]byte{root, own} {
		if len(text) == 0 {
			continue
		}
		if err := json.Unmarshal(text, &values); err != nil {
			return nil, fmt.Errorf("reading stored values: %w", err)
		}
	}
	return values, nil
}

// valuesData writes the values of clusters. If factors is true, values that are equal on all
// clusters are stored once: a Secret has limits, too.
func valuesData(hidden map[string]map[string]any, factors bool) (map[string][]byte, error) {
	clusters := slices.Sorted(maps.Keys(hidden))
	all := make([]map[string]any, len(clusters))
	for i, cluster := range clusters {
		all[i] = hidden[cluster]
	}
	root, own := map[string]any{}, all
	if factors && len(clusters) > 1 {
		root, own = factor(all)
	}
	data := make(map[string][]byte, len(clusters)+2) // the root and the salt
	write := func(key string, values map[string]any) error {
		text, err := json.Marshal(values)
		if err != nil {
			return fmt.Errorf("writing the values of %s as JSON: %w", key, err)
		}
		data[key] = text
		return nil
	}
	for i, cluster := range clusters {
		if err := write(targetName(cluster), own[i]); err != nil {
			return nil, err
		}
	}
	if len(root) == 0 {
		return data, nil
	}
	return data, write(rootKey, root)
}

// checkValuesSize returns an error if an API server would not store the values Secret.
func checkValuesSize(bundle string, data map[string][]byte) error {
	size := 0
	for key, text := range data {
		size += len(key) + len(text)
	}
	return checkLimit(bundle, "the values of all clusters", "the Secret of a Bundle", size, maxSecret)
}

// valuesHash returns the hash by which an agent matches its values to the BundleDeployment, "" if
// there are none (Fleet: pkg/helmvalues/hash.go, HashOptions). The values count twice: when the
// agent is given them, they equal the staged values.
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
