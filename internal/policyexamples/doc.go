// Package policyexamples tests the policies in examples/policies: those for OPA over a plan that
// internal/acceptance records, and the mock for Sentinel, which is the same plan.
package policyexamples
