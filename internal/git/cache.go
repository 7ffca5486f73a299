package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// cacheFolder is where packs are kept below Config.CacheDir.
	cacheFolder = "fleet-git-packs"
	// tempPrefix and a number are the name of a temporary folder, which a killed process
	// leaves behind, and tempLife is how long it is taken to be in use.
	tempPrefix = "fleet-git-"
	tempLife   = 24 * time.Hour
	// cacheLife is how long a pack that nobody reads is kept.
	cacheLife = 7 * 24 * time.Hour
)

// packPath is where the pack of a commit is kept for other processes, "" without
// a Config.CacheDir.
func (c *Client) packPath(key string) string {
	if c.cacheDir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.cacheDir, cacheFolder, hex.EncodeToString(sum[:])+".pack")
}

// loadCached reads a commit from the pack that another process has kept. A pack that
// cannot be read, or has not all of the commit, counts as not kept: objects are
// known by their content, so nothing else can come out of it.
func (c *Client) loadCached(ctx context.Context, dir, key string, commit plumbing.Hash) (*objects, bool) {
	name := c.packPath(key)
	if name == "" {
		return nil, false
	}
	file, err := os.Open(name) //nolint:gosec // A folder of our own.
	if err != nil {
		return nil, false
	}
	found, err := readPack(ctx, file, dir, c.limits.size, commit)
	if err != nil {
		_ = file.Close()
		if ctx.Err() == nil { // Who gives up has not found out whether it is good.
			_ = os.Remove(name)
		}
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // It is in use; forget makes sure of nothing else.
	return found, true
}

func readPack(ctx context.Context, file *os.File, dir string, limit int64, commit plumbing.Hash) (*objects, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	kept, err := downloaded{file: store{file}, dir: dir, size: info.Size()}.index(ctx, limit)
	if err != nil {
		return nil, err
	}
	return newObjects(kept, commit)
}

// saveCached keeps the pack of a commit for other processes. It is a convenience:
// where it cannot be kept, the next process fetches it again.
func (c *Client) saveCached(key string, from *objects) {
	name := c.packPath(key)
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	c.removeUnused()
	// Written beside its place, so that no other process sees half of it.
	kept, err := os.CreateTemp(filepath.Dir(name), "*.part")
	if err != nil {
		return
	}
	content := io.NewSectionReader(from.pack.file, 0, 1<<62)
	_, err = io.Copy(kept, content)
	if err := errors.Join(err, kept.Close()); err != nil {
		_ = os.Remove(kept.Name())
		return
	}
	if os.Rename(kept.Name(), name) != nil {
		_ = os.Remove(kept.Name())
	}
}

// removeAbandoned removes folders of processes that were killed: what is named as theirs and nobody has
// changed for a day. It is a convenience, and its errors are those of somebody else's folder.
func (c *Client) removeAbandoned() {
	parent := cmp.Or(c.tempDir, os.TempDir())
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		number, ours := strings.CutPrefix(entry.Name(), tempPrefix)
		if _, err := strconv.ParseUint(number, 10, 64); !ours || err != nil || !entry.IsDir() {
			continue
		}
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > tempLife {
			_ = os.RemoveAll(filepath.Join(parent, entry.Name()))
		}
	}
}

// removeUnused removes packs that nobody has read for a while.
func (c *Client) removeUnused() {
	folder := filepath.Join(c.cacheDir, cacheFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && time.Since(info.ModTime()) > cacheLife {
			_ = os.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}
