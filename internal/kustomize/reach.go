package kustomize

import (
	"bytes"
	"fmt"
	"math"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	// maxFolders is how many kustomizations may be read. Each counts as often as it is referenced,
	// because a few of them can be read very often.
	maxFolders = 1000
	// maxBytes is how much may be read. Each file counts as often as it is referenced.
	maxBytes = 32 << 20
	// maxCopied is how much one JSON patch may copy, in bytes. An object in a cluster has at most
	// 1.5 MiB.
	maxCopied = 2 << 20
	// nodeWeight is how many bytes are counted for each value that an alias refers to.
	nodeWeight = 32
)

// reach is how much kustomize reads.
type reach struct {
	folders int
	bytes   int64
}

func (r reach) plus(other reach) (reach, error) {
	r.folders += other.folders
	r.bytes += min(other.bytes, math.MaxInt32)
	switch {
	case r.folders > maxFolders:
		return r, fmt.Errorf("more than %d kustomizations are referenced (each counts as often as it is referenced)", maxFolders)
	case r.bytes > maxBytes:
		return r, fmt.Errorf("more than %d MiB are read (a file counts as often as it is referenced, an alias as its content)", maxBytes>>20)
	}
	return r, nil
}

// plusResult is plus for what a call returns.
func (r reach) plusResult(other reach, err error) (reach, error) {
	if err != nil {
		return r, err
	}
	return r.plus(other)
}

// weight returns the size of content with each YAML alias expanded, because kustomize expands
// aliases.
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
			return length // Or content is not YAML; kustomize reports that where it needs YAML.
		}
		length += nodes(&document, known) * nodeWeight
		if length > maxBytes {
			return length
		}
	}
}

// nodes counts the values of a document. A value that contains itself counts as very many.
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
