package bundle

import "io/fs"

// Files returns the files of a folder as in a bundle, sorted by name: without hidden and ignored
// files, and with links followed inside the folder.
//
// Errors: *LinkError, *SizeError, *CountError and the errors of fsys.
func Files(fsys fs.FS) ([]File, error) {
	f, err := newReading(fsys).folder(".")
	if err != nil {
		return nil, err
	}
	return f.list()
}
