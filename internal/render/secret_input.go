package render

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// The author of a template can change a secret so that no masker finds it, for example by printing
// it in hexadecimal. So if templates had secret input, nothing that they make is printed: no text of
// an error, and no name of an object that is not written in a template or a file.

const notShown = "the text of the error is not shown, because the templates had secret values"

// hide returns the error of a deployment whose templates had secret input.
func hide(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return mask.WithText(err, PublicText(err))
}

// PublicText describes an error by what no template has made: the bundle, the file, the function.
func PublicText(err error) string {
	var described interface{ PublicText() string }
	if errors.As(err, &described) {
		return described.PublicText()
	}
	var text strings.Builder
	if in, ok := errors.AsType[*ManifestError](err); ok {
		text.WriteString("bundle " + in.Bundle + ": ")
	}
	if at, ok := errors.AsType[*PlaceError](err); ok {
		file, _, _ := strings.Cut(at.Place, " (document ")
		text.WriteString(file + ": ")
	}
	if reason := reasonOf(err); reason != "" {
		text.WriteString(reason + "; ")
	}
	return text.String() + notShown
}

// reasonOf describes the kind of an error, "" for an unknown one.
func reasonOf(err error) string {
	if twice, ok := errors.AsType[*DuplicateObjectError](err); ok {
		return "an object is defined twice, in " + twice.Places[0] + " and in " + twice.Places[1]
	}
	if incomplete, ok := errors.AsType[*manifest.IncompleteError](err); ok {
		return "a document has no " + incomplete.Missing
	}
	for reason, is := range map[string]func(error) bool{
		"a document can be read in different ways":                                      isError[*manifest.AmbiguousError],
		"a value has a type that its kind does not have":                                isError[*manifest.WrongTypeError],
		"a label or an annotation is not text":                                          isError[*manifest.NotStringError],
		"an object is a release record of Helm":                                         isError[*manifest.ForbiddenRecordError],
		"an object has no namespace, and the bundle is restricted to one":               isError[*ClusterScopedError],
		"an object below crds/ is no definition, and the bundle is restricted to one":   isError[*NotADefinitionError],
		"the values are not valid for the schema of the chart, which can repeat values": isError[*SchemaError],
	} {
		if is(err) {
			return reason
		}
	}
	return ""
}

func isError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// lookupWatch notes whether templates look up an object. An object of any kind can contain a secret:
// another bundle can have put it there.
type lookupWatch struct {
	lookup Lookup
	// release is the release whose templates run, as namespace/name.
	release string
	// found is true if an object was found, and foreign if one does not belong to the release.
	found, foreign atomic.Bool
}

func (l *lookupWatch) look(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error) {
	found, err := l.lookup(ctx, apiVersion, kind, namespace, name)
	if len(found) > 0 {
		l.found.Store(true)
		owned := map[string]string{}
		if metadata, ok := found["metadata"].(map[string]any); ok {
			annotations, _ := metadata["annotations"].(map[string]any)
			for _, key := range []string{wellknown.ReleaseNamespace, wellknown.ReleaseName} {
				owned[key], _ = annotations[key].(string)
			}
		}
		if owned[wellknown.ReleaseNamespace]+"/"+owned[wellknown.ReleaseName] != l.release {
			l.foreign.Store(true)
		}
	}
	return found, err
}

