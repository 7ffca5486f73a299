package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// maxDeltas is how long a chain of deltas may be, as in git.
	maxDeltas = 4095
	// A pack that inflates to more than inflatedFree bytes plus inflatedRatio times its size is a
	// bomb.
	inflatedFree  = 1 << 30
	inflatedRatio = 1000
)

var (
	errPackFormat = errors.New("the pack is malformed")
	errPackBomb   = errors.New("the inflated pack is larger than any valid pack of its size")
)

// index makes the index of a pack. The index contains the names and positions of the objects, not
// their content. Errors: errTooLarge for an object of more than limit bytes, *storeError, the
// error of ctx, or one that describes the fault in the pack.
func (d downloaded) index(ctx context.Context, limit int64) (*pack, error) {
	x := &indexer{
		pack: &pack{
			file: d.file, dir: d.dir, limit: limit,
			byHash: make(map[plumbing.Hash]int), bases: cache.NewBufferLRU(basesSize),
		},
		limit:     limit,
		budget:    inflatedFree + inflatedRatio*d.size,
		held:      &spillBuffer{dir: d.dir, available: heldSize, disk: limit},
		following: make(map[int][]int),
		named:     make(map[plumbing.Hash][]int),
	}
	if err := x.scan(ctx, d.size); err != nil {
		return nil, err
	}
	if err := x.resolve(ctx); err != nil {
		return nil, err
	}
	return x.pack, nil
}

type indexer struct {
	pack   *pack
	limit  int64
	budget int64 // How many bytes may still be inflated.
	held   *spillBuffer
	// following are the deltas to an entry. named are the deltas to an object of which only the
	// name is known.
	following map[int][]int
	named     map[plumbing.Hash][]int
}

// scan reads the file once, from its beginning to its end.
func (x *indexer) scan(ctx context.Context, size int64) error {
	scanner := packfile.NewScanner(io.NewSectionReader(x.pack.file, 0, size))
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("%w: %w", errPackFormat, err)
	}
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("%w: %w", errPackFormat, err)
		}
		if err := x.scanObject(ctx, scanner, header); err != nil {
			return err
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return fmt.Errorf("%w: %w", errPackFormat, err)
	}
	return nil
}

func (x *indexer) scanObject(ctx context.Context, scanner *packfile.Scanner, header *packfile.ObjectHeader) error {
	if err := x.charge(header.Length); err != nil {
		return err
	}
	entry := packed{offset: header.Offset, size: header.Length, base: noBase, kind: header.Type}
	i := len(x.pack.entries)
	switch header.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		hasher := plumbing.NewHasher(header.Type, header.Length)
		if err := inflateObject(ctx, scanner, header.Length, hasher); err != nil {
			return err
		}
		entry.hash = hasher.Sum()
		x.pack.byHash[entry.hash] = i
	case plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
		// resolve applies the delta later, when all possible base objects are known.
		var begin head
		if err := inflateObject(ctx, scanner, header.Length, &begin); err != nil {
			return err
		}
		var err error
		if _, entry.size, err = deltaSizes(bytes.NewReader(begin.bytes)); err != nil {
			return fmt.Errorf("%w: %w", errPackFormat, err)
		}
		if err := x.follow(i, header); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: an object has the unknown type %d", errPackFormat, header.Type)
	}
	x.pack.entries = append(x.pack.entries, entry)
	return nil
}

// follow records the base of entry i, which is a delta.
func (x *indexer) follow(i int, header *packfile.ObjectHeader) error {
	if header.Type == plumbing.REFDeltaObject {
		x.named[header.Reference] = append(x.named[header.Reference], i)
		return nil
	}
	base, ok := slices.BinarySearchFunc(x.pack.entries, header.OffsetReference,
		func(e packed, offset int64) int { return cmp.Compare(e.offset, offset) })
	if !ok {
		return fmt.Errorf("%w: a delta has no base object", errPackFormat)
	}
	x.following[base] = append(x.following[base], i)
	return nil
}

// charge counts an object of size bytes against the limits for inflated objects.
func (x *indexer) charge(size int64) error {
	if size < 0 || size > x.limit {
		return errTooLarge
	}
	if x.budget -= size; x.budget < 0 {
		return errPackBomb
	}
	return nil
}

// inflateObject inflates an object of size bytes into a writer.
func inflateObject(ctx context.Context, scanner *packfile.Scanner, size int64, to io.Writer) error {
	n, _, err := scanner.NextObject(writerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return to.Write(p)
	}))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errPackFormat, err)
	}
	return nil
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// headSize is enough for the two sizes at the start of a delta.
const headSize = 20

// head keeps the first headSize bytes that are written to it.
type head struct{ bytes []byte }

// Write implements io.Writer. It never fails.
func (h *head) Write(p []byte) (int, error) {
	h.bytes = append(h.bytes, p[:min(len(p), headSize-len(h.bytes))]...)
	return len(p), nil
}

// resolve applies the deltas and finds the names of their objects.
func (x *indexer) resolve(ctx context.Context) error {
	for i := range x.pack.entries {
		kind := x.pack.entries[i].kind
		if kind == plumbing.OFSDeltaObject || kind == plumbing.REFDeltaObject || !x.hasFollowers(i) {
			continue
		}
		made, err := x.pack.hold(x.held, i)
		if err != nil {
			return fmt.Errorf("%w: %w", errPackFormat, err)
		}
		if err := errors.Join(x.descend(ctx, made, i, 1), made.release()); err != nil {
			return err
		}
	}
	if len(x.following) > 0 || len(x.named) > 0 {
		return fmt.Errorf("%w: it contains deltas to objects that it does not contain", errPackFormat)
	}
	return nil
}

func (x *indexer) hasFollowers(i int) bool {
	return len(x.following[i]) > 0 || len(x.named[x.pack.entries[i].hash]) > 0
}

// followers removes and returns the deltas to an entry.
func (x *indexer) followers(i int) []int {
	hash := x.pack.entries[i].hash
	all := slices.Concat(x.following[i], x.named[hash])
	delete(x.following, i)
	delete(x.named, hash)
	return all
}

// descend applies the deltas to an entry, then the deltas to the resulting objects.
func (x *indexer) descend(ctx context.Context, base *spilledObject, i, depth int) error {
	if depth > maxDeltas {
		return fmt.Errorf("%w: a chain has more than %d deltas", errPackFormat, maxDeltas)
	}
	for _, next := range x.followers(i) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		entry := &x.pack.entries[next]
		if err := x.charge(entry.size); err != nil {
			return err
		}
		entry.base, entry.kind = i, x.pack.entries[i].kind
		made, err := x.pack.differ(x.held, base, next)
		if err != nil {
			return fmt.Errorf("%w: %w", errPackFormat, err)
		}
		hasher := plumbing.NewHasher(entry.kind, entry.size)
		if err := made.part(hasher, 0, made.size); err != nil {
			return errors.Join(fmt.Errorf("naming an object: %w", err), made.release())
		}
		entry.hash = hasher.Sum()
		x.pack.byHash[entry.hash] = next
		if err := errors.Join(x.descend(ctx, made, next, depth+1), made.release()); err != nil {
			return err
		}
	}
	return nil
}
