package git

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// basesSize is how many bytes of base objects are kept in memory for further deltas.
	basesSize = 8 << 20
	// heldSize is how many bytes of objects may be in memory while deltas are applied. Further
	// objects are stored on disk.
	heldSize = 16 << 20
)

// pack is a pack file on disk with its index in memory (gitformat-pack(5)). It
// is safe for concurrent use. go-git's own reader inflates every object into
// memory, however large, when it makes the index.
type pack struct {
	file    store
	dir     string
	limit   int64    // Bytes, of an object.
	entries []packed // In the order of the file.
	byHash  map[plumbing.Hash]int
	bases   *cache.BufferLRU // By offset.
	// scanners are kept because each has large buffers.
	scanners sync.Pool
}

// packed is one object of a pack.
type packed struct {
	hash   plumbing.Hash
	offset int64
	size   int64 // Of the object itself, not of its delta.
	base   int   // The entry that this delta applies to, or noBase.
	kind   plumbing.ObjectType
}

const noBase = -1

// size returns how many bytes an object has.
func (p *pack) size(object plumbing.Hash) (int64, error) {
	i, ok := p.byHash[object]
	if !ok {
		return 0, plumbing.ErrObjectNotFound
	}
	return p.entries[i].size, nil
}

// object reads a whole object, in the form that go-git decodes.
func (p *pack) object(hash plumbing.Hash) (plumbing.EncodedObject, error) {
	i, ok := p.byHash[hash]
	if !ok {
		return nil, plumbing.ErrObjectNotFound
	}
	content, err := p.read(hash)
	if err != nil {
		return nil, err
	}
	object := &plumbing.MemoryObject{}
	object.SetType(p.entries[i].kind)
	if _, err := object.Write(content); err != nil {
		return nil, err
	}
	return object, nil
}

// read reads a whole object.
func (p *pack) read(hash plumbing.Hash) (content []byte, err error) {
	i, ok := p.byHash[hash]
	if !ok {
		return nil, plumbing.ErrObjectNotFound
	}
	// The deltas from the object down to a base that is stored whole or cached.
	var chain []int
	for p.entries[i].base != noBase {
		if _, ok := p.bases.Get(p.entries[i].offset); ok {
			break
		}
		chain = append(chain, i)
		i = p.entries[i].base
	}
	held := &spillBuffer{dir: p.dir, available: heldSize, disk: 2 * p.limit}
	made, err := p.hold(held, i)
	for len(chain) > 0 && err == nil {
		i, chain = chain[len(chain)-1], chain[:len(chain)-1]
		var next *spilledObject
		next, err = p.differ(held, made, i)
		err = errors.Join(err, made.release())
		made = next
	}
	if err != nil {
		return nil, fmt.Errorf("reading git object %s: %w", hash, err)
	}
	defer func() { err = errors.Join(err, made.release()) }()
	if content, err = made.bytes(); err != nil {
		return nil, fmt.Errorf("reading git object %s: %w", hash, err)
	}
	return content, nil
}

// hold returns an entry that is not a delta, or that is cached.
func (p *pack) hold(held *spillBuffer, i int) (*spilledObject, error) {
	entry := p.entries[i]
	if content, ok := p.bases.Get(entry.offset); ok {
		return &spilledObject{memory: content, size: int64(len(content))}, nil
	}
	made, err := held.allocate(entry.size)
	if err != nil {
		return nil, err
	}
	err = p.inflate(entry.offset, made.fill)
	return p.remember(entry, made, err)
}

// differ applies the delta of entry i to base.
func (p *pack) differ(held *spillBuffer, base *spilledObject, i int) (*spilledObject, error) {
	entry := p.entries[i]
	made, err := held.allocate(entry.size)
	if err != nil {
		return nil, err
	}
	err = p.inflate(entry.offset, func(r io.Reader) error {
		return applyDelta(made, base, r)
	})
	return p.remember(entry, made, err)
}

func (p *pack) remember(entry packed, made *spilledObject, err error) (*spilledObject, error) {
	if err == nil && made.written != entry.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, errors.Join(err, made.release())
	}
	if made.file == nil && entry.size <= basesSize/8 {
		p.bases.Put(entry.offset, made.memory)
	}
	return made, nil
}

// inflate passes the inflated data at offset of the pack to a function.
func (p *pack) inflate(offset int64, to func(io.Reader) error) error {
	scanner, ok := p.scanners.Get().(*packfile.Scanner)
	if !ok {
		// Several scanners share the file, so each reads by position.
		scanner = packfile.NewScanner(io.NewSectionReader(p.file, 0, 1<<62))
	}
	defer p.scanners.Put(scanner)
	if _, err := scanner.SeekObjectHeader(offset); err != nil {
		return err
	}
	content, err := scanner.ReadObject()
	if err != nil {
		return err
	}
	return errors.Join(to(content), content.Close())
}
