// Package unknowns tests that a plan works and is true whichever attribute is unknown.
package unknowns
