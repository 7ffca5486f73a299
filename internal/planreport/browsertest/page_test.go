package browsertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
)

const cellTexts = `Object.fromEntries([...document.querySelectorAll("#matrix td[data-action]")].map((cell) => [cell.getAttribute("aria-label"), cell.textContent]))`

// Each cell has the mark of its deployment, a click shows the objects and the diff, and nothing is
// loaded.
func TestPage(t *testing.T) {
	t.Parallel()
	of := fleetOf(12, 6)
	path := written(t, "plan.html", of)
	b := show(t, path, 1400, 900)
	marks := map[planreport.Action][2]string{
		planreport.Add: {"+", "added"}, planreport.Change: {"~", "changed"}, planreport.Remove: {"−", "removed"},
		planreport.Keep: {"=", "kept"}, planreport.Held: {"‖", "held"}, planreport.Unknown: {"?", "unknown before the apply"},
	}
	want := map[string]string{}
	for _, d := range of.Deployments {
		label := d.Cluster + ", " + d.Bundle + ": " + marks[d.Action][1]
		switch {
		case len(d.Objects) == 1:
			label += ", 1 object"
		case len(d.Objects) > 1:
			label += fmt.Sprintf(", %d objects", len(d.Objects))
		case d.ObjectsUnknown:
			label += ", objects unknown"
		}
		if d.Stage > 0 {
			label += fmt.Sprintf(", stage %d", d.Stage)
		}
		want[label] = marks[d.Action][0]
	}
	expect(t, b, cellTexts, want)
	expect(t, b, `document.getElementById("summary").innerText.replace(/\s+/g, " ")`, "+ 4 added ~ 11 changed − 6 removed = 49 kept ‖ 2 held ! 1 warning")
	expect(t, b, `[...document.querySelectorAll("#stages li")].map((item) => item.innerText.split("\n")[0])`, []string{"1", "2", "3", "−", "‖"})
	expect(t, b, `document.querySelector("#warnings summary").textContent`, "Target prod: deployments are held")

	b.run(t, chromedp.Click(`td[aria-label^="eu-2, web:"]`))
	expect(t, b, `document.querySelector("#detail h2 bdi").textContent`, "eu-2 / web")
	expect(t, b, `document.querySelector("#detail pre").innerText.trimEnd()`, strings.TrimRight(diffText, "\n"))
	expect(t, b, `[...document.querySelectorAll("#detail .objects tbody tr")].map((row) => row.innerText.replace(/\s+/g, " "))`, []string{
		"~changed ConfigMap/shop/web-config 0c51aa7e22d1 → b81f20d6c3ee", "~changed Deployment.apps/shop/web 77d20b91fa4c → e02c4a96b15d", "+added PodDisruptionBudget.policy/shop/web 3ad90e1174bc",
	})
	expect(t, b, `document.querySelectorAll("#matrix td[aria-selected=true]").length`, 1)
	b.run(t, chromedp.KeyEvent(kb.Escape), chromedp.Click(`td[aria-label^="ap-4, web:"]`))
	expect(t, b, `document.querySelector("#detail dl").innerText.includes("removed")`, true)
	b.run(t, chromedp.KeyEvent(kb.Escape), chromedp.Click(`td[aria-label^="ap-1, cert-manager:"]`))
	expect(t, b, `document.querySelector("#detail dl").innerText.includes("the bundle or the cluster is paused")`, true)

	b.run(t, chromedp.KeyEvent(kb.Escape), chromedp.Click(`#stages li:nth-child(2) button`))
	expect(t, b, `document.querySelectorAll("#matrix.staged td.instage").length`, 3)
	b.expectQuiet(t, path)
}

