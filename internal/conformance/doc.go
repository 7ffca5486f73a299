// Package conformance compares what is made of repositories here with what the
// real Fleet makes of them: all of it is tests.
package conformance
