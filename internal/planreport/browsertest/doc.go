// Package browsertest tests the reports of plans as readers see them: the page in Chromium, and the
// Markdown as HTML.
package browsertest
