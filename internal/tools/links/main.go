// Command links checks that the relative links of Markdown files lead to files that exist, and their
// anchors to headings. It needs no network, so it checks no other links.
//
//	links DIR NAME...
//
// The names are files and folders below DIR. A template counts as the page that is generated from it:
// a link of templates/guides/a.md.tmpl is followed from docs/guides/a.md.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: links DIR NAME...")
		os.Exit(2)
	}
	problems, err := check(os.DirFS(os.Args[1]), os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// check returns a line for each link that leads nowhere.
func check(files fs.FS, names []string) ([]string, error) {
	pages, err := markdown(files, names)
	if err != nil {
		return nil, err
	}
	c := checker{files: files, pages: make(map[string]page)}
	var problems []string
	for _, name := range pages {
		source, err := c.page(name)
		if err != nil {
			return nil, err
		}
		for _, l := range source.links {
			problem, err := c.problem(name, l.to)
			if err != nil {
				return nil, fmt.Errorf("following %s of %s: %w", l.to, name, err)
			}
			if problem != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: %s: %s", name, l.line, l.to, problem))
			}
		}
	}
	return problems, nil
}

// markdown returns the Markdown files, and templates of such files, among the names and in the folders
// among them.
func markdown(files fs.FS, names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		err := fs.WalkDir(files, name, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && path.Ext(strings.TrimSuffix(file, template)) == ".md" {
				found = append(found, file)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("looking for Markdown in %s: %w", name, err)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// checker follows links between files.
type checker struct {
	files fs.FS
	// pages are the files that were read, by name.
	pages map[string]page
}

func (c checker) page(name string) (page, error) {
	if known, ok := c.pages[name]; ok {
		return known, nil
	}
	text, err := fs.ReadFile(c.files, name)
	if err != nil {
		return page{}, err
	}
	c.pages[name] = read(text)
	return c.pages[name], nil
}

// problem returns why a link of a file leads nowhere, "" if it does not or is not relative.
func (c checker) problem(file, link string) (string, error) {
	address, err := url.Parse(link)
	if err != nil {
		return "is no address", nil //nolint:nilerr // A wrong link is what the program looks for.
	}
	if address.Scheme != "" || address.Host != "" {
		return "", nil
	}
	target := published(file)
	if address.Path != "" {
		target = path.Join(path.Dir(target), address.Path)
	}
	if !fs.ValidPath(target) {
		return "leads out of the repository", nil
	}
	if _, err := fs.Stat(c.files, target); errors.Is(err, fs.ErrNotExist) {
		return target + " does not exist", nil
	} else if err != nil {
		return "", err
	}
	if address.Fragment == "" || path.Ext(target) != ".md" {
		return "", nil
	}
	to, err := c.page(target)
	if err != nil {
		return "", err
	}
	if !to.anchors[address.Fragment] {
		return target + " has no such anchor", nil
	}
	return "", nil
}

// template is the end of the name of a template.
const template = ".tmpl"

// published returns the name of the file that is generated from a template, and any other name as it is.
func published(name string) string {
	if page, ok := strings.CutPrefix(strings.TrimSuffix(name, template), "templates/"); ok {
		return "docs/" + page
	}
	return name
}