// hiddenNames returns the kinds, namespaces and names of objects that are not written in a template
// or a file of the bundle, and that are not those of the release. A name may also have two parts that
// are written there: charts put the name of the release before another, and kustomizations a prefix.
func (n nameSources) hiddenNames(objects []diff.Object) []string {
	var hidden []string
	for _, object := range objects {
		for _, name := range []string{object.Kind, object.Group, object.Namespace, object.Name} {
			if !n.have(name) {
				hidden = append(hidden, name)
			}
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

// withoutHiddenNames returns a rendering without objects, if one of their names must not be printed.
func (c *Charts) withoutHiddenNames(d target.Deployment, rendering release.Rendering) release.Rendering {
	if len(c.nameSources(d, rendering.Chart).hiddenNames(slices.Concat(rendering.Objects, objectsOf(rendering.Documents)))) == 0 {
		return rendering
	}
	return release.Rendering{
		Chart: rendering.Chart, Version: rendering.Version, CRDs: rendering.CRDs,
		NamesVary: true, RenderEach: true, HidesContent: true, HidesNames: true,
		Irreproducible: "the names of its objects are not written in its files, and can contain secret values",
	}
}

func objectsOf(documents []diff.Document) []diff.Object {
	objects := make([]diff.Object, len(documents))
	for i, document := range documents {
		objects[i] = document.Object
	}
	return objects
}

// hiddenTexts returns hiddenNames, and all other texts and numbers in objects that are not made of the
// words in files. An API server or a policy can quote them.
func (n nameSources) hiddenTexts(documents []diff.Document) []string {
	hidden := n.hiddenNames(objectsOf(documents))
	for _, document := range documents {
		var content any
		decoder := json.NewDecoder(strings.NewReader(document.Content))
		decoder.UseNumber()
		if decoder.Decode(&content) == nil {
			hidden = n.addHidden(hidden, content)
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

// addHidden adds the texts in a JSON value that are not public.
func (n nameSources) addHidden(to []string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			to = n.addHidden(n.addHidden(to, key), item)
		}
	case []any:
		for _, item := range value {
			to = n.addHidden(to, item)
		}
	case json.Number:
		return n.addHidden(to, value.String())
	case string:
		for word := range strings.FieldsFuncSeq(value, isBetweenWords) { // Such as docker.io/library/nginx:1.29.
			if !n.have(word) && !n.words[strings.Trim(word, inWords)] {
				return append(to, value)
			}
		}
	}
	return to
}

func (c *Charts) nameSources(d target.Deployment, chart string) nameSources {
	return nameSources{
		words: c.wordsOf(d), writeOnly: writeOnlyNames(d),
		first: []string{d.Release + "-" + chart, d.Release + "-" + d.Bundle.Name, d.Release, d.Namespace, chart, d.Bundle.Name},
	}
}

// nameSources are what names can be made of in public.
type nameSources struct {
	words map[string]bool
	// writeOnly are those of the objects in write-only files.
	writeOnly []string
	// first are the names that another word can follow.
	first []string
}

// maxName is the longest name of an object. A template can make longer texts.
const maxName = 253

func (n nameSources) have(name string) bool {
	if name == "" || n.words[name] || slices.Contains(n.writeOnly, name) {
		return true
	}
	if len(name) > maxName {
		return false
	}
	if first, rest, ok := strings.Cut(name, ":"); ok { // As RBAC names roles.
		return n.have(first) && n.have(rest)
	}
	for _, first := range n.first {
		if rest, ok := strings.CutPrefix(name, first); ok && (rest == "" || rest[0] == '-' && (n.words[rest] || n.words[rest[1:]])) {
			return true
		}
	}
	for i, char := range name { // The prefix of a kustomization.
		if char == '-' && n.words[name[:i+1]] && n.words[name[i+1:]] {
			return true
		}
	}
	return false
}

// writeOnlyNames returns the parts of the identities of objects in write-only files.
func writeOnlyNames(d target.Deployment) []string {
	if d.WriteOnly == nil {
		return nil
	}
	var names []string
	for _, file := range d.WriteOnly.Content.Reveal().Files {
		objects, err := manifest.Parse(file.Content)
		if err != nil {
			continue // A template, or an error of the deployment.
		}
		for _, object := range manifest.Flatten(objects) {
			kind := object.GroupVersionKind()
			names = append(names, kind.Kind, kind.Group, object.GetNamespace(), object.GetName())
		}
	}
	return names
}

// wordsOf returns the words in the files of a bundle, as they are in its repository: encrypted files
// are encrypted. Bundles with equal content share them.
func (c *Charts) wordsOf(d target.Deployment) map[string]bool {
	if known, ok := c.words.Load(d.Bundle.Content); ok && d.Bundle.Content != "" {
		words, _ := known.(map[string]bool)
		return words
	}
	words := map[string]bool{}
	for _, file := range d.Bundle.Files {
		addWords(words, string(file.Content))
	}
	if definition, err := d.Bundle.DefinitionJSON(); err == nil {
		addWords(words, definition)
	}
	c.words.Store(d.Bundle.Content, words)
	return words
}

// addWords adds the words that a name can have. A dash before a word belongs to it, and does not.
func addWords(to map[string]bool, text string) {
	for word := range strings.FieldsFuncSeq(text, isBetweenWords) {
		to[word], to[strings.Trim(word, inWords)] = true, true
	}
}

// inWords are the characters in words that are no letters and no digits.
const inWords = "-."

func isBetweenWords(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(inWords, r)
}
