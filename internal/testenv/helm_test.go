package testenv

import "testing"

// Comparisons must run the linked version of Helm; else they would compare two versions of Helm.
func TestHelmVersion(t *testing.T) {
	t.Parallel()
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := helmModule(root); err != nil {
		t.Error(err)
	}
}
