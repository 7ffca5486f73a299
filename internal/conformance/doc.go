// Package conformance compares the results of this provider for repositories with the results of
// the real Fleet. It consists of tests only.
package conformance
