package kube_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// through returns a client of the lab's cluster that uses a proxy.
func (l lab) through(t *testing.T) (*kube.Client, *faulttest.Proxy) {
	t.Helper()
	proxy := faulttest.New(t, l.cluster)
	return clientOf(t, connect.Connection{Host: proxy.Host(), Token: secret.Hide(l.cluster.Token()), ClusterCACertificate: string(proxy.CACertificate())}), proxy
}

// written creates objects as Helm does: the infos contain the responses of the API server.
func (l lab) written(t *testing.T, manifests ...string) []*resource.Info {
	t.Helper()
	infos := l.infos(t, manifests...)
	for _, info := range infos {
		answer, err := resource.NewHelper(info.Client, info.Mapping).Create(info.Namespace, true, info.Object)
		if err != nil {
			t.Fatal(err)
		}
		if err := info.Refresh(answer, true); err != nil {
			t.Fatal(err)
		}
	}
	return infos
}

// define defines widgets in a group of their own, and removes them after the test.
func (l lab) define(t *testing.T, group string) {
	t.Helper()
	definition := l.infos(t, strings.ReplaceAll(widgets, "wait.example.com", group))
	l.create(t, definition)
	t.Cleanup(func() { l.remove(t, definition) })
	if err := l.WaitReady(soon(t, long), definition, withJobs); err != nil {
		t.Fatal(err)
	}
}

func widget(group, name string) string {
	return fmt.Sprintf("apiVersion: %s/v1\nkind: Widget\nmetadata: {name: %s}", group, name)
}

