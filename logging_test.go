package main

import (
	"os"
	"testing"
)

// Not parallel: the environment is that of the process.
func TestSpareLogging(t *testing.T) {
	tests := map[string]struct {
		set  map[string]string
		want string
	}{
		"nobody asks":                 {want: "WARN"},
		"Terraform is to log":         {set: map[string]string{"TF_LOG": "TRACE"}},
		"providers are to log":        {set: map[string]string{"TF_LOG_PROVIDER": "DEBUG"}},
		"the framework is to log":     {set: map[string]string{"TF_LOG_SDK_FRAMEWORK": "TRACE"}, want: "TRACE"},
		"all of the SDK is to log":    {set: map[string]string{"TF_LOG_SDK": "INFO"}},
		"an empty level is no demand": {set: map[string]string{"TF_LOG": ""}, want: "WARN"},
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
