package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // Packs use SHA-1.
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// packOf writes a pack of objects as they are given: type, content.
func packOf(tb testing.TB, objects ...any) []byte {
	tb.Helper()
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&b, binary.BigEndian, uint32(len(objects)/2)) //nolint:gosec // A handful.
	for pair := range slices.Chunk(objects, 2) {
		kind, _ := pair[0].(plumbing.ObjectType)
		content, _ := pair[1].(string)
		prefix := ""
		if kind == plumbing.REFDeltaObject {
			prefix, content = content[:20], content[20:]
		}
		size := len(content)
		first := byte(kind<<4) | byte(size&0x0f) //nolint:gosec // Types are small.
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(first | 0x80)
			first = byte(size & 0x7f)
		}
		b.WriteByte(first)
		b.WriteString(prefix)
		z := zlib.NewWriter(&b)
		_, _ = io.WriteString(z, content)
		_ = z.Close()
	}
	sum := sha1.Sum(b.Bytes()) //nolint:gosec // Packs use SHA-1.
	return append(b.Bytes(), sum[:]...)
}

func indexOf(ctx context.Context, tb testing.TB, content []byte, limit int64) (*pack, error) {
	tb.Helper()
	got, err := download(bytes.NewReader(content), tb.TempDir(), 1<<30)
	if err != nil {
		return nil, err
	}
	tb.Cleanup(func() { _ = got.file.Close() })
	return got.index(ctx, limit)
}

func nameOf(kind plumbing.ObjectType, content string) plumbing.Hash {
	return plumbing.ComputeHash(kind, []byte(content))
}

func TestIndex(t *testing.T) {
	t.Parallel()
	base := strings.Repeat("0123456789", 10)
	name := nameOf(plumbing.BlobObject, base)
	// A copy of ten bytes from offset 5, then "new".
	delta := "\x64\x0d\x91\x05\x0a\x03new"
	made := "5678901234new"
	tests := []struct {
		name    string
		pack    []byte
		want    map[string]bool // Contents of blobs.
		failure error
	}{
		{"blobs", packOf(t, plumbing.BlobObject, "a", plumbing.BlobObject, ""), map[string]bool{"a": true, "": true}, nil},
		{"difference by name", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+delta), map[string]bool{base: true, made: true}, nil},
		{"difference before what it is to", packOf(t, plumbing.REFDeltaObject, string(name[:])+delta, plumbing.BlobObject, base), map[string]bool{base: true, made: true}, nil},
		{"difference to nothing", packOf(t, plumbing.REFDeltaObject, string(name[:])+delta), nil, errPackFormat},
		{"base of another size", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x63"+delta[1:]), nil, errDelta},
		{"result of another size", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x64\x0e"+delta[2:]), nil, errDelta},
		{"copy from behind the end", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x64\x0d\x91\x63\x0a\x03new"), nil, errDelta},
		{"more than the result", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+delta+"\x01x"), nil, errDelta},
		{"the reserved command", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x64\x0d\x00"), nil, errDelta},
		{"an endless size", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+strings.Repeat("\xff", 12)), nil, errDelta},
		{"an unknown type", packOf(t, plumbing.ObjectType(5), "a"), nil, errPackFormat},
		{"a result too large", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x64\xff\xff\xff\xff\x7f\x91\x05\x0a"), nil, errTooLarge},
		{"an object too large", packOf(t, plumbing.BlobObject, strings.Repeat("a", 5000)), nil, errTooLarge},
		{"a bomb", packOf(t, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x64\x80\x80\x80\x80\x08\x91\x05\x0a"), nil, errPackBomb},
		{"no pack", []byte("<html>"), nil, errPackFormat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			limit := int64(4096)
			if errors.Is(tt.failure, errPackBomb) {
				limit = 1 << 32
			}
			got, err := indexOf(t.Context(), t, tt.pack, limit)
			if !errors.Is(err, tt.failure) {
				t.Fatalf("index: %v, want %v", err, tt.failure)
			}
			for content := range tt.want {
				read, err := got.read(nameOf(plumbing.BlobObject, content))
				if err != nil || string(read) != content {
					t.Errorf("read: %q, %v, want %q", read, err, content)
				}
			}
		})
	}
}

// A pack that is cut or changed anywhere is refused, or contains the same objects as before.
func FuzzIndex(f *testing.F) {
	base := strings.Repeat("0123456789", 10)
	name := nameOf(plumbing.BlobObject, base)
	f.Add(packOf(f, plumbing.BlobObject, base, plumbing.REFDeltaObject, string(name[:])+"\x64\x0d\x91\x05\x0a\x03new"))
	f.Add(packOf(f, plumbing.TreeObject, "100644 a\x00"+string(name[:]), plumbing.BlobObject, base))
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := indexOf(t.Context(), t, content, 1<<16)
		if err != nil {
			return
		}
		for hash, i := range got.byHash {
			read, err := got.read(hash)
			if err != nil || plumbing.ComputeHash(got.entries[i].kind, read) != hash {
				t.Errorf("object %s is read as %.40q, %v", hash, read, err)
			}
		}
	})
}

// No delta can read or write beyond its objects.
func FuzzApplyDelta(f *testing.F) {
	f.Add("base of it", []byte("\x0a\x05\x90\x05"), int64(5))
	f.Add("base of it", []byte("\x0a\x03\x03new"), int64(3))
	f.Fuzz(func(t *testing.T, base string, delta []byte, size int64) {
		if size < 0 || size > 1<<16 {
			return
		}
		held := &spillBuffer{dir: t.TempDir(), available: 1 << 20}
		made, err := held.allocate(size)
		if err != nil {
			t.Fatal(err)
		}
		err = applyDelta(made, &spilledObject{memory: []byte(base), size: int64(len(base))}, bytes.NewReader(delta))
		if err == nil && int64(len(made.memory)) != size {
			t.Errorf("%d bytes were made, want %d", len(made.memory), size)
		}
	})
}

func TestIndexStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := indexOf(ctx, t, packOf(t, plumbing.BlobObject, "a"), 4096); !errors.Is(err, context.Canceled) {
		t.Errorf("index: %v, want context.Canceled", err)
	}
}

