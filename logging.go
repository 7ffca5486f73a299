package main

import (
	"os"
	"strings"
)

// frameworkLevel is the environment variable with the log level of the plugin framework.
const frameworkLevel = "TF_LOG_SDK_FRAMEWORK"

// spareLogging turns off debug logs of the plugin framework that the user has not requested. The
// framework logs a line or more for each value of a plan, even if Terraform discards the line. For
// each line it looks up its logger in a context that grows with each value (internal/fwserver,
// MarkComputedNilsAsUnknown and NullifyWriteOnlyAttributes of 1.19). So the time grows with the
// square of the values, which was most of the time of a plan of 4000 deployments.
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