func widgetIs(status, reason string) string {
	return fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q,"message":%q}]}}`, status, reason)
}

// verbs counts the requests by verb.
func verbs(calls []faulttest.Call) map[string]int {
	counted := map[string]int{}
	for _, call := range calls {
		counted[call.Verb]++
	}
	return counted
}

// eventually waits until happened returns true.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.Now().Add(long)
	for !happened() {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen that %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// watching counts the watches that a proxy gets. A rule decides what the proxy does.
type watching struct {
	begun atomic.Int32
	rule  func(number int32) faulttest.Fault
}

func (w *watching) fault(request *http.Request) faulttest.Fault {
	if !faulttest.IsWatch(request) {
		return faulttest.Fault{}
	}
	number := w.begun.Add(1)
	if w.rule == nil {
		return faulttest.Fault{}
	}
	return w.rule(number)
}

// rewritten sets the version of infos, as if they had been read in that version.
func rewritten(infos []*resource.Info, version string) {
	for _, info := range infos {
		info.ResourceVersion = version
		if object, ok := info.Object.(*unstructured.Unstructured); ok {
			object.SetResourceVersion(version)
		}
	}
}

func TestAccWaitReadyWhateverHappensToWatches(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-bad")
	const group = "bad.example.com"
	l.define(t, group)
	reader := l.user(t, "waits-without-watch", rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"widgets"}, Verbs: []string{"get", "list"}})
	always := func(fault faulttest.Fault) func(int32) faulttest.Fault {
		return func(int32) faulttest.Fault { return fault }
	}
	first := func(fault faulttest.Fault) func(int32) faulttest.Fault {
		return func(number int32) faulttest.Fault {
			if number > 1 {
				return faulttest.Fault{}
			}
			return fault
		}
	}
	for name, test := range map[string]struct {
		rule func(number int32) faulttest.Fault
		// version replaces the version of the object, "" for its own.
		version string
		token   string
		// between is called after the first watch has begun, before the object gets ready.
		between func(t *testing.T, proxy *faulttest.Proxy, object *resource.Info)
		// watches is how often a watch begins, and looks is how often objects are read at most. 0
		// allows any number.
		watches, looks int
	}{
		"nothing":               {watches: 1, looks: 1},
		"refused by the role":   {token: reader.Token, watches: 1},
		"not allowed":           {rule: always(faulttest.Fault{Status: http.StatusMethodNotAllowed}), watches: 1},
		"not found":             {rule: always(faulttest.Fault{Status: http.StatusNotFound}), watches: 1},
		"expired by the proxy":  {rule: first(faulttest.Fault{Status: http.StatusGone}), watches: 2},
		"expired":               {version: "1", watches: 2},
		"server errors":         {rule: always(faulttest.Fault{Status: http.StatusInternalServerError})},
		"cut off":               {rule: always(faulttest.Fault{Cut: true})},
		"swallowed":             {rule: always(faulttest.Fault{Before: faulttest.Hold}), watches: 1, looks: 5},
		"cut off in between":    {between: breakOff},
		"away in between":       {between: goAway},
		"removed and recreated": {watches: 1, between: l.recreate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := l.through(t)
			if test.token != "" {
				client = clientOf(t, connect.Connection{Host: proxy.Host(), Token: secret.Hide(test.token), ClusterCACertificate: string(proxy.CACertificate())})
			}
			objectName := strings.ReplaceAll(name, " ", "-")
			infos := l.written(t, widget(group, objectName))
			l.patch(t, infos[0], widgetIs("False", "not yet"), "status")
			if err := infos[0].Get(); err != nil {
				t.Fatal(err)
			}
			if test.version != "" {
				rewritten(infos, test.version)
			}
			seen := watching{rule: test.rule}
			proxy.Set(seen.fault)
			proxy.Record()

			var changing sync.WaitGroup
			changing.Go(func() {
				eventually(t, "a watch begins", func() bool { return int(seen.begun.Load()) >= max(1, test.watches) })
				if test.between != nil {
					test.between(t, proxy, infos[0])
				}
				l.patch(t, infos[0], widgetIs("True", ""), "status")
			})
			defer changing.Wait()
			if err := client.WaitReady(soon(t, long), infos, withJobs); err != nil {
				t.Fatal(err)
			}
			changing.Wait()
			eventually(t, "all requests are answered", func() bool { return len(proxy.Recorded()) == proxy.Served() })
			if begun := int(seen.begun.Load()); test.watches > 0 && begun != test.watches {
				t.Errorf("%d watches, want %d: %v", begun, test.watches, proxy.Recorded())
			}
			if looks := proxy.Served() - int(seen.begun.Load()); test.looks > 0 && looks > test.looks {
				t.Errorf("%d looks, want at most %d: %v", looks, test.looks, proxy.Recorded())
			}
		})
	}
}

func breakOff(t *testing.T, proxy *faulttest.Proxy, _ *resource.Info) {
	t.Helper()
	for _, state := range []faulttest.Disturbance{{Down: true}, {}} {
		if err := proxy.Disturb(state); err != nil {
			t.Error(err)
		}
	}
}

// goAway makes some reads fail.
func goAway(t *testing.T, proxy *faulttest.Proxy, _ *resource.Info) {
	t.Helper()
	if err := proxy.Disturb(faulttest.Disturbance{Down: true}); err != nil {
		t.Error(err)
	}
	<-time.After(short)
	if err := proxy.Disturb(faulttest.Disturbance{}); err != nil {
		t.Error(err)
	}
}

func (l lab) recreate(t *testing.T, proxy *faulttest.Proxy, object *resource.Info) {
	t.Helper()
	helper := resource.NewHelper(object.Client, object.Mapping)
	if _, err := helper.Delete(object.Namespace, object.Name); err != nil {
		t.Error(err)
	}
	eventually(t, "what is said to be deleted is looked at", func() bool { return proxy.Served() > 1 })
	anew := &unstructured.Unstructured{}
	anew.SetGroupVersionKind(object.Mapping.GroupVersionKind)
	anew.SetName(object.Name)
	if err := unstructured.SetNestedSlice(anew.Object, []any{map[string]any{"type": "Ready", "status": "False"}}, "status", "conditions"); err != nil {
		t.Error(err)
	}
	if _, err := helper.Create(object.Namespace, true, anew); err != nil {
		t.Error(err)
	}
}

// A failure that a watch reports ends the wait after a time to recover.
func TestAccWaitReadyEndsOnAFailureSeenByWatch(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-fails")
	const group = "fails.example.com"
	l.define(t, group)
	client, proxy := l.through(t)
	infos := l.written(t, widget(group, "a"))
	l.patch(t, infos[0], widgetIs("False", "not yet"), "status")
	var seen watching
	proxy.Set(seen.fault)
	var failing sync.WaitGroup
	failing.Go(func() {
		eventually(t, "a watch begins", func() bool { return seen.begun.Load() > 0 })
		l.patch(t, infos[0], `{"status":{"conditions":[{"type":"Stalled","status":"True","message":"no quota"}]}}`, "status")
	})
	defer failing.Wait()
	began, ctx := time.Now(), soon(t, time.Minute)
	err := client.WaitReady(ctx, infos, release.Readiness{})
	if err == nil || !strings.Contains(err.Error(), "Failed: no quota") {
		t.Errorf("error = %v, want that it has failed", err)
	}
	if took := time.Since(began); took < 10*time.Second || ctx.Err() != nil {
		t.Errorf("it took %s to give up on what has failed, want some 10s", took)
	}
}
