package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ledger carries from the process that plans to the one that applies what each target
// wants, in a temporary file. It is for one case only: a target that loses a release
// is applied before the target that gains it was planned again. It may be missing, as
// when a plan is applied on another machine; what leaves is then removed and made
// anew. It may be wrong; what is left for a target that does not take it is found by
// the next refresh. It decides about nothing else.
type ledger struct{ path string }

// entry is what one target wants.
type entry struct {
	Noted time.Time `json:"noted"`
	// Instance is the id of the target, "" while it is created.
	Instance string              `json:"instance,omitempty"`
	Releases map[string][]string `json:"releases"` // by cluster
}

// ledgerLife is how long an entry counts. One that is older belongs to no plan that
// somebody is about to apply.
const ledgerLife = 24 * time.Hour

// newLedger is that of one owner in one workspace. Without a workspace there is none.
func newLedger(workspace, owner string) ledger {
	if workspace == "" {
		return ledger{}
	}
	sum := sha256.Sum256([]byte(workspace + "\n" + owner))
	return ledger{path: filepath.Join(os.TempDir(), fmt.Sprintf("terraform-provider-fleet-%d-%s.json", os.Getuid(), hex.EncodeToString(sum[:8])))}
}

// read answers what is noted, by target. What cannot be read is as if it were not
// there.
func (l ledger) read() map[string]entry {
	entries := map[string]entry{}
	if l.path == "" {
		return entries
	}
	raw, err := os.ReadFile(l.path)
	if err != nil || json.Unmarshal(raw, &entries) != nil {
		return map[string]entry{}
	}
	for target, noted := range entries {
		if time.Since(noted.Noted) > ledgerLife {
			delete(entries, target)
		}
	}
	return entries
}

// note puts down what a target wants, nil for nothing. A ledger that cannot be written
// is done without.
func (l ledger) note(target, instance string, releases map[claimed]string) {
	if l.path == "" {
		return
	}
	entries := l.read()
	delete(entries, target)
	if len(releases) > 0 {
		noted := entry{Noted: time.Now(), Instance: instance, Releases: map[string][]string{}}
		for release := range releases {
			noted.Releases[release.cluster] = append(noted.Releases[release.cluster], release.release)
		}
		entries[target] = noted
	}
	if len(entries) == 0 {
		_ = os.Remove(l.path)
		return
	}
	raw, err := json.Marshal(entries)
	if err != nil {
		return
	}
	file, err := os.CreateTemp(filepath.Dir(l.path), filepath.Base(l.path)+"-*")
	if err != nil {
		return
	}
	_, err = file.Write(raw)
	if closed := file.Close(); err != nil || closed != nil || os.Rename(file.Name(), l.path) != nil {
		_ = os.Remove(file.Name())
	}
}