// The table works with the keyboard alone, and the tab key reaches exactly one of its cells.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	path := written(t, "plan.html", fleetOf(30, 12))
	b := show(t, path, 1200, 800)
	const focused = `document.activeElement.getAttribute("aria-label").split(":")[0]`
	b.run(t, chromedp.Focus(`#matrix td[tabindex="0"]`))
	expect(t, b, focused, "eu-1, web") // The group canary is first.
	for _, step := range []struct{ key, want string }{
		{kb.ArrowRight, "eu-1, api"},
		{kb.ArrowDown, "us-1, api"},
		{kb.ArrowLeft, "us-1, web"},
		{kb.ArrowLeft, "us-1, web"},
		{kb.ArrowUp, "eu-1, web"},
		{kb.End, "eu-1, team-11-app"},
		{kb.PageDown, "us-4, team-11-app"},
		{kb.Home, "us-4, web"},
		{kb.PageUp, "eu-1, web"},
	} {
		b.run(t, chromedp.KeyEvent(step.key))
		expect(t, b, focused, step.want)
	}
	expect(t, b, `document.querySelectorAll('#matrix td[tabindex="0"]').length`, 1)
	b.run(t, chromedp.KeyEvent(kb.Enter))
	expect(t, b, `document.activeElement.textContent`, "~eu-1 / web")
	b.run(t, chromedp.KeyEvent(kb.Escape))
	expect(t, b, focused, "eu-1, web")
	b.run(t, chromedp.KeyEvent(kb.Tab))
	expect(t, b, `document.activeElement.closest("#matrix")`, map[string]any(nil)) // One press leaves the table.
	b.expectQuiet(t, path)
}

// 200 clusters with 50 bundles: filters, groups and headers that stay.
func TestLargeFleet(t *testing.T) {
	t.Parallel()
	path := written(t, "plan.html", fleetOf(200, 50))
	b := show(t, path, 1400, 900)
	expect(t, b, `document.querySelectorAll("#matrix td[data-action]").length`, 10_000)
	shown := `document.getElementById("shown").textContent`
	expect(t, b, shown, "200 clusters × 50 bundles shown")

	// The headers stay in place when the table is scrolled to its end.
	const corner = `(() => { const s = document.getElementById("scroll"); s.scrollTo(s.scrollWidth, s.scrollHeight);
		const box = s.getBoundingClientRect(), head = document.querySelector("#matrix thead th:last-child").getBoundingClientRect(), row = document.querySelector("#matrix tbody tr:last-child th").getBoundingClientRect();
		return [s.scrollTop > 1000, Math.abs(head.top - box.top) < 3, Math.abs(row.left - box.left) < 3]; })()`
	expect(t, b, corner, []bool{true, true, true})

	const drawn = `(() => { const group = document.getElementById("group"), before = performance.now(); group.dispatchEvent(new Event("change"));
		const made = performance.now(); document.body.getBoundingClientRect(); document.querySelector("#matrix tr:last-child td").getBoundingClientRect();
		return [Math.round(made - before), Math.round(performance.now() - made)]; })()`
	t.Logf("10,000 cells are made and laid out again in %v ms", eval[[]int](t, b, drawn))
	b.run(t, chromedp.Click("#only"))
	expect(t, b, `document.getElementById("only").checked`, true)
	b.run(t, chromedp.SendKeys("#clusters", "eu-1"), chromedp.SendKeys("#bundles", "WEB"), chromedp.Poll(shown+`.startsWith("11 clusters × 1 bundle ")`, nil))
	b.run(t, chromedp.SendKeys("#bundles", "zzz"), chromedp.Poll(`document.querySelector("#matrix .empty")?.textContent === "No deployment matches the filters."`, nil))
	b.run(t, chromedp.Evaluate(`for (const id of ["clusters", "bundles"]) { const field = document.getElementById(id); field.value = ""; field.dispatchEvent(new Event("input")); }`, nil),
		chromedp.Poll(shown+`.startsWith("200 clusters")`, nil))
	b.run(t, chromedp.SetValue("#group", "label:region"), chromedp.Evaluate(`document.getElementById("group").dispatchEvent(new Event("change"))`, nil))
	expect(t, b, `[...document.querySelectorAll("#matrix tr.group")].map((row) => row.textContent)`, []string{"region = ap · 66 clusters", "region = eu · 67 clusters", "region = us · 67 clusters"})
	b.expectQuiet(t, path)
}

