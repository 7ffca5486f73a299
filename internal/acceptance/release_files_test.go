package acceptance_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// releaseName is how the names of all files of a release begin.
const releaseName = "terraform-provider-fleet"

// releaseFiles are the files of a release, as they are published.
type releaseFiles struct {
	version string
	// files are the contents by name.
	files map[string][]byte
	// key is the public key of the signature, in ASCII armour.
	key string
}

// archive is the name of the archive for this machine.
func (f releaseFiles) archive() string {
	return fmt.Sprintf("%s_%s_%s_%s.zip", releaseName, f.version, runtime.GOOS, runtime.GOARCH)
}

func (f releaseFiles) sums() string { return fmt.Sprintf("%s_%s_SHA256SUMS", releaseName, f.version) }

func (f releaseFiles) manifest() string {
	return fmt.Sprintf("%s_%s_manifest.json", releaseName, f.version)
}

// newRelease returns the release in the folder that FLEET_TEST_RELEASE names, which make release-snapshot
// has built. Without it, it makes a release of the built provider for this machine.
func newRelease(t *testing.T) releaseFiles {
	t.Helper()
	if folder := os.Getenv("FLEET_TEST_RELEASE"); folder != "" {
		return readRelease(t, folder)
	}
	bin, err := builtProvider()
	if err != nil {
		t.Fatal(err)
	}
	made := releaseFiles{version: "0.1.0"}
	made.files = map[string][]byte{
		made.archive():  zipped(t, filepath.Join(bin, releaseName), releaseName+"_v"+made.version),
		made.manifest(): []byte(read(t, "../../terraform-registry-manifest.json")),
	}
	var sums strings.Builder
	for name, content := range made.files {
		fmt.Fprintf(&sums, "%s  %s\n", sha256Of(content), name)
	}
	made.files[made.sums()] = []byte(sums.String())
	signer := newSigner(t)
	made.key = publicKey(t, signer)
	return made.signedBy(t, signer)
}

// readRelease reads the files for this machine. Their names have the version, and the public key is in
// the file that FLEET_TEST_RELEASE_KEY names.
func readRelease(t *testing.T, folder string) releaseFiles {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, releaseName+"_*_SHA256SUMS"))
	if err != nil || len(found) != 1 {
		t.Fatalf("there is not one release in %s: %v, %v", folder, found, err)
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), releaseName+"_"), "_SHA256SUMS")
	r := releaseFiles{version: version, files: map[string][]byte{}, key: read(t, os.Getenv("FLEET_TEST_RELEASE_KEY"))}
	for _, name := range []string{r.archive(), r.manifest(), r.sums(), r.sums() + ".sig"} {
		r.files[name] = []byte(read(t, filepath.Join(folder, name)))
	}
	return r
}

// zipped returns an archive that contains a program under another name. It does not compress, to save time.
func zipped(t *testing.T, program, name string) []byte {
	t.Helper()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	header := &zip.FileHeader{Name: name, Method: zip.Store}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write([]byte(read(t, program))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// newSigner makes a key such as a registry accepts.
func newSigner(t *testing.T) *openpgp.Entity {
	t.Helper()
	signer, err := openpgp.NewEntity("test", "", "test@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// signedBy returns the same files with the signature of another key.
func (f releaseFiles) signedBy(t *testing.T, signer *openpgp.Entity) releaseFiles {
	t.Helper()
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, signer, bytes.NewReader(f.files[f.sums()]), nil); err != nil {
		t.Fatal(err)
	}
	f.files = maps.Clone(f.files)
	f.files[f.sums()+".sig"] = signature.Bytes()
	return f
}

// publicKey returns the public key in ASCII armour.
func publicKey(t *testing.T, of *openpgp.Entity) string {
	t.Helper()
	var key bytes.Buffer
	w, err := armor.Encode(&key, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := of.Serialize(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return key.String()
}

// mirror writes a filesystem mirror with the provider under an address.
func (f releaseFiles) mirror(t *testing.T, source string) string {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, filepath.FromSlash(source))
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, f.archive()), f.files[f.archive()], 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}
