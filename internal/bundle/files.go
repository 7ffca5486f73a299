package bundle

import "io/fs"

// Files are the files of a folder as a bundle has them, sorted by name: hidden
// and ignored ones do not count, and links are followed inside of it.
//
// Errors: *LinkError, *SizeError, *CountError and what fsys returns.
func Files(fsys fs.FS) ([]File, error) {
	f, err := newReading(fsys).folder(".")
	if err != nil {
		return nil, err
	}
	return f.list()
}
