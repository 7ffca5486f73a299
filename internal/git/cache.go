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
	// tempPrefix and a number form the name of a temporary folder. A killed process leaves its
	// folder behind. A folder that has not changed for tempLife is treated as left behind.
	tempPrefix = "fleet-git-"
	tempLife   = 24 * time.Hour
	// cacheLife is how long a pack is kept after it was last read.
	cacheLife = 7 * 24 * time.Hour
)

// packPath returns the path of the pack of a commit that is kept for other processes, "" without
// a Config.CacheDir.
func (c *Client) packPath(key string) string {
	if c.cacheDir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(c.cacheDir, cacheFolder, hex.EncodeToString(sum[:])+".pack")
}

// loadCached reads a commit from the pack that another process has kept. A pack that cannot be
// read, or that lacks a part of the commit, is treated as not kept. A damaged pack cannot yield
// wrong files, because git names objects by the hash of their content.
func (c *Client) loadCached(ctx context.Context, dir string, of wanted) (*objects, bool) {
	name := c.packPath(of.key)
	if name == "" {
		return nil, false
	}
	file, err := os.Open(name) //nolint:gosec // A folder of our own.
	if err != nil {
		return nil, false
	}
	found, err := readPack(ctx, file, dir, c.limits.size, of.commit)
	if err != nil {
		_ = file.Close()
		if ctx.Err() == nil { // After a cancellation, the pack may still be good.
			_ = os.Remove(name)
		}
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // removeUnused keeps a pack that was read recently.
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

// saveCached keeps the pack of a commit for other processes. Errors are ignored: without the
// pack, the next process fetches the commit again.
func (c *Client) saveCached(key string, from *objects) {
	name := c.packPath(key)
	if name == "" || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	c.removeUnused()
	// The pack is written to a temporary file and renamed, so that no other process reads half of
	// it.
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

// removeAbandoned removes the temporary folders of killed processes: folders with such a name
// that have not changed for a day. Errors are ignored: such a folder may belong to another user.
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

// removeUnused removes packs that were not read for cacheLife.
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
