package kube_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// For many kinds, the response to a write shows that the object is ready. No request is sent then.
func TestAccResponsesToWritesAreUsed(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-answers")
	l.define(t, "answers.example.com")
	const meta = "apiVersion: %s\nkind: %s\nmetadata: {name: a}\n"
	tests := map[string]struct {
		manifest string
		want     map[string]int
	}{
		"config map":      {manifest: configMap("a", "")},
		"secret":          {manifest: fmt.Sprintf(meta, "v1", "Secret")},
		"service account": {manifest: fmt.Sprintf(meta, "v1", "ServiceAccount")},
		"service":         {manifest: fmt.Sprintf(meta, "v1", "Service") + "spec: {ports: [{port: 80}]}"},
		"role":            {manifest: fmt.Sprintf(meta, "rbac.authorization.k8s.io/v1", "Role")},
		"ingress":         {manifest: fmt.Sprintf(meta, "networking.k8s.io/v1", "Ingress") + "spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}"},
		// Controllers have not processed these objects yet.
		"stateful set without pods": {manifest: fmt.Sprintf(meta, "apps/v1", "StatefulSet") + "spec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + fmt.Sprintf(pods, "a", "") + "}", want: map[string]int{"get": 1}},
		"disruption budget":         {manifest: fmt.Sprintf(meta, "policy/v1", "PodDisruptionBudget") + "spec: {minAvailable: 0, selector: {matchLabels: {app: a}}}", want: map[string]int{"get": 1}},
		"kind of others":            {manifest: widget("answers.example.com", "a"), want: map[string]int{"get": 1}},
		// A deployment is not ready when it is created.
		"deployment": {manifest: webDeployment(), want: map[string]int{"watch": 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, proxy := l.through(t)
			infos := l.written(t, test.manifest)
			proxy.Record()
			if err := client.WaitReady(soon(t, long), infos, withJobs); err != nil {
				t.Fatal(err)
			}
			eventually(t, "all requests are answered", func() bool { return len(proxy.Recorded()) == proxy.Served() })
			got := verbs(proxy.Recorded())
			if got["watch"] > 0 && testenv.Shared(t).External() {
				delete(got, "get") // The ticks of a wait in which containers start.
			}
			if !maps.Equal(got, test.want) {
				t.Errorf("asked for %v, want %v", proxy.Recorded(), test.want)
			}
		})
	}
}

// A longer wait sends no more requests, except for the ticks.
func TestAccWaitingSendsNoRequests(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-quiet")
	const managed = ", labels: {app.kubernetes.io/managed-by: Helm}"
	labelled := func(name string) string {
		return strings.Replace(claim(name), "{name: "+name, "{name: "+name+managed, 1)
	}
	for name, test := range map[string]struct {
		manifests []string
		watches   int
	}{
		"one":                {manifests: []string{claim("one")}, watches: 1},
		"some of one kind":   {manifests: []string{labelled("a"), labelled("b"), labelled("c")}, watches: 1},
		"without the label":  {manifests: []string{claim("d"), labelled("e")}, watches: 1},
		"two kinds":          {manifests: []string{claim("f"), strings.Replace(job("g"), "spec: {template", "spec: {suspend: true, template", 1)}, watches: 2},
		"with what is ready": {manifests: []string{claim("h"), configMap("i", ""), configMap("j", "")}, watches: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			infos := l.written(t, test.manifests...)
			for _, wait := range []struct {
				last  time.Duration
				ticks int // at most, after 2, 3 and 4.5 seconds
			}{{last: 1500 * time.Millisecond}, {last: 8 * time.Second, ticks: 2}} {
				client, proxy := l.through(t)
				proxy.Record()
				if err := client.WaitReady(soon(t, wait.last), infos, withJobs); !errors.As(err, new(*kube.NotReadyError)) {
					t.Fatalf("error = %v, want a NotReadyError", err)
				}
				eventually(t, "all requests are answered", func() bool { return len(proxy.Recorded()) == proxy.Served() })
				calls := proxy.Recorded()
				// The requests that explain the failure are sent after the wait.
				explains := func(call faulttest.Call) bool {
					return strings.Contains(call.URL, "/events?") || strings.Contains(call.URL, "/pods?")
				}
				if at := slices.IndexFunc(calls, explains); at >= 0 {
					if slices.ContainsFunc(calls[at:], func(call faulttest.Call) bool { return !explains(call) }) || len(calls)-at > test.watches+1 {
						t.Errorf("%v explain the failure, want two lists of events, and one of the pods of a job", calls[at:])
					}
					calls = calls[:at]
				} else {
					t.Error("nothing explains the failure")
				}
				looks := slices.DeleteFunc(slices.Clone(calls), func(call faulttest.Call) bool { return call.Verb == "watch" })
				// On a busy machine the short wait may begin no watch.
				if watches := len(calls) - len(looks); watches > test.watches || wait.ticks > 0 && watches < test.watches {
					t.Errorf("%d watches in %s, want %d: %v", watches, wait.last, test.watches, calls)
				}
				// For each kind, a tick takes a request for one object, or a list and a request for
				// each object without the label.
				if most := wait.ticks * 3; len(looks) > most {
					t.Errorf("%d looks in %s, want at most %d: %v", len(looks), wait.last, most, looks)
				}
				t.Logf("%s: %d requests: %v", wait.last, len(calls), verbs(calls))
			}
		})
	}
}

// A watch that always ends at once is started again after each poll, and there are pauses between
// the polls.
func TestAccWatchesThatEndAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-ends")
	infos := l.written(t, claim("a"))
	client, proxy := l.through(t)
	seen := watching{rule: func(int32) faulttest.Fault { return faulttest.Fault{Empty: true} }}
	proxy.Set(seen.fault)
	if err := client.WaitReady(soon(t, 2*short), infos, withJobs); !errors.As(err, new(*kube.NotReadyError)) {
		t.Errorf("error = %v, want a NotReadyError", err)
	}
	const most = 8 // polls in two seconds: pauses begin at a tenth of a second and grow by half
	if begun := int(seen.begun.Load()); begun < 2 || begun > most {
		t.Errorf("%d watches, want some and at most %d", begun, most)
	}
	if looks := proxy.Served() - int(seen.begun.Load()); looks > most {
		t.Errorf("%d looks, want at most %d", looks, most)
	}
}

// A wait leaves nothing behind: neither a watch on the API server nor a goroutine.
func TestAccWaitingLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l := newLab(t, "watch-leaves")
	const group = "leaves.example.com"
	l.define(t, group)
	client, proxy := l.through(t)
	infos := l.written(t, claim("a"), widget(group, "w"))
	l.patch(t, infos[1], widgetIs("False", "not yet"), "status")
	if _, err := client.UID(t.Context()); err != nil { // The connection stays open.
		t.Fatal(err)
	}
	var seen watching
	proxy.Set(seen.fault)
	proxy.Record()
	before := proxy.Served()
	pprof.Do(t.Context(), pprof.Labels("wait", l.namespace), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, short)
		defer cancel()
		if err := client.WaitReady(ctx, infos, withJobs); !errors.As(err, new(*kube.NotReadyError)) {
			t.Errorf("error = %v, want a NotReadyError", err)
		}
	})
	if begun := seen.begun.Load(); begun != 2 {
		t.Errorf("%d watches, want 2", begun)
	}
	eventually(t, "all watches have ended", func() bool { return len(proxy.Recorded()) == proxy.Served()-before })
	eventually(t, "all goroutines have ended", func() bool {
		var profile bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(profile.String(), fmt.Sprintf("%q:%q", "wait", l.namespace))
	})
}
