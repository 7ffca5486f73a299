package browsertest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
)

// titles are the headings of the list of changes.
const titles = `[...document.querySelectorAll("#changes h3")].map((title) => title.innerText.replace(/\s+/g, " "))`

// The page begins with the changes, each once with its diff and the clusters that share it.
func TestChanges(t *testing.T) {
	t.Parallel()
	path := written(t, "plan.html", takingOver(fleetOf(6, 3)))
	b := show(t, path, 1400, 900)
	expect(t, b, titles, []string{
		"− api removed from 1 cluster, objects −1",
		"− cert-manager removed from 1 cluster, objects −1",
		"− web removed from 1 cluster, objects −1",
		"» cert-manager taken over on 1 cluster, objects ~1",
		"~ web changed on 5 clusters, objects +1 ~2",
		"+ api added on 1 cluster, objects +1",
		"‖ cert-manager held on 1 cluster",
	})
	expect(t, b, `document.getElementById("different").textContent`, "7 different, in 11 deployments")
	expect(t, b, `document.querySelectorAll("#changes details:not([open])").length`, 0)
	const web = `document.querySelector('#changes details[data-action="change"]')`
	expect(t, b, web+`.querySelector(".where").innerText`, "eu-1, us-1, ap-1, eu-2, us-2")
	// The diff does not have the added object.
	expect(t, b, web+`.querySelector("pre").innerText.trimEnd()`, diffText+"\n \n+ PodDisruptionBudget.policy/shop/web")
	expect(t, b, web+`.querySelector(".facts").innerText`, "chart web-1.5.0 · release web/web · stages 1, 2 of 2 · commit 4be0ac881d → 91c3d27fe0 Release web 1.5.0 by Jane Doe")
	expect(t, b, `[...document.querySelectorAll("#commits li")].map((item) => item.innerText)`, []string{"https://github.com/acme/fleet 4be0ac881d → 91c3d27fe0 Release web 1.5.0 by Jane Doe"})
	expect(t, b, `document.querySelector('#changes details[data-action="held"]').innerText.includes("the bundle or the cluster is paused")`, true)
	expect(t, b, `document.querySelector('#changes details[data-action="taken"] .notes').innerText`, "it is taken over, and compared with the live objects")
	expect(t, b, `document.querySelector('#matrix td[aria-label^="eu-1, cert-manager: taken over"]').textContent`, "»")
	expect(t, b, `document.getElementById("summary").innerText.replace(/\s+/g, " ")`, "+ 1 added ~ 5 changed » 1 taken over − 3 removed = 7 kept ‖ 1 held ! 1 warning")

	// Warnings are counted at the top and are open.
	expect(t, b, `document.querySelector("#warnings details").open`, true)
	b.run(t, chromedp.Click("#summary .warned button"))
	expect(t, b, `document.activeElement.textContent`, "Warnings")
	expect(t, b, `(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.activeElement.getBoundingClientRect())`, true)
	b.expectQuiet(t, path)
}

// Objects that the diff of an upgrade leaves out have a line each. A removed object that stays on the
// cluster has its line in the diff.
func TestRemovedObjects(t *testing.T) {
	t.Parallel()
	of := fleetOf(3, 1)
	for i := range of.Deployments[:2] {
		of.Deployments[i].Objects = append(of.Deployments[i].Objects,
			planreport.Object{Key: "PersistentVolumeClaim/shop/data", Change: planreport.ObjectRemoved}, planreport.Object{Key: "PersistentVolumeClaim/shop/data-1", Change: planreport.ObjectRemoved})
	}
	of.Diffs["d1"] = "= PersistentVolumeClaim/shop/data-1, stays on the cluster (helm.sh/resource-policy: keep)"
	b := show(t, written(t, "plan.html", of), 1400, 900)
	expect(t, b, `document.querySelector('#changes details[data-action="change"] pre').innerText.split("\n").filter((line) => line.trim())`,
		[]string{"- PersistentVolumeClaim/shop/data", of.Diffs["d1"], "+ PodDisruptionBudget.policy/shop/web"})
}

// The first clusters of a change are visible, and the others after a click.
func TestManyClusters(t *testing.T) {
	t.Parallel()
	b := show(t, written(t, "plan.html", fleetOf(120, 1)), 1400, 900)
	const where = `document.querySelector('#changes details[data-action="change"] details.where')`
	expect(t, b, `document.querySelector('#changes details[data-action="change"] p.where').innerText.split(", ").length`, 40)
	expect(t, b, where+`.innerText.trim()`, "and 79 more")
	b.run(t, chromedp.Click(`#changes details[data-action="change"] details.where summary`))
	expect(t, b, where+`.querySelector("bdi").innerText.split(", ").length`, 79)
}

