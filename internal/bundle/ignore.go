package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ignoreFile leaves files out of a bundle. It may be in any folder and applies below that folder.
const ignoreFile = ".fleetignore"

// rule is one line of a .fleetignore: a pattern for the base name of files and folders at any
// depth. With inFolder, the line is "name/*", and pattern is the name of folders to leave out.
type rule struct {
	pattern  string
	inFolder bool
}

func (r rule) matches(name string, isDir bool) bool {
	if r.inFolder {
		return isDir && name == r.pattern
	}
	matched, _ := path.Match(r.pattern, name) // parseRules has checked the pattern.
	return matched
}

// withRules adds the rules in the .fleetignore of a folder, if there is one, to the rules of the
// folders above.
func (f *folder) withRules(rules []rule, dir string, entries []fs.DirEntry) ([]rule, error) {
	if !slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == ignoreFile }) {
		return rules, nil
	}
	file := path.Join(dir, ignoreFile)
	data, err := f.read(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	own, err := parseRules(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	if len(rules)+len(own) > maxRules {
		return nil, fmt.Errorf("%s: %w", file, &CountError{What: "lines of .fleetignore files in one folder", Limit: maxRules})
	}
	return slices.Concat(rules, own), nil
}

// parseRules follows Fleet's internal/bundlereader/loaddirectory.go: there is no
// "!" and no "**", "#" begins a comment, blanks at the end count only after a
// backslash.
func parseRules(data []byte) ([]rule, error) {
	var rules []rule
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		pattern := trimBlanks(strings.TrimRight(line, "\r\n"))
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		if folder, ok := strings.CutSuffix(pattern, "/*"); ok && folder != "" {
			rules = append(rules, rule{pattern: folder, inFolder: true})
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%d: pattern %q: %w", number, pattern, err)
		}
		rules = append(rules, rule{pattern: pattern})
	}
	return rules, nil
}

func trimBlanks(line string) string {
	trimmed := strings.TrimRight(line, " ")
	if trimmed != line && strings.HasSuffix(trimmed, `\`) {
		return trimmed + " "
	}
	return trimmed
}
