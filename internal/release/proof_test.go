package release_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

func TestRecordKey(t *testing.T) {
	t.Parallel()
	derived := release.RecordKey("o", "adoption", []string{"B", "A"})
	tests := map[string]struct {
		owner, adoptionKey string
		stored             []string
		want               string // "" for a new one
	}{
		"new":                              {owner: "o"},
		"stored":                           {owner: "o", stored: []string{"", "A"}, want: "A"},
		"several":                          {owner: "o", stored: []string{"B", "A", "C"}, want: "A"},
		"adoption key":                     {owner: "o", adoptionKey: "adoption", want: derived},
		"adoption key, any state":          {owner: "o", adoptionKey: "adoption", stored: []string{"A"}, want: derived},
		"adoption key removed":             {owner: "o", stored: []string{derived}},
		"adoption key removed, then again": {owner: "o", stored: []string{derived, "B"}, want: "B"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := release.RecordKey(test.owner, test.adoptionKey, test.stored)
			switch {
			case test.want != "" && got != test.want:
				t.Errorf("got %q, want %q", got, test.want)
			case test.want == "" && (len(got) != 26 || got == release.RecordKey(test.owner, test.adoptionKey, test.stored)):
				t.Errorf("got %q, want a new random key", got)
			}
		})
	}
	for _, other := range []string{release.RecordKey("p", "adoption", nil), release.RecordKey("o", "other", nil)} {
		if other == derived {
			t.Error("another owner or another adoption key has the same key")
		}
	}
	if strings.Contains(derived, release.AdoptionKey("o", "adoption")) {
		t.Error("the label of the adoption key is in the key")
	}
}

// Every field of a mark, and everything that identifies a revision, is in the code of its labels.
func TestLabelsAreProvenAsAWhole(t *testing.T) {
	t.Parallel()
	proof := release.Proof{Key: "key", UID: "uid"}
	made := release.Observed{Release: "r", Namespace: "ns", Revision: 3, Status: release.StatusDeployed, Mark: release.NewMark("o", "t", "i", "b", "d"), Content: "c"}
	made.Mark.Revision = 3
	made.MAC = proof.OfLabels(made)
	changes := map[string]release.Observed{}
	var vary func(path string, of func(*release.Observed) reflect.Value)
	vary = func(path string, of func(*release.Observed) reflect.Value) {
		changed := made
		switch field := of(&changed); field.Kind() {
		case reflect.Struct:
			for i := range field.NumField() {
				vary(path+"."+field.Type().Field(i).Name, func(o *release.Observed) reflect.Value { return of(o).Field(i) })
			}
			return
		case reflect.String:
			field.SetString(field.String() + "x")
		case reflect.Int:
			field.SetInt(field.Int() + 1)
		case reflect.Bool:
			field.SetBool(!field.Bool())
		default:
			t.Fatalf("%s is of kind %s", path, field.Kind())
		}
		changes[path] = changed
	}
	vary("observed", func(o *release.Observed) reflect.Value { return reflect.ValueOf(o).Elem() })
	moved := made
	moved.Namespace, moved.Release = "nsr", ""
	changes["from one text to the next"] = moved
	isProven := func(proof release.Proof, observed release.Observed) bool {
		_, proven := release.Claimant{Proof: proof}.ProofOf(observed)
		return proven
	}
	for path, changed := range changes {
		if got, want := isProven(proof, changed), path == "observed.Status" || path == "observed.Failed"; got != want {
			t.Errorf("%s changed: proven: %t, want %t", path, got, want)
		}
	}
	for name, proof := range map[string]release.Proof{"key": {Key: "x", UID: "uid"}, "cluster": {Key: "key", UID: "x"}, "no key": {UID: "uid"}} {
		if isProven(proof, made) {
			t.Errorf("proven with another %s", name)
		}
	}
	if len(changes) < 20 || !isProven(proof, made) {
		t.Errorf("%d changes; the record as it was made is proven: %t", len(changes), isProven(proof, made))
	}
}
