package bundle

import (
	"errors"
	"path"
	"testing"
	"testing/fstest"
)

// All bundles of a source together have limits as well; the limits are smaller here.
func TestReadingFull(t *testing.T) {
	t.Parallel()

	const depth = 10
	fsys := fstest.MapFS{}
	folder := "."
	for range depth {
		folder = path.Join(folder, "n")
		fsys[path.Join(folder, "fleet.yaml")] = &fstest.MapFile{}
	}
	fsys[path.Join(folder, "a.yaml")] = &fstest.MapFile{Data: make([]byte, 1000)}
	tests := map[string]struct {
		limits limits
		read   int // How many bundles are read before a limit is exceeded.
		isSize bool
	}{
		"enough":         {limits{1000, depth * 1000, depth * depth * 2}, depth, false},
		"what is read":   {limits{999, depth * 1000, depth * depth * 2}, 0, true},
		"what is listed": {limits{1000, 5000, depth * depth * 2}, 5, true},
		"what there is":  {limits{1000, depth * 1000, depth * 4}, 2, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := newReading(fsys)
			r.limits = test.limits
			read := 0
			var err error
			for folder := "n"; read < depth && err == nil; folder = path.Join(folder, "n") {
				if _, _, err = r.readFolder(Base{Base: folder}, ReadOptions{}); err == nil {
					read++
				}
			}
			_, isSize := errors.AsType[*SizeError](err)
			if read != test.read || isSize != test.isSize || (err == nil) != (read == depth) {
				t.Errorf("%d bundles, then %v", read, err)
			}
			if (err == nil) != (r.full() == nil) {
				t.Errorf("full() = %v", r.full())
			}
		})
	}
}
