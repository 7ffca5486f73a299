package helm

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
	// maxUnpacked bounds in bytes what a release record unpacks to. A record is at most
	// manifest.MaxRecord, and text gets ten to twenty times smaller.
	maxUnpacked = 64 << 20
	// maxValues bounds the values in its JSON: each takes a hundred times the memory of
	// its text.
	maxValues = 1 << 19
)

// RecordTooLargeError says that a release record contains more than any release needs.
// It is a *release.CorruptRecordError too.
type RecordTooLargeError struct {
	// Name is that of the Secret.
	Name string
}

func (e *RecordTooLargeError) Error() string {
	return fmt.Sprintf("the release record %s contains more than any release needs; delete that Secret to install the release again", e.Name)
}

// Unwrap gives what every record is that cannot be read.
func (e *RecordTooLargeError) Unwrap() error { return &release.CorruptRecordError{Name: e.Name} }

// unpacker unpacks records: base64 of gzip of JSON (helm.sh/helm/v3,
// pkg/storage/driver/util.go).
type unpacker struct {
	packed   bytes.Reader
	buffered bufio.Reader
	gzip     gzip.Reader
	text     bytes.Buffer
	chunk    [16 << 10]byte
}

// unpackers keeps what unpacking needs, some 70 kB and the text of a record, for the next
// record. A refresh unpacks each record of each cluster.
//
//nolint:gochecknoglobals // it only spares allocations
var unpackers = sync.Pool{New: func() any { return new(unpacker) }}

// open begins to unpack a record.
func (u *unpacker) open(packed []byte) error {
	u.packed.Reset(packed)
	u.buffered.Reset(base64.NewDecoder(base64.StdEncoding, &u.packed))
	return u.gzip.Reset(&u.buffered)
}

// done keeps the unpacker for the next record, without what it has read.
func (u *unpacker) done() {
	u.packed.Reset(nil)
	u.text.Reset()
	unpackers.Put(u)
}

func newUnpacker() *unpacker { return unpackers.Get().(*unpacker) } //nolint:forcetypeassert // The pool has nothing else.

// checkRecord refuses a record that unpacks to too much. It keeps nothing of it.
func checkRecord(name string, packed []byte) error {
	u := newUnpacker()
	defer u.done()
	_, err := u.check(name, packed, io.Discard)
	return err
}

// check refuses a record that unpacks to too much, and returns how much it unpacks to. It
// also writes the text.
func (u *unpacker) check(name string, packed []byte, text io.Writer) (size int64, err error) {
	if len(packed) > 2*manifest.MaxRecord { // An API server stores no more.
		return 0, &RecordTooLargeError{Name: name}
	}
	if err := u.open(packed); err != nil {
		return 0, nil //nolint:nilerr // The decoder says what is wrong with it.
	}
	var counted jsonCounter
	// What is wrong further on is an error of the decoder.
	size, _ = io.CopyBuffer(io.MultiWriter(&counted, text), io.LimitReader(&u.gzip, maxUnpacked+1), u.chunk[:])
	if size > maxUnpacked || counted.values > maxValues {
		return size, &RecordTooLargeError{Name: name}
	}
	return size, nil
}

// firstBytes keeps the first bytes of what is written to it.
type firstBytes struct{ *bytes.Buffer }

// Write is that of io.Writer.
func (f firstBytes) Write(content []byte) (int, error) {
	f.Buffer.Write(content[:min(len(content), max(0, keptText-f.Len()))])
	return len(content), nil
}

const (
	// keptText is the size up to which the text of a record is unpacked once. A larger one
	// is unpacked again while it is decoded, so that it is never in memory as a whole.
	keptText = 256 << 10
	// large is the size of a record from which on one is read at a time.
	large = 4 << 20
)

//nolint:gochecknoglobals // the memory that it guards is the process's
var readingLarge sync.Mutex

// checkObjects refuses a record whose objects are too many to be read.
func (r record) checkObjects(name string) error {
	if r.size() > manifest.MaxSize {
		return &RecordTooLargeError{Name: name}
	}
	return nil
}

// jsonCounter counts the values of the JSON that is written to it, at least.
type jsonCounter struct {
	values            int
	isText, isEscaped bool
}

var errManyValues = errors.New("too many values")

// Write is that of io.Writer. It fails as soon as there are too many values.
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

// boundedSecrets are the Secrets that Helm reads records from. Helm unpacks all that a
// record contains (pkg/storage/driver/util.go, decodeRelease).
type boundedSecrets struct{ corev1client.SecretInterface }

// Get reads one record.
func (s boundedSecrets) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return secret, checkRecord(secret.Name, secret.Data[wellknown.RecordKey])
}

// List reads records.
func (s boundedSecrets) List(ctx context.Context, options metav1.ListOptions) (*corev1.SecretList, error) {
	list, err := s.SecretInterface.List(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, secret := range list.Items {
		if err := checkRecord(secret.Name, secret.Data[wellknown.RecordKey]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
