package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImportScope(t *testing.T) {
	t.Parallel()
	isNew := func(cluster string) bool { return cluster == "new" }
	tests := map[string]struct {
		scope ImportScope
		want  []string
	}{
		"all known":  {scope: ImportScope{Clusters: []string{"a"}, ConnectionUnknown: isNew}},
		"connection": {scope: ImportScope{Clusters: []string{"a", "new"}, ConnectionUnknown: isNew}, want: []string{"the connection of cluster new"}},
		"engine":     {scope: ImportScope{EngineUnknown: true}, want: []string{"the provider's engine"}},
		"nothing":    {scope: ImportScope{OwnerUnknown: true, ClustersUnknown: true, ConnectionUnknown: isNew}, want: []string{"the provider's owner", "the provider's clusters"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.scope.Unknown()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
