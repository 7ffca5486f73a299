package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// writeReport writes the page and its plot from the last results, and returns the page. Sections of
// the page without new results stay.
func writeReport(path string) (string, error) {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the page: %w", err)
	}
	var contest contestResult
	hasContest, err := load(contestRaw, &contest)
	if err != nil {
		return "", err
	}
	var scale scaleResult
	hasScale, err := load(scaleRaw, &scale)
	if err != nil {
		return "", err
	}
	var engine engineResult
	hasEngine, err := load(engineRaw, &engine)
	if err != nil {
		return "", err
	}
	sections := map[string]string{}
	for _, name := range []string{"requirements", "contest", "scale", "engine"} {
		sections[name] = section(string(old), name)
	}
	if hasContest {
		if sections["contest"], err = contestSection(contest); err != nil {
			return "", err
		}
		plot, err := plotOf(contest)
		if err != nil {
			return "", err
		}
		if err := writeFiles(filepath.Dir(path), map[string]string{plotName(path): plot}); err != nil {
			return "", err
		}
	}
	if hasScale {
		if sections["scale"], err = scaleSection(scale); err != nil {
			return "", err
		}
	}
	if hasEngine {
		if sections["engine"], err = engineSection(engine); err != nil {
			return "", err
		}
	}
	if hasContest || hasScale || hasEngine {
		rows, err := requirementsSection(contest, scale, engine)
		if err != nil {
			return "", err
		}
		sections["requirements"] = keepRows(rows, sections["requirements"])
	}
	text, err := pageOf(sections, plotName(path))
	if err != nil {
		return "", err
	}
	return text, writeFiles(filepath.Dir(path), map[string]string{filepath.Base(path): text})
}

// keepRows keeps the rows of the old table for which nothing was measured this time.
func keepRows(text, old string) string {
	before := map[string]string{}
	for row := range strings.Lines(old + "\n") {
		before[firstCell(row)] = row
	}
	var kept strings.Builder
	for row := range strings.Lines(text) {
		if was, there := before[firstCell(row)]; there && strings.Contains(row, notMeasured) {
			row = was
		}
		kept.WriteString(row)
	}
	return kept.String()
}

// firstCell returns the first cell of a row, "" outside of tables.
func firstCell(row string) string {
	_, rest, found := strings.Cut(row, "| ")
	if !found {
		return ""
	}
	cell, _, _ := strings.Cut(rest, " |")
	return cell
}

// pageOf returns the page with the sections by their names.
func pageOf(sections map[string]string, plot string) (string, error) {
	return fill("page.md.tmpl", map[string]any{"Sections": sections, "Plot": plot})
}

// plotName returns the file name of the plot beside the page.
func plotName(page string) string {
	return strings.TrimSuffix(filepath.Base(page), filepath.Ext(page)) + ".svg"
}

// section returns the text between the markers of a name on a page.
func section(page, name string) string {
	_, rest, found := strings.Cut(page, marker(name, "begin"))
	if !found {
		return ""
	}
	inside, _, found := strings.Cut(rest, marker(name, "end"))
	if !found {
		return ""
	}
	return strings.Trim(inside, "\n")
}

func marker(name, edge string) string { return fmt.Sprintf("<!-- %s: %s -->", name, edge) }

// fill fills a template.
func fill(name string, data any) (string, error) {
	parsed, err := template.New(name).Funcs(template.FuncMap{"marker": marker}).ParseFS(templates, "templates/"+name)
	if err != nil {
		return "", fmt.Errorf("reading the template %s: %w", name, err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, data); err != nil {
		return "", fmt.Errorf("filling the template %s: %w", name, err)
	}
	return text.String(), nil
}

// title returns the name of a contender on the page.
func title(contender string) string {
	switch contender {
	case "fleet":
		return "this provider"
	case "fleet-default":
		return "this provider, no probes"
	case "helm":
		return "Helm's CLI"
	case "helm-provider":
		return "terraform-provider-helm"
	case "floor-ready":
		return "floor, seen ready"
	}
	return contender
}

// stepTitle returns the name of a step on the page.
func stepTitle(s step) string {
	switch s {
	case change:
		return "change one value everywhere"
	case nothing:
		return "nothing changed"
	case remove:
		return "one target removed"
	case install, restore, destroy:
	}
	return string(s)
}

// A table is a Markdown table.
type table struct {
	head []string
	rows [][]string
}

func (t table) String() string {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return text.String()
}

// titles returns the head of a table with contenders.
func titles(first string, contenders []string) []string {
	head := []string{first}
	for _, name := range contenders {
		head = append(head, title(name))
	}
	return head
}

// networkTitle returns the name of a cell's network on the page.
func networkTitle(in cell) string {
	name := "loopback"
	if in.Network != name {
		name = strings.Replace(in.Network, "ms", " ms", 1) + " of latency"
	}
	return name + waiting(in.Wait)
}
