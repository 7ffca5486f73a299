package kube_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
)

// After a watch reports a deletion, the API server must confirm that the object does not exist.
func TestAccWaitDeletedByWatch(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-gone")
	client, proxy := l.through(t)
	infos := l.written(t, configMap("a", held), configMap("b", held))
	l.remove(t, infos)
	var seen watching
	proxy.Set(seen.fault)
	proxy.Record()
	var freeing sync.WaitGroup
	freeing.Go(func() {
		eventually(t, "a watch begins", func() bool { return seen.begun.Load() > 0 })
		l.patch(t, infos[0], freed, "")
		l.patch(t, infos[1], freed, "")
	})
	defer freeing.Wait()
	if err := client.WaitDeleted(soon(t, long), infos); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		proof := func(call faulttest.Call) bool {
			return call.Verb == "get" && call.Status == http.StatusNotFound && strings.Contains(call.URL, "/"+name+"?")
		}
		if !slices.ContainsFunc(proxy.Recorded(), proof) {
			t.Errorf("nothing proves that %s is gone: %v", name, proxy.Recorded())
		}
	}
	t.Logf("requests: %v", verbs(proxy.Recorded()))
}

func TestAccWaitDeletedWhenRecreatedDuringAWatch(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-again")
	client, proxy := l.through(t)
	infos := l.written(t, configMap("a", held))
	l.remove(t, infos)
	var seen watching
	// An object whose deletion was reported is created again before it is read.
	proxy.Set(func(request *http.Request) faulttest.Fault {
		if seen.begun.Load() > 0 && !faulttest.IsWatch(request) {
			return faulttest.Fault{Before: func(*http.Request) {
				again := l.infos(t, configMap("a", ""))
				if _, err := resource.NewHelper(again[0].Client, again[0].Mapping).Create(l.namespace, true, again[0].Object); err != nil && !apierrors.IsAlreadyExists(err) {
					t.Error(err)
				}
			}}
		}
		return seen.fault(request)
	})
	var freeing sync.WaitGroup
	freeing.Go(func() {
		eventually(t, "a watch begins", func() bool { return seen.begun.Load() > 0 })
		l.patch(t, infos[0], freed, "")
	})
	defer freeing.Wait()
	err := client.WaitDeleted(soon(t, 3*short), infos)
	if err == nil || !strings.Contains(err.Error(), "it was created again") {
		t.Errorf("error = %v, want it to say that the object was made again", err)
	}
}