// The tab key walks the list, Enter closes a change, and a screen reader finds a list with headings.
func TestWalkTheList(t *testing.T) {
	t.Parallel()
	b := show(t, written(t, "plan.html", fleetOf(6, 3)), 1400, 900)
	wanted := eval[[]string](t, b, titles)
	b.run(t, chromedp.Focus("#changes summary"))
	for i, want := range wanted {
		expect(t, b, `document.activeElement.innerText.replace(/\s+/g, " ")`, want)
		b.run(t, chromedp.KeyEvent(kb.Enter))
		closed := fmt.Sprintf(`[...document.querySelectorAll("#changes > li > details")].map((details) => details.open).indexOf(true) === %d`, map[bool]int{true: -1, false: i + 1}[i+1 == len(wanted)])
		expect(t, b, closed, true)
		b.run(t, chromedp.KeyEvent(kb.Tab))
	}
	expect(t, b, `document.activeElement.innerText`, "Target prod: deployments are held") // The list ends, the warnings follow.

	var headings []string
	items := 0
	for _, node := range accessible(t, b) {
		switch {
		case node.Ignored:
		case node.Role.Value == "heading":
			headings = append(headings, node.Name.Value)
		case node.Role.Value == "list" && idOf(t, b, node.BackendDOMNodeID) == "changes":
			items = len(node.ChildIDs)
		}
	}
	want := []string{"Plan of target prod", "Changes 6 different, in 10 deployments"}
	for _, title := range wanted {
		_, text, _ := strings.Cut(title, " ") // Its mark is for the eye only.
		want = append(want, text)
	}
	want = append(want, "Warnings", "Deployments", "Stages")
	slices.Sort(want)
	slices.Sort(headings) // The tree is not in the order of the page.
	if diff := cmp.Diff(want, headings); diff != "" {
		t.Errorf("headings (-want +got):\n%s", diff)
	}
	if items != len(wanted) {
		t.Errorf("the list has %d items for %d changes", items, len(wanted))
	}
}

// accessibleNode is a node as assistive software gets it. The types of cdproto do not have all
// values of newer browsers.
type accessibleNode struct {
	Ignored          bool              `json:"ignored"`
	Role             accessibleText    `json:"role"`
	Name             accessibleText    `json:"name"`
	ChildIDs         []string          `json:"childIds"`
	BackendDOMNodeID cdp.BackendNodeID `json:"backendDOMNodeId"`
}

type accessibleText struct {
	Value string `json:"value"`
}

func accessible(t *testing.T, b *browser) []accessibleNode {
	t.Helper()
	var tree struct {
		Nodes []accessibleNode `json:"nodes"`
	}
	b.run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		return cdp.Execute(ctx, accessibility.CommandGetFullAXTree, nil, &tree)
	}))
	return tree.Nodes
}

// idOf returns the id attribute of an element.
func idOf(t *testing.T, b *browser, node cdp.BackendNodeID) string {
	t.Helper()
	var id string
	b.run(t, chromedp.ActionFunc(func(ctx context.Context) error {
		described, err := dom.DescribeNode().WithBackendNodeID(node).Do(ctx)
		if err == nil {
			id = described.AttributeValue("id")
		}
		return err
	}))
	return id
}

// A page of a thousand deployments stays small, also if nothing in it is equal. What is not shown at
// first is shown by a button.
func TestSizeOfThousandDeployments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of planreport.Target
		// changes is how many changes the whole list has.
		changes int
	}{
		"few changes":                                      {of: fleetOf(50, 20), changes: 24},
		"each bundle changes":                              {of: allChange(50, 20, 1, 60, 12), changes: 20},
		"each deployment has its own change":               {of: allChange(50, 20, 50, 4, 3), changes: 1000},
		"each deployment has its own change in 12 objects": {of: allChange(50, 20, 50, 4, 12), changes: 1000},
		"no object and no line is equal to another one":    {of: noneEqual(allChange(50, 20, 50, 30, 12)), changes: 1000},
		"a thousand clusters":                              {of: fleetOf(1000, 1), changes: 2},
		"a thousand clusters that have nothing in common":  {of: noneEqual(allChange(1000, 1, 1000, 30, 12)), changes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "plan.html", test.of)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			b := show(t, path, 1400, 900)
			elements, items := eval[int](t, b, `document.querySelectorAll("*").length`), eval[int](t, b, `document.querySelectorAll("#changes > li").length`)
			t.Logf("%d bytes, %d elements, %d changes shown", info.Size(), elements, items)
			if info.Size() > 1<<20 || elements > 5000 || items == 0 {
				t.Error("the page is too large, or shows no change")
			}
			expect(t, b, `(() => { const more = document.getElementById("more"); for (let i = 0; i < 100 && !more.hidden; i++) more.click(); return more.hidden; })()`, true)
			expect(t, b, `document.querySelectorAll("#changes > li").length`, test.changes)
			expect(t, b, `[...document.querySelectorAll("#changes > li > details[open] pre")].every((diff) => diff.innerText.trim() !== "")`, true)
			b.expectQuiet(t, path)
		})
	}
}
