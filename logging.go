package main

import (
	"os"
	"strings"
)

// frameworkLevel is what tells the plugin framework from which level on it logs.
const frameworkLevel = "TF_LOG_SDK_FRAMEWORK"

// spareLogging keeps the plugin framework from logging what nobody asked for. It logs a
// line or more for each value of a plan, whether Terraform throws it away or not, and
// looks for its logger in a context that has grown with each value before
// (internal/fwserver, MarkComputedNilsAsUnknown and NullifyWriteOnlyAttributes of 1.19):
// time with the square of the values, which was most of a plan of 4000 deployments.
func spareLogging() error {
	if os.Getenv(frameworkLevel) != "" {
		return nil
	}
	for _, asked := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK"} {
		switch strings.ToUpper(os.Getenv(asked)) {
		case "", "INFO", "WARN", "ERROR", "OFF":
		default: // TRACE, DEBUG, and JSON, which is everything.
			return nil
		}
	}
	return os.Setenv(frameworkLevel, "INFO")
}
