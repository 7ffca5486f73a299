package storage

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

// Labels with the times of creation and change of a record, in seconds since 1970.
const (
	recordCreatedAt  = "createdAt"
	recordModifiedAt = "modifiedAt"
)

// secretOfRecord returns the Secret in which Helm stores a record (helm.sh/helm/v3,
// pkg/storage/driver/secrets.go, newSecretsObject). The label stamp is set to the current
// time. Helm makes a new compressor of 800 kB each time, and each upgrade stores three
// records. That was two fifths of all memory that an apply allocated.
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

// compressors are compressors that can be used again. Each has 800 kB.
var compressors sync.Pool //nolint:gochecknoglobals // memory that is used again, and nothing else

// encodeRecord returns a record as JSON, compressed and base64-encoded.
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
