package bundle

import "io/fs"

// Files are the files of a folder as a bundle has them, sorted by name: hidden
// and ignored ones do not count, and links are followed inside of it.
func Files(fsys fs.FS) ([]File, error) {
	f := &folder{fsys: fsys}
	return f.list()
}
