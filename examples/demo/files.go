package main

import "io/fs"

// walkFiles calls visit with every file.
func walkFiles(root fs.FS, visit func(name string, data []byte)) error {
	return fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		visit(name, data)
		return nil
	})
}
