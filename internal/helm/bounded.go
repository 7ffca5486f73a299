package helm

import (
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

// checkRecord refuses a record that unpacks to too much, and returns how much it unpacks
// to. It keeps nothing of it.
func checkRecord(name string, packed []byte) (size int64, err error) {
	if len(packed) > 2*manifest.MaxRecord { // An API server stores no more.
		return 0, &RecordTooLargeError{Name: name}
	}
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	if err != nil {
		return 0, nil //nolint:nilerr // The decoder says what is wrong with it.
	}
	var counted jsonCounter
	size, _ = io.Copy(&counted, io.LimitReader(reader, maxUnpacked+1)) // As for what is wrong further on.
	if size > maxUnpacked || counted.values > maxValues {
		return size, &RecordTooLargeError{Name: name}
	}
	return size, nil
}

// large is the size of a record from which on one is read at a time.
const large = 4 << 20

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
	_, err = checkRecord(secret.Name, secret.Data["release"])
	return secret, err
}

// List reads records.
func (s boundedSecrets) List(ctx context.Context, options metav1.ListOptions) (*corev1.SecretList, error) {
	list, err := s.SecretInterface.List(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, secret := range list.Items {
		if _, err := checkRecord(secret.Name, secret.Data["release"]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
