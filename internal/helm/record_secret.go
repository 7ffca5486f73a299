package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"sync"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Labels that say when a record was made and changed, in seconds since 1970.
const (
	recordCreatedAt  = "createdAt"
	recordModifiedAt = "modifiedAt"
)

// secretOfRecord returns the Secret that Helm stores a record in, with the time now under the label
// stamp (helm.sh/helm/v3, pkg/storage/driver/secrets.go, newSecretsObject). Helm makes a compressor of
// 800 kB each time, and each upgrade stores three records: that was two fifths of all memory that an
// apply allocated.
func secretOfRecord(key string, record *helmrelease.Release, stamp string, now time.Time) (*corev1.Secret, error) {
	content, err := encodeRecord(record)
	if err != nil {
		return nil, fmt.Errorf("encoding release record %s: %w", key, err)
	}
	labels := map[string]string{stamp: strconv.FormatInt(now.Unix(), 10)}
	maps.Copy(labels, record.Labels)
	maps.Copy(labels, map[string]string{
		wellknown.RecordName: record.Name, wellknown.RecordOwner: wellknown.RecordOwnerHelm,
		wellknown.RecordStatus: record.Info.Status.String(), wellknown.RecordVersion: strconv.Itoa(record.Version),
	})
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key, Labels: labels},
		Type:       wellknown.RecordType,
		Data:       map[string][]byte{wellknown.RecordKey: content},
	}, nil
}

// compressors are those that have ended. Each has 800 kB.
var compressors sync.Pool //nolint:gochecknoglobals // memory that is used again, and nothing else

// encodeRecord returns a record in JSON, compressed and as base64.
func encodeRecord(record *helmrelease.Release) ([]byte, error) {
	plain, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("as JSON: %w", err)
	}
	compressor, ok := compressors.Get().(*gzip.Writer)
	if !ok {
		if compressor, err = gzip.NewWriterLevel(io.Discard, gzip.BestCompression); err != nil {
			return nil, fmt.Errorf("making a compressor: %w", err)
		}
	}
	var compressed bytes.Buffer
	compressor.Reset(&compressed)
	_, err = compressor.Write(plain)
	if err = errors.Join(err, compressor.Close()); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	compressors.Put(compressor)
	return base64.StdEncoding.AppendEncode(nil, compressed.Bytes()), nil
}
