package main

import "testing"

func TestUnknownClusters(t *testing.T) {
	t.Parallel()
	if _, err := clustersOf("cloud"); err == nil {
		t.Error("unknown clusters are accepted")
	}
}
