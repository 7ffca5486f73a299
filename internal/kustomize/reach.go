package kustomize

import (
	"bytes"
	"fmt"
	"math"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// maxFolders is how often kustomizations are read: as often as one is named, so that
	// few of them can be read very often.
	maxFolders = 1000
	// maxBytes is how much is read, each file as often as it is named.
	maxBytes = 32 << 20
	// maxCopied is how much one JSON patch may copy, in bytes. An object in a cluster has
	// 1.5 MiB.
	maxCopied = 2 << 20
	// nodeWeight is what a value counts that an alias refers to, in bytes.
	nodeWeight = 32
)

// TooLargeError says that a kustomization reads too much.
type TooLargeError struct{ Reason string }

func (e *TooLargeError) Error() string { return e.Reason }

// reach is what kustomize reads.
type reach struct {
	folders int
	bytes   int64
}

func (r reach) plus(other reach) (reach, error) {
	r.folders += other.folders
	r.bytes += min(other.bytes, math.MaxInt32)
	switch {
	case r.folders > maxFolders:
		return r, &TooLargeError{Reason: fmt.Sprintf("more than %d kustomizations are referenced (each counts as often as it is referenced)", maxFolders)}
	case r.bytes > maxBytes:
		return r, &TooLargeError{Reason: fmt.Sprintf("more than %d MiB are read (a file counts as often as it is referenced, an alias as its content)", maxBytes>>20)}
	}
	return r, nil
}

// weight is how much content is, with each alias of YAML replaced. kustomize
// writes it out.
func weight(content []byte) int64 {
	length := int64(len(content))
	if !bytes.ContainsRune(content, '&') || !bytes.ContainsRune(content, '*') {
		return length
	}
	known := map[*yaml.Node]int64{}
	documents := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		if documents.Decode(&document) != nil {
			return length // Or it is no YAML, which kustomize says if it should be.
		}
		length += nodes(&document, known) * nodeWeight
		if length > maxBytes {
			return length
		}
	}
}

// nodes counts the values of a document. A value that contains itself has very many.
func nodes(of *yaml.Node, known map[*yaml.Node]int64) int64 {
	const many = int64(maxBytes)
	if of.Kind == yaml.AliasNode {
		of = of.Alias
	}
	if count, ok := known[of]; ok {
		return count
	}
	known[of] = many
	count := int64(1)
	for _, below := range of.Content {
		count = min(many, count+nodes(below, known))
	}
	known[of] = count
	return count
}