// A few objects that expand to ten thousand million files are refused.
func TestTreeBomb(t *testing.T) {
	t.Parallel()
	objects := []any{plumbing.BlobObject, "x"}
	below, mode := nameOf(plumbing.BlobObject, "x"), "100644"
	for range 10 {
		var tree strings.Builder
		for name := range 10 {
			tree.WriteString(mode + " " + string(rune('0'+name)) + "\x00" + string(below[:]))
		}
		objects = append(objects, plumbing.TreeObject, tree.String())
		below, mode = nameOf(plumbing.TreeObject, tree.String()), "40000"
	}
	commit := "tree " + below.String() + "\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nbomb\n"
	objects = append(objects, plumbing.CommitObject, commit)
	got, err := indexOf(t.Context(), t, packOf(t, objects...), 4096)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newObjects(got, nameOf(plumbing.CommitObject, commit)); !errors.Is(err, errNames) {
		t.Errorf("newObjects: %v, want %v", err, errNames)
	}
}

// Deltas of a few bytes make objects that are thousands of times as large, within what a pack may
// inflate to. These objects take no memory: they are made on disk, one at a time.
//
// It is not parallel, because it measures what the process allocates.
func TestAttackExpandingDeltas(t *testing.T) {
	const (
		part  = 4 << 20
		parts = 5
		limit = 1 << 30
	)
	copied := func(from, parts int) string { // A copy of 4 MiB from each part of from bytes.
		delta := string(binary.AppendUvarint(nil, uint64(from))) + string(binary.AppendUvarint(nil, uint64(part*parts+1))) //nolint:gosec // Small.
		for i := range parts {
			offset := binary.LittleEndian.AppendUint32(nil, uint32(i*part%(from-from%part))) //nolint:gosec // Small.
			delta += "\xff" + string(offset) + "\x00\x00\x40"
		}
		return delta
	}
	base := strings.Repeat("\x00", part)
	first := strings.Repeat(base, parts) + "1"
	second, third := first[:part*parts]+"2", first[:part*parts]+"3"
	baseName, firstName, secondName := nameOf(plumbing.BlobObject, base), nameOf(plumbing.BlobObject, first), nameOf(plumbing.BlobObject, second)
	content := packOf(t,
		plumbing.BlobObject, base,
		plumbing.REFDeltaObject, string(baseName[:])+copied(len(base), parts)+"\x011",
		plumbing.REFDeltaObject, string(firstName[:])+copied(len(first), parts)+"\x012",
		plumbing.REFDeltaObject, string(secondName[:])+copied(len(second), parts)+"\x013",
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := indexOf(t.Context(), t, content, limit)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := got.size(nameOf(plumbing.BlobObject, third)); err != nil || size != part*parts+1 {
		t.Errorf("the last object has %d bytes, %v, want %d", size, err, part*parts+1)
	}
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	t.Logf("a pack of %d bytes that makes 60 MiB: %d MiB were allocated", len(content), allocated)
	if allocated > 12 {
		t.Errorf("%d MiB were allocated for a pack of %d bytes, want at most 12", allocated, len(content))
	}
}

// A pack that git makes is read as git reads it.
func TestIndexAgreesWithGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run("", "init", "--quiet", "--bare", ".")
	var stream strings.Builder
	content := strings.Repeat("a line of text\n", 300)
	for i := range 200 {
		content = content[:i*7] + strings.Repeat("z", i%5) + content[i*7:]
		stream.WriteString("commit refs/heads/main\ncommitter a <a> 1700000000 +0000\ndata 1\nx\nM 100644 inline f\ndata <<END\n" + content + "END\n\n")
	}
	run(stream.String(), "fast-import", "--quiet")
	run("", "repack", "-adfq", "--depth=250", "--window=250")
	found, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(found) != 1 {
		t.Fatalf("packs %v, %v", found, err)
	}
	packed, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := indexOf(t.Context(), t, packed, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	objects := strings.Fields(run("", "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
	if len(objects) != len(got.byHash) {
		t.Errorf("%d objects, git has %d", len(got.byHash), len(objects))
	}
	for _, name := range objects {
		hash := plumbing.NewHash(name)
		content, err := got.read(hash)
		if err != nil || plumbing.ComputeHash(got.entries[got.byHash[hash]].kind, content) != hash {
			t.Errorf("object %s: %v", name, err)
		}
	}
}