// Names and manifests are text, with any content.
func TestAttackPage(t *testing.T) {
	t.Parallel()
	of := hostile()
	path := written(t, "plan.html", of)
	b := show(t, path, 1200, 800)
	for i := range of.Bundles {
		b.run(t, chromedp.Evaluate(fmt.Sprintf(`document.querySelectorAll("#matrix td[data-row]")[%d].click()`, i), nil))
	}
	expect(t, b, `document.querySelectorAll("#matrix td[data-row]").length`, 3)
	b.run(t, chromedp.Evaluate(`document.querySelectorAll("#matrix td[data-row]")[0].click()`, nil))
	expect(t, b, `document.querySelector("#detail pre").textContent.includes("<script>window.broken = 3</script>")`, true)
	expect(t, b, `[...document.querySelectorAll("#changes pre")].some((pre) => pre.textContent.includes("<script>window.broken = 3</script>"))`, true)
	expect(t, b, `document.querySelector("#commits q").textContent`, of.Bundles[0])
	expect(t, b, `document.querySelector("#matrix thead th:nth-child(2)").textContent`, of.Bundles[0])
	expect(t, b, `document.getElementById("name").textContent`, of.Name)
	expect(t, b, `[document.querySelectorAll("script").length, document.querySelectorAll("img, a, iframe, object, link").length, window.broken === undefined]`, []any{2.0, 0.0, true})
	expect(t, b, `Object.prototype.toString.call({}) + Object.keys(Object.prototype).length`, "[object Object]0")
	// If a foreign script gets into the page, the policy of the page blocks it.
	b.run(t, chromedp.Evaluate(`{ const script = document.createElement("script"); script.textContent = "window.broken = 4"; document.body.append(script); }`, nil))
	expect(t, b, `window.broken === undefined`, true)
	b.run(t, chromedp.Evaluate(`new Promise((resolve) => { const image = new Image(); image.onload = () => resolve(); image.onerror = () => resolve(); image.src = "https://127.0.0.1:1/x.png"; })`, nil, awaited),
		chromedp.Evaluate(`fetch("https://127.0.0.1:1/x").then(() => 0, () => 0)`, nil, awaited))
	b.mu.Lock()
	defer b.mu.Unlock()
	if asked := b.requests[1:]; b.requests[0] != "file://"+path || len(asked) != b.blocked || len(asked) == 0 {
		t.Errorf("%d requests were stopped of %q", b.blocked, b.requests)
	}
}

func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// A report has several targets, and nothing is known of one of them.
func TestTargets(t *testing.T) {
	t.Parallel()
	unknown := planreport.Target{
		Owner: "o", Name: "staging", Operation: planreport.Create, Unknown: "the provider's clusters", Clusters: []planreport.Cluster{},
		Bundles: []string{}, Deployments: []planreport.Deployment{}, Stages: []planreport.Stage{}, Warnings: []planreport.Warning{}, Diffs: map[string]string{},
	}
	path := written(t, "plan.html", fleetOf(4, 3), unknown)
	b := show(t, path, 1000, 700)
	expect(t, b, `[...document.querySelectorAll("#target option")].map((o) => o.textContent)`, []string{"prod (platform-prod)", "staging (o)"})
	b.run(t, chromedp.SetValue("#target", "1"), chromedp.Evaluate(`document.getElementById("target").dispatchEvent(new Event("change"))`, nil))
	expect(t, b, `document.getElementById("unknown").innerText`, "Nothing of this target is known before the apply. Not known yet: the provider's clusters.")
	expect(t, b, `document.querySelector("#matrix .empty").textContent`, "There are no deployments.")
	b.expectQuiet(t, path)
}

// The text of each mark and of each line of a diff has enough contrast, light and dark.
func TestContrast(t *testing.T) {
	t.Parallel()
	path := written(t, "plan.html", takingOver(fleetOf(12, 6)))
	b := show(t, path, 1400, 900)
	const lowest = `(() => {
		const numbers = (color) => color.match(/[\d.]+/g).map(Number);
		const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
		let found = [99, ""];
		for (const e of document.querySelectorAll(".mark, #matrix td[data-action], .diff > *, h1, h3 bdi, dt, .soft, .facts, q, .keys, #about, td code, button, summary, label")) {
			const a = light(numbers(getComputedStyle(e).color)), b = light(behind(e));
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < found[0]) found = [ratio, e.className + " " + e.textContent];
		}
		return found; })()`
	b.run(t, chromedp.Click(`td[aria-label^="eu-2, web:"]`))
	for _, scheme := range []string{"light", "dark"} {
		b.run(t, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		found := eval[[]any](t, b, lowest)
		t.Logf("%s: the lowest contrast is %.1f", scheme, found[0])
		if ratio, ok := found[0].(float64); !ok || ratio < 4.5 {
			t.Errorf("%s: contrast %v", scheme, found)
		}
	}
}
