package chart

import (
	"bytes"
	"io/fs"
	"path"

	"helm.sh/helm/v3/pkg/ignore"
)

// IgnoreRules reads a .helmignore. The returned function reports whether Helm leaves out a file
// when it loads the folder of the chart (helm.sh/helm/v3/pkg/chart/loader/directory.go). name is
// the path of the file in that folder.
func IgnoreRules(content []byte) (func(name string) bool, error) {
	rules, err := ignore.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	rules.AddDefaults()
	return func(name string) bool {
		for i, char := range name {
			if char == '/' && rules.Ignore(name[:i], fileInfo{name: path.Base(name[:i]), isDir: true}) {
				return true
			}
		}
		return rules.Ignore(name, fileInfo{name: path.Base(name)})
	}, nil
}

// fileInfo has the methods that rules call.
type fileInfo struct {
	fs.FileInfo

	name  string
	isDir bool
}

func (f fileInfo) Name() string { return f.name }
func (f fileInfo) IsDir() bool  { return f.isDir }
