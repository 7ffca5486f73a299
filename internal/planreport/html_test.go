package planreport

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a page has is read again, and a page repeats nothing that makes it large.
func TestPageIsReadAgain(t *testing.T) {
	t.Parallel()
	written := newReport([]Target{{
		Owner: "o", Name: "prod", Bundles: []string{"web"}, Warnings: []Warning{{Summary: "s", Detail: "d"}},
		Clusters: []Cluster{{Name: "a", Labels: map[string]string{"region": "eu"}, Groups: []string{"all"}}},
		Stages:   []Stage{{Text: "first", Deployments: []string{"a/web"}}}, Diffs: map[string]string{"d1": "- replicas: 3\n+ replicas: 5\n"},
	}})
	for i := range 1000 {
		d := Deployment{Cluster: fmt.Sprintf("c%04d", i), Bundle: "web", Action: Change, Stage: 1, Diff: "d1"}
		for o := range 12 {
			d.Objects = append(d.Objects, Object{Key: fmt.Sprintf("ConfigMap/shop/web-%d", o), Change: ObjectChanged, Before: "0c51aa7e22d1", After: "b81f20d6c3ee"})
		}
		written.Targets[0].Deployments = append(written.Targets[0].Deployments, d)
	}
	written.Targets[0].fill()
	page, err := renderHTML(written)
	if err != nil {
		t.Fatal(err)
	}
	if size := len(page); size > 200<<10 {
		t.Errorf("the page has %d bytes", size)
	}
	read, err := parseHTML(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, read); diff != "" {
		t.Errorf("the report (-written +read):\n%s", diff)
	}
	again, err := renderHTML(read)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, again) {
		t.Error("the same report makes another page")
	}
}

// The diff of an upgrade can leave out objects that are removed or added.
func TestTextOfAChange(t *testing.T) {
	t.Parallel()
	objects := []Object{
		{Key: "ConfigMap/shop/web", Change: ObjectChanged},
		{Key: "PersistentVolumeClaim/shop/data", Change: ObjectRemoved},
		{Key: "PersistentVolumeClaim/shop/data-1", Change: ObjectRemoved},
		{Key: "Service/shop/web", Change: ObjectAdded},
		{Key: "Secret/shop/web", Change: ObjectUnknown},
	}
	const all = "~ ConfigMap/shop/web\n- PersistentVolumeClaim/shop/data\n- PersistentVolumeClaim/shop/data-1\n+ Service/shop/web\n? Secret/shop/web"
	for name, test := range map[string]struct {
		action     Action
		diff, want string
	}{
		"no diff": {Change, "", all},
		"a diff of what changes": {
			Change, "~ ConfigMap/shop/web: data\n- a: b\n+ a: c",
			"- PersistentVolumeClaim/shop/data\n- PersistentVolumeClaim/shop/data-1\n\n~ ConfigMap/shop/web: data\n- a: b\n+ a: c\n\n+ Service/shop/web",
		},
		"an object that stays": {
			Change, "= PersistentVolumeClaim/shop/data-1, stays on the cluster (x: keep)",
			"- PersistentVolumeClaim/shop/data\n\n= PersistentVolumeClaim/shop/data-1, stays on the cluster (x: keep)\n\n+ Service/shop/web",
		},
		"a line of a manifest that looks like one that stays": {
			Change, "+ = PersistentVolumeClaim/shop/data, stays on the cluster",
			"- PersistentVolumeClaim/shop/data\n- PersistentVolumeClaim/shop/data-1\n\n+ = PersistentVolumeClaim/shop/data, stays on the cluster\n\n+ Service/shop/web",
		},
		"a removal": {Remove, "- ConfigMap/shop/web", "- ConfigMap/shop/web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Deployment{Action: test.action, Objects: objects}
			if diff := cmp.Diff(test.want, d.text(test.diff)); diff != "" {
				t.Errorf("the text (-want +got):\n%s", diff)
			}
		})
	}
}

// A program writes a small page whose data is very large, is not complete, or is none.
func TestAttackPage(t *testing.T) {
	t.Parallel()
	compressed := func(length int) string {
		var data bytes.Buffer
		to, err := gzip.NewWriterLevel(&data, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		spaces := bytes.Repeat([]byte(" "), 1<<20)
		for range length / len(spaces) {
			if _, err := to.Write(spaces); err != nil {
				t.Fatal(err)
			}
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(data.Bytes())
	}
	large := compressed(maxStored + 1<<20)
	for name, data := range map[string]string{
		"too large":        large,
		"cut":              large[:len(large)/2],
		"no base64":        "<!--",
		"not compressed":   base64.StdEncoding.EncodeToString([]byte(`{"format":1}`)),
		"empty":            "",
		"only white space": compressed(1 << 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseHTML([]byte(dataBegins + data + dataEnds)); err == nil {
				t.Error("it is a report")
			}
		})
	}
}
