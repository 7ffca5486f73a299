package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is what a Markdown file links to, and what links can lead to.
type page struct {
	links   []link
	anchors map[string]bool
}

type link struct {
	line int
	to   string
}

// named matches what HTML can be linked by.
var named = regexp.MustCompile(`<[^>]*\s(?:id|name)="([^"]+)"`)

// read finds the links and the anchors of a Markdown file.
func read(source []byte) page {
	found := page{anchors: make(map[string]bool)}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table))
	line := 1
	_ = ast.Walk(markdown.Parser().Parse(text.NewReader(source)), func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		if at, ok := begin(node); ok {
			line = 1 + bytes.Count(source[:at], []byte("\n"))
		}
		switch node := node.(type) {
		case *ast.Link:
			found.links = append(found.links, link{line, string(node.Destination)})
		case *ast.Image:
			found.links = append(found.links, link{line, string(node.Destination)})
		case *ast.Heading:
			found.addHeading(plain(node, source))
		case *ast.HTMLBlock:
			found.addNames(node.Lines().Value(source))
		case *ast.RawHTML:
			found.addNames(node.Segments.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return found
}

// begin returns where the text of a node begins, if the node itself says so.
func begin(node ast.Node) (at int, ok bool) {
	if inner, isText := node.(*ast.Text); isText {
		return inner.Segment.Start, true
	}
	if first := node.FirstChild(); node.Type() == ast.TypeInline && first != nil {
		return begin(first)
	}
	if node.Type() == ast.TypeBlock && node.Lines().Len() > 0 {
		return node.Lines().At(0).Start, true
	}
	return 0, false
}

// plain returns the text of a node without markup.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			b.Write(child.Segment.Value(source))
		case *ast.String:
			b.Write(child.Value)
		default:
			b.WriteString(plain(child, source))
		}
	}
	return b.String()
}

// addHeading adds the anchor of a heading: small letters, digits, dashes and underscores. Where a
// heading repeats, a number follows. GitHub and the registries make it so.
func (p page) addHeading(title string) {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
	anchor := slug
	for i := 1; p.anchors[anchor]; i++ {
		anchor = fmt.Sprintf("%s-%d", slug, i)
	}
	p.anchors[anchor] = true
}

func (p page) addNames(html []byte) {
	for _, found := range named.FindAllSubmatch(html, -1) {
		p.anchors[string(found[1])] = true
	}
}
