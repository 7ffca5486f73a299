package fetch_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fetch"
)

// Addresses that authors do not reach, in all forms. Behind a proxy the form is checked, and else the
// resolved address.
func TestAddressesThatAreNotPublic(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		addresses   []string
		refused     bool // By default.
		refusedMore bool // Without private addresses.
	}{
		"the machine":      {[]string{"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "::127.0.0.1"}, true, true},
		"its link":         {[]string{"169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.1.1"}, true, true},
		"no address":       {[]string{"0.0.0.0", "::", "0.1.2.3", "255.255.255.255", "224.0.0.1", "ff02::1"}, true, true},
		"metadata":         {[]string{"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "64:ff9b::a9fe:a9fe"}, true, true},
		"those of company": {[]string{"10.1.2.3", "172.16.0.1", "192.168.1.1", "fd12::1", "100.64.0.1", "::ffff:10.0.0.1"}, false, true},
		"public":           {[]string{"192.0.2.1", "2001:db8::1", "172.15.0.1", "100.63.0.1", "8.8.8.8"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, address := range test.addresses {
				netip.MustParseAddr(address)
				for refusesPrivate, want := range map[bool]bool{false: test.refused, true: test.refusedMore} {
					err := fetch.Boundary{RefusesPrivate: refusesPrivate}.CheckName(address, address)
					if isRefused := err != nil; isRefused != want {
						t.Errorf("%s, without private addresses %t: %v, want a refusal: %t", address, refusesPrivate, err, want)
					}
				}
			}
		})
	}
}

// One text for an open port, for a closed port and for a name of the machine. Nothing connects.
func TestDialTellsNothing(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // It is open until then; the garbage collector would close it.
	open := listener.Addr().String()
	_, port, err := net.SplitHostPort(open)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := (fetch.Boundary{}).Dial(t.Context(), true, open); err != nil || conn.Close() != nil {
		t.Fatalf("a trusted server: %v", err)
	}
	texts := map[string]bool{}
	for _, address := range []string{open, "localhost:" + port, "127.0.0.1:1", "[::1]:1"} {
		_, err := fetch.Boundary{}.Dial(t.Context(), false, address)
		if _, ok := errors.AsType[*fetch.ConnectError](err); !ok {
			t.Fatalf("%s: %v, want a ConnectError", address, err)
		}
		texts[strings.ReplaceAll(err.Error(), address, "ADDRESS")] = true
	}
	if len(texts) != 1 {
		t.Errorf("there is more than one text: %v", texts)
	}
}

// Each request and each redirect is checked, and a connection of a trusted request is not used for
// another one.
func TestTransport(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.URL.Path
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "/secret", http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	transport, err := fetch.NewTransport(fetch.Boundary{}, fetch.Trust{}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	get := func(ctx context.Context, path string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	at := func(path string) fetch.Scope {
		parsed, err := url.Parse(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return fetch.ScopeOf(parsed)
	}
	isRefused := func(err error) bool {
		_, ok := errors.AsType[*fetch.ConnectError](err)
		return ok
	}
	if err := get(fetch.Naming(t.Context(), at("/open")), "/open"); err != nil {
		t.Errorf("a named address: %v", err)
	}
	if err := get(fetch.WithReach(t.Context(), fetch.Reach{}), "/open"); !isRefused(err) {
		t.Errorf("the same address, not named: %v", err)
	}
	if err := get(fetch.Naming(t.Context(), at("/away")), "/away"); !isRefused(err) {
		t.Errorf("a redirect: %v", err)
	}
	close(requests)
	var got []string
	for path := range requests {
		got = append(got, path)
	}
	if diff := cmp.Diff([]string{"/open", "/away"}, got); diff != "" {
		t.Error(diff)
	}
}
