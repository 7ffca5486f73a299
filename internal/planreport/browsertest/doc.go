// Package browsertest tests the reports of plans as their readers see them: the page in Chromium,
// and the Markdown as HTML.
package browsertest
