package storage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/manifest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

const (
	// maxUnpacked is the maximum size of an unpacked release record, in bytes. A packed record
	// is at most manifest.MaxRecord, and text shrinks to a tenth or a twentieth.
	maxUnpacked = 64 << 20
	// maxValues is the maximum number of values in the JSON of a record. In memory, each value
	// takes a hundred times the size of its text.
	maxValues = 1 << 19
)

// RecordTooLargeError reports a release record that contains more than any release needs. It
// is also a *release.CorruptRecordError.
type RecordTooLargeError struct {
	// Name is the name of the Secret.
	Name string
}

func (e *RecordTooLargeError) Error() string {
	return fmt.Sprintf("the release record %s contains more than any release needs; delete that Secret to install the release again", e.Name)
}

// Unwrap returns the error of a record that cannot be read.
func (e *RecordTooLargeError) Unwrap() error { return &release.CorruptRecordError{Name: e.Name} }

// unpacker unpacks records, which are base64 of gzip of JSON (helm.sh/helm/v3,
// pkg/storage/driver/util.go).
type unpacker struct {
	packed   bytes.Reader
	buffered bufio.Reader
	gzip     gzip.Reader
	text     bytes.Buffer
	chunk    [16 << 10]byte
}

// unpackers keeps the buffers of an unpacker for the next record: some 70 kB and the text of a
// record. A refresh unpacks each record of each cluster.
//
//nolint:gochecknoglobals // it only spares allocations
var unpackers = sync.Pool{New: func() any { return new(unpacker) }}

// open starts to unpack a record.
func (u *unpacker) open(packed []byte) error {
	u.packed.Reset(packed)
	u.buffered.Reset(base64.NewDecoder(base64.StdEncoding, &u.packed))
	return u.gzip.Reset(&u.buffered)
}

// done returns the unpacker to the pool for the next record, without the data that it has
// read.
func (u *unpacker) done() {
	u.packed.Reset(nil)
	u.text.Reset()
	unpackers.Put(u)
}

func newUnpacker() *unpacker { return unpackers.Get().(*unpacker) } //nolint:forcetypeassert // The pool has nothing else.

// checkRecord refuses a record that is too large when unpacked. It keeps no data of the
// record.
func checkRecord(name string, packed []byte) error {
	u := newUnpacker()
	defer u.done()
	_, err := u.check(name, packed, io.Discard)
	return err
}

// check refuses a record that is too large when unpacked, and returns its unpacked size. It
// also writes the unpacked text to text.
func (u *unpacker) check(name string, packed []byte, text io.Writer) (size int64, err error) {
	if len(packed) > 2*manifest.MaxRecord { // An API server stores no more.
		return 0, &RecordTooLargeError{Name: name}
	}
	if err := u.open(packed); err != nil {
		return 0, nil //nolint:nilerr // The decoder reports this error.
	}
	var counted jsonCounter
	// The decoder reports errors further on in the record.
	size, _ = io.CopyBuffer(io.MultiWriter(&counted, text), io.LimitReader(&u.gzip, maxUnpacked+1), u.chunk[:])
	if size > maxUnpacked || counted.values > maxValues {
		return size, &RecordTooLargeError{Name: name}
	}
	return size, nil
}

// firstBytes keeps the first bytes that are written to it.
type firstBytes struct{ *bytes.Buffer }

// Write implements io.Writer.
func (f firstBytes) Write(content []byte) (int, error) {
	f.Buffer.Write(content[:min(len(content), max(0, keptText-f.Len()))])
	return len(content), nil
}

const (
	// keptText is the maximum size of the text of a record that is kept after it was unpacked.
	// A larger record is unpacked again while it is decoded, so that its whole text is never
	// in memory.
	keptText = 256 << 10
	// large is the size from which on records are read one at a time.
	large = 4 << 20
)

//nolint:gochecknoglobals // the memory that it guards is the process's
var readingLarge sync.Mutex

// checkObjects refuses a record that has too many objects to read.
func (r Record) checkObjects(name string) error {
	if r.Size() > manifest.MaxSize {
		return &RecordTooLargeError{Name: name}
	}
	return nil
}

// jsonCounter counts the values of the JSON that is written to it. The count is a lower bound.
type jsonCounter struct {
	values            int
	isText, isEscaped bool
}

var errManyValues = errors.New("too many values")

// Write implements io.Writer. It fails as soon as there are too many values.
func (c *jsonCounter) Write(content []byte) (int, error) {
	for _, char := range content {
		switch {
		case c.isEscaped:
			c.isEscaped = false
		case c.isText:
			c.isText, c.isEscaped = char != '"', char == '\\'
		case char == '"':
			c.isText = true
		case char == ',' || char == '[' || char == '{':
			c.values++
		}
	}
	if c.values > maxValues {
		return 0, errManyValues
	}
	return len(content), nil
}

// boundedSecrets reads single Secrets of release records for Helm and refuses records that are
// too large. Helm itself unpacks a record without a limit (pkg/storage/driver/util.go,
// decodeRelease).
type boundedSecrets struct{ corev1client.SecretInterface }

// Get reads one record.
func (s boundedSecrets) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return secret, checkRecord(secret.Name, secret.Data[wellknown.RecordKey])
}
