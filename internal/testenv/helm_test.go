package testenv

import "testing"

// A comparison with another Helm than the one that is linked would compare Helm with Helm.
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
