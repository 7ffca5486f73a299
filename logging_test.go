package main

import (
	"os"
	"testing"
)

// Not parallel: the environment belongs to the whole process.
func TestSpareLogging(t *testing.T) {
	tests := map[string]struct {
		set  map[string]string
		want string
	}{
		"nobody asks":               {want: "INFO"},
		"Terraform is to log all":   {set: map[string]string{"TF_LOG": "trace"}},
		"as JSON":                   {set: map[string]string{"TF_LOG": "JSON"}},
		"providers are to log much": {set: map[string]string{"TF_LOG": "ERROR", "TF_LOG_PROVIDER": "DEBUG"}},
		"all of the SDK is to log":  {set: map[string]string{"TF_LOG_SDK": "DEBUG"}},
		"warnings are asked for":    {set: map[string]string{"TF_LOG_PROVIDER": "warn"}, want: "INFO"},
		"the framework is to log":   {set: map[string]string{frameworkLevel: "TRACE"}, want: "TRACE"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, level := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK", frameworkLevel} {
				t.Setenv(level, test.set[level])
			}
			if err := spareLogging(); err != nil {
				t.Fatal(err)
			}
			if got := os.Getenv(frameworkLevel); got != test.want {
				t.Errorf("the framework logs from %q on, want %q", got, test.want)
			}
		})
	}
}
