package storage

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// pack returns a release record with count copies of text, between before and after.
func pack(before, text string, count int, after string) []byte {
	return []byte(base64.StdEncoding.EncodeToString(faulttest.Gzip(before, text, count, after)))
}

// Reading a record never takes more memory than the maximum unpacked size requires.
func TestRecordIsBounded(t *testing.T) { // it counts what the process allocates
	mebibyte := strings.Repeat("#", 1<<20)
	tests := map[string]struct {
		packed             func() []byte
		tooLarge, isBroken bool
		// heavy is true for a test that takes minutes under the race detector.
		heavy bool
		// most is how much memory the refusal may take, 0 for 1 MiB.
		most uint64
	}{
		"small":                 {packed: func() []byte { return pack(`{"manifest":"`, "", 0, `"}`) }},
		"large":                 {packed: func() []byte { return pack(`{"chart":{"lock":"`, mebibyte, 63, `"}}`) }, heavy: true},
		"large and escaped":     {packed: func() []byte { return pack(`{"chart":{"lock":"`, `\",\\[`, 1<<20, `"}}`) }, heavy: true},
		"many objects":          {packed: func() []byte { return pack(`{"manifest":"`, mebibyte, 17, `"}`) }, tooLarge: true, most: 128 << 20, heavy: true},
		"many objects in hooks": {packed: func() []byte { return pack(`{"hooks":[{}`, `,{"manifest":"`+mebibyte+`"}`, 17, `]}`) }, tooLarge: true, most: 128 << 20, heavy: true},
		"many hooks":            {packed: func() []byte { return pack(`{"hooks":[{}`, `,{}`, 1<<20, `]}`) }, tooLarge: true, heavy: true},
		"many values":           {packed: func() []byte { return pack(`{"config":{"a":[[]`, `,[]`, 1<<20, `]}}`) }, tooLarge: true, heavy: true},
		"too large":             {packed: func() []byte { return pack(`{"manifest":"`, mebibyte, 64, `"}`) }, tooLarge: true, heavy: true},
		"a bomb":                {packed: func() []byte { return pack(`{"manifest":"`, mebibyte, 700, `"}`) }, tooLarge: true, heavy: true},
		"a bomb of hooks":       {packed: func() []byte { return pack(`{"hooks":[{"manifest":"`, mebibyte, 100, `"}]}`) }, tooLarge: true, heavy: true},
		"a bomb behind it":      {packed: func() []byte { return pack(`{"manifest":""}`, mebibyte, 100, ``) }, tooLarge: true, heavy: true},
		"no API server's":       {packed: func() []byte { return bytes.Repeat([]byte("A"), 3<<20) }, tooLarge: true},
		"no base64":             {packed: func() []byte { return []byte("!") }, isBroken: true},
		"no gzip":               {packed: func() []byte { return []byte("aGVsbG8=") }, isBroken: true},
		"no JSON":               {packed: func() []byte { return pack("x", "", 0, "") }, isBroken: true},
		"nothing":               {packed: func() []byte { return nil }, isBroken: true},
		"large and cut short":   {packed: func() []byte { return pack(`{"manifest":"`, mebibyte, 60, `"}`)[:60<<10] }, isBroken: true, heavy: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.heavy && underRace {
				t.Skip("it takes minutes under the race detector, and nothing in it runs at the same time")
			}
			packed := test.packed()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read := ContentOf(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string][]byte{"release": packed}}, release.Inspection{})
			runtime.ReadMemStats(&after)
			if most := cmp.Or(test.most, 1<<20); test.tooLarge && after.TotalAlloc-before.TotalAlloc > most {
				t.Errorf("it took %d KiB", (after.TotalAlloc-before.TotalAlloc)>>10)
			}
			if _, tooLarge := errors.AsType[*RecordTooLargeError](read.Err); tooLarge != test.tooLarge {
				t.Errorf("error = %v", read.Err)
			}
			if _, isBroken := errors.AsType[*release.CorruptRecordError](read.Err); isBroken != (test.isBroken || test.tooLarge) {
				t.Errorf("error = %v", read.Err)
			}
		})
	}
}

func FuzzRecord(f *testing.F) {
	stored, err := json.Marshal(released())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add([]byte("aGVsbG8="))
	f.Add(pack(string(stored), "", 0, ""))
	f.Add(pack(`{"manifest":"kind: List\napiVersion: v1\nitems: [{}, 1]\n","hooks":[null,{"manifest":"- a"}],"chart":null}`, "", 0, ""))
	f.Fuzz(func(t *testing.T, packed []byte) {
		// The second is the content of a record, as the decoder of the whole record gets it.
		for _, packed := range [][]byte{packed, pack(string(packed), "", 0, "")} {
			secret := &corev1.Secret{Data: map[string][]byte{"release": packed}}
			of := release.Inspection{Proof: release.Proof{Key: "key"}}
			if read := ContentOf(secret, of); read.Changed {
				t.Error("a record without a code is changed")
			}
			recorded, err := unpackRecord("", packed)
			if err != nil {
				continue
			}
			of.Observed.Content = recorded.Code(of.Proof, of.Observed)
			if read := ContentOf(secret, of); read.Changed {
				t.Error("a record is not proven by its own code")
			}
			of.Observed.Content = "0"
			if read := ContentOf(secret, of); read.Err == nil && !read.Changed {
				t.Error("a record is proven by any code")
			}
		}
	})
}

// BenchmarkReadRecord measures reading a record of the usual size.
func BenchmarkReadRecord(b *testing.B) {
	packed := pack(`{"manifest":"`, `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: some-name\ndata:\n  key: \"value\"\n---\n`, 4,
		`","chart":{"templates":"`+strings.Repeat("#", 32<<10)+`"}}`)
	secret := &corev1.Secret{Data: map[string][]byte{"release": packed}}
	b.ReportAllocs()
	for b.Loop() {
		if read := ContentOf(secret, release.Inspection{}); read.Err != nil {
			b.Fatal(read.Err)
		}
	}
}

// BenchmarkCheckRecord measures checkRecord on a record of the usual size.
func BenchmarkCheckRecord(b *testing.B) {
	packed := pack(`{"manifest":"`, `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: some-name\ndata:\n  key: \"value\"\n---\n`, 2000, `"}`)
	for b.Loop() {
		if err := checkRecord("x", packed); err != nil {
			b.Fatal(err)
		}
	}
}
