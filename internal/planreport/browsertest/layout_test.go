package browsertest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
)

const (
	// cut are visible texts that leave the box that they are in, or that a box cuts off.
	cut = `(() => {
		const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		for (let node; (node = walker.nextNode());) {
			const parent = node.parentElement, box = parent.closest("td, th, li, pre, button, dd, dt, label, summary, p, h1, h2");
			if (!box || !node.data.trim() || !parent.checkVisibility() || parent.closest("select")) continue;
			const range = document.createRange(), outer = box.getBoundingClientRect();
			range.selectNodeContents(node);
			if ([...range.getClientRects()].some((r) => r.left < outer.left - 1 || r.right > outer.right + 1 || r.top < outer.top - 3 || r.bottom > outer.bottom + 3)) found.push(box.tagName + ": " + node.data.slice(0, 60));
		}
		for (const box of document.querySelectorAll("body *")) {
			if (box.id !== "scroll" && box.clientWidth > 0 && getComputedStyle(box).overflowX !== "visible" && (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1)) found.push("hidden in " + box.tagName + " " + box.className);
		}
		if (document.documentElement.scrollWidth > innerWidth) found.push("the page is " + document.documentElement.scrollWidth + " wide");
		return found;
	})()`
	// overlapping are neighbours that overlap.
	overlapping = `(() => {
		const found = [];
		for (const parent of document.querySelectorAll("body, main, main > section, header, #summary, #commits, #changes, #changes details, #tools, #warnings, #stages, #stages li, #matrix tr")) {
			const boxes = [...parent.children].filter((child) => child.checkVisibility() && child.getClientRects().length === 1);
			boxes.forEach((box, i) => boxes.slice(i + 1).forEach((other) => {
				const a = box.getBoundingClientRect(), b = other.getBoundingClientRect();
				if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) found.push(box.outerHTML.slice(0, 80) + " and " + other.outerHTML.slice(0, 80));
			}));
		}
		return found;
	})()`
	// sections are the headings from top to bottom.
	sections = `[...document.querySelectorAll("main h2")].filter((title) => title.checkVisibility()).sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((title) => title.firstChild.data.trim())`
)

// Nothing is cut and nothing overlaps, on any width. The table has its full width, and tells if it has
// to be scrolled. The names of the clusters then stay.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		clusters, bundles int
		width             int64
		scrolls           bool
	}{
		{3, 5, 1240, false},
		{3, 5, 390, true},
		{50, 20, 1240, false},
		{50, 20, 390, true},
		{20, 50, 1240, true},
	} {
		t.Run(fmt.Sprintf("%d x %d on %d", test.clusters, test.bundles, test.width), func(t *testing.T) {
			t.Parallel()
			path := written(t, "plan.html", takingOver(longNames(fleetOf(test.clusters, test.bundles))))
			b := show(t, path, test.width, 900)
			expect(t, b, cut, []string{})
			expect(t, b, overlapping, []string{})
			expect(t, b, sections, []string{"Changes", "Warnings", "Deployments", "Stages"})
			expect(t, b, `document.getElementById("scroll").scrollWidth > document.getElementById("scroll").clientWidth`, test.scrolls)
			expect(t, b, `document.getElementById("wide").checkVisibility()`, test.scrolls)
			expect(t, b, stays, []bool{true, true, true, true})
			b.expectQuiet(t, path)
		})
	}
}

// stays tells what is true after the table is scrolled to its end: the last column is visible, the
// names of the clusters are at the left, they are on top, and the titles of groups are visible.
const stays = `(() => {
	const scroll = document.getElementById("scroll");
	scroll.scrollIntoView({ block: "center" });
	scroll.scrollTo(scroll.scrollWidth, 0);
	const box = scroll.getBoundingClientRect();
	const last = document.querySelector("#matrix thead th:last-child").getBoundingClientRect();
	const names = [...document.querySelectorAll('#matrix tbody th[scope="row"]')].slice(0, 3).map((cell) => cell.getBoundingClientRect());
	const onTop = (r) => document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2)?.closest("th") !== null;
	const groups = [...document.querySelectorAll("#matrix tr.group bdi")].map((title) => title.getBoundingClientRect());
	return [last.right <= box.right + 1, names.every((r) => Math.abs(r.left - box.left) < 3), names.every(onTop), groups.every((r) => r.left >= box.left && r.right <= box.right)];
})()`

// longNames gives a cluster and a bundle the longest names that are possible.
func longNames(of planreport.Target) planreport.Target {
	const cluster, bundle = "us-1-a-cluster-whose-name-has-as-many-characters-as-a-label-can", "metrics-and-everything-else-that-observes-the-cluster"
	last := len(of.Bundles) - 1
	former := of.Bundles[last]
	of.Bundles[last] = bundle
	of.Clusters[1].Name = cluster
	for i := range of.Deployments {
		d := &of.Deployments[i]
		if d.Cluster == "us-1" {
			d.Cluster = cluster
		}
		if d.Bundle == former {
			d.Bundle = bundle
		}
	}
	return of
}

// On paper there are all diffs, also those that are closed or not shown yet, and nothing to click.
func TestPrint(t *testing.T) {
	t.Parallel()
	path := written(t, "plan.html", allChange(15, 20, 15, 4, 1))
	b := show(t, path, 1240, 900)
	const shown = `document.querySelectorAll("#changes > li").length`
	if first := eval[int](t, b, shown); first >= 300 {
		t.Fatalf("all %d changes are shown before printing", first)
	}
	b.run(t, chromedp.Click("#changes summary"), chromedp.Click(`#matrix td[data-row="0"]`))
	expect(t, b, `document.querySelector("#changes details").open`, false)
	b.run(t, chromedp.Evaluate(`window.addEventListener("beforeprint", () => { window.printed = document.querySelectorAll("#changes > li > details[open] pre").length; })`, nil),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, _, err := page.PrintToPDF().Do(ctx)
			return err
		}))
	expect(t, b, `window.printed`, 300)
	expect(t, b, `document.querySelector("#changes details").open`, false)

	b.run(t, emulation.SetEmulatedMedia().WithMedia("print"))
	expect(t, b, `[...document.querySelectorAll(".tools, .keys, #targets, #more, #detail, .close, input, select")].filter((element) => element.checkVisibility()).length`, 0)
	expect(t, b, `["overflowX", "overflowY", "maxHeight"].map((name) => getComputedStyle(document.getElementById("scroll"))[name])`, []string{"visible", "visible", "none"})
	expect(t, b, `getComputedStyle(document.querySelector("#matrix tbody th")).position`, "static")
	expect(t, b, sections, []string{"Changes", "Warnings", "Deployments", "Stages"})
	b.run(t, emulation.SetDeviceMetricsOverride(718, 1000, 1, false)) // The width of a page of A4 between its margins.
	expect(t, b, cut, []string{})
	expect(t, b, overlapping, []string{})
}
