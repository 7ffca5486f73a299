package planreport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
)

// runID returns an id that is the same for all provider processes that one process of Terraform
// started.
func runID() string {
	parent := os.Getppid()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", parent, startOf(parent)))
	return hex.EncodeToString(sum[:6])
}

// startOf returns when a process was started, on Linux. On other systems it returns "", and only
// the process ID distinguishes a run from earlier runs.
func startOf(process int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return ""
	}
	// The name of the program is in parentheses and can contain both spaces and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const start = 19 // proc(5): field 22, and the first one here is field 3.
	if len(fields) <= start {
		return ""
	}
	return string(fields[start])
}
