package git

import (
	"errors"
	"fmt"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// maxNames is how many files and folders a commit may contain. Equal folders are one object,
	// so a few small objects can expand to more files than can be read.
	maxNames = 5_000_000
	// maxDepth is how deep folders may be nested, as in git (core.maxTreeDepth).
	maxDepth = 2048
)

var (
	errNames = fmt.Errorf("it contains more than %d files", maxNames)
	errDepth = fmt.Errorf("its folders are nested more than %d deep", maxDepth)
)

// treeStats counts the entries below a folder.
type treeStats struct {
	names   int // Files and folders.
	modules int // Submodules.
	depth   int // Levels of folders.
}

// stats counts the entries below a folder. It reads a folder once, even if the folder appears in
// several places. depth is the depth of this folder.
func (o *objects) stats(folder plumbing.Hash, depth int) (treeStats, error) {
	if found, ok := o.allStats[folder]; ok {
		if depth+found.depth > maxDepth {
			return treeStats{}, errDepth
		}
		return found, nil
	}
	if depth > maxDepth {
		return treeStats{}, errDepth
	}
	entries, err := o.decode(folder)
	if err != nil {
		return treeStats{}, err
	}
	total := treeStats{names: len(entries)}
	for _, e := range entries {
		switch {
		case !e.mode.IsDir():
		case e.hash.IsZero():
			total.modules++
		default:
			below, err := o.stats(e.hash, depth+1)
			if err != nil {
				return treeStats{}, err
			}
			total.names += below.names
			total.modules += below.modules
			total.depth = max(total.depth, below.depth+1)
		}
		if total.names > maxNames {
			return treeStats{}, errNames
		}
	}
	o.allStats[folder] = total
	return total, nil
}

var errModulesMany = errors.New("there are too many submodules")

// links returns the commits of the submodules by path. It fails if there are more than limit
// submodules.
func (o *objects) links(limit int) (map[string]plumbing.Hash, error) {
	if o.allStats[o.top].modules > limit {
		return nil, errModulesMany
	}
	links := map[string]plumbing.Hash{}
	return links, o.addLinks(links, o.top, "")
}

func (o *objects) addLinks(links map[string]plumbing.Hash, folder plumbing.Hash, at string) error {
	if o.allStats[folder].modules == 0 {
		return nil
	}
	entries, err := o.list(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := path.Join(at, e.name); {
		case !e.mode.IsDir():
		case e.hash.IsZero():
			links[name] = e.commit
		default:
			if err := o.addLinks(links, e.hash, name); err != nil {
				return err
			}
		}
	}
	return nil
}
