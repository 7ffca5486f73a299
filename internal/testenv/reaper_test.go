package testenv

import "testing"

func TestBelongsTo(t *testing.T) {
	t.Parallel()
	const dir = "/tmp/fleet-testenv-12"
	tests := []struct {
		name string
		args string
		want bool
	}{
		{name: "a program of the environment", args: "/r/.build/testenv/0a/kube-apiserver --cert=/tmp/fleet-testenv-12/c1/a.crt", want: true},
		{name: "its reaper", args: "/bin/sh -c " + reaperScript + " testenv-reaper /tmp/fleet-testenv-12", want: true},
		{name: "a program of Fleet in the environment", args: "/tmp/fleet-testenv-12/fleet/fleetcontroller agentmanagement", want: true},
		{name: "a program of Fleet in another environment", args: "/tmp/fleet-testenv-123/fleet/fleetagent"},
		{name: "a program of another environment", args: "/r/.build/testenv/0a/etcd --data-dir=/tmp/fleet-testenv-123/etcd"},
		{name: "another reaper", args: "/bin/sh -c " + reaperScript + " testenv-reaper /tmp/fleet-testenv-123"},
		{name: "somebody reading a log", args: "less /tmp/fleet-testenv-12/etcd.log"},
		{name: "a program of somebody else", args: "/usr/bin/etcd --data-dir=/var/lib/etcd"},
		{name: "nothing", args: ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := belongsTo(dir, test.args); got != test.want {
				t.Errorf("belongsTo(%q): got %v, want %v", test.args, got, test.want)
			}
		})
	}
}
