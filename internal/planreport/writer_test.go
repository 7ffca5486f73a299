//go:build unix

package planreport_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
)

// entry returns the plan of a target with one deployment that has this digest.
func entry(name string, operation planreport.Operation, digest string) planreport.Target {
	return planreport.Target{
		Owner: "o", Name: name, Operation: operation, Clusters: []planreport.Cluster{}, Bundles: []string{"web"}, Stages: []planreport.Stage{},
		Warnings: []planreport.Warning{}, Diffs: map[string]string{},
		Deployments: []planreport.Deployment{{Cluster: "a", Bundle: "web", Action: planreport.Add, DigestAfter: digest}},
	}
}

func open(t *testing.T, path string) *planreport.Writer {
	t.Helper()
	writer, err := planreport.Open(path, "o")
	if err != nil {
		t.Fatal(err)
	}
	return writer
}

func add(t *testing.T, w *planreport.Writer, of planreport.Target, refreshed bool) {
	t.Helper()
	if err := w.Add(of, refreshed); err != nil {
		t.Fatal(err)
	}
}

// digests returns "name digest" of each entry. A page has its JSON between two tags, with numbers of
// texts in place of the texts.
func digests(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Targets []struct {
			Name        string
			Deployments []struct {
				Digest string `json:"digest_after"`
			}
		}
	}
	if filepath.Ext(path) == ".html" {
		_, after, _ := strings.Cut(string(content), `id="data">`)
		data, _, _ := strings.Cut(after, "</script>")
		content = decompressed(t, data)
	}
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatalf("%v in %.200s", err, content)
	}
	found := []string{}
	for _, of := range report.Targets {
		found = append(found, of.Name+" "+of.Deployments[0].Digest)
	}
	return found
}

func expectDigests(t *testing.T, path string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, digests(t, path)); diff != "" {
		t.Errorf("entries of %s (-want +got):\n%s", filepath.Base(path), diff)
	}
}

// compressed returns a text as the data of a page.
func compressed(t *testing.T, text string) string {
	t.Helper()
	var data bytes.Buffer
	to := gzip.NewWriter(&data)
	_, err := to.Write([]byte(text))
	if err = errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data.Bytes())
}

func decompressed(t *testing.T, data string) []byte {
	t.Helper()
	from, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The formats differ only in the file that entries are read from.
func TestWhoReplacesAnEntry(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"plan.json", "plan.json"}, {"plan.html", "plan.html"}, {"plan.md", "plan.md.json"}} {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), names[0])
			data := filepath.Join(filepath.Dir(path), names[1])
			plan := open(t, path)
			add(t, plan, entry("b", planreport.Create, "new"), false)
			add(t, plan, entry("a", planreport.Update, "1"), true)
			expectDigests(t, data, "a 1", "b new")

			apply := open(t, path) // Another process of the same run.
			add(t, apply, entry("a", planreport.Update, "2"), false)
			expectDigests(t, data, "a 1", "b new")
			repeated := entry("b", planreport.Create, "new")
			repeated.Warnings = []planreport.Warning{{Summary: "something else is found in an apply"}}
			add(t, apply, repeated, false)
			if content, err := os.ReadFile(data); err != nil || strings.Contains(string(content), "something else") {
				t.Errorf("the entry that was to be approved is replaced (%v)", err)
			}
			add(t, apply, entry("b", planreport.Create, "known now"), false)
			expectDigests(t, data, "a 1", "b known now")

			add(t, open(t, path), entry("a", planreport.Destroy, "gone"), false)
			expectDigests(t, data, "a gone", "b known now")
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v (%v)", info.Mode(), err)
			}
			expectFiles(t, filepath.Dir(path), slices.Compact([]string{names[0], names[1]})...)
		})
	}
}

func expectFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, of := range entries {
		got = append(got, of.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A plan drops the entries of an earlier run. An apply, which refreshes nothing, keeps them.
func TestEarlierRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.json")
	add(t, open(t, path), entry("gone", planreport.Update, "1"), true)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report planreport.Report
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	report.Targets[0].Run = "earlier"
	if content, err = json.Marshal(report); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, path), entry("new", planreport.Create, "2"), false)
	expectDigests(t, path, "gone 1", "new 2")
	add(t, open(t, path), entry("a", planreport.Update, "3"), true)
	expectDigests(t, path, "a 3", "new 2")
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	t.Run("nothing is asked for", func(t *testing.T) {
		t.Parallel()
		writer, err := planreport.Open("", "o")
		if err != nil || writer.IsWanted() {
			t.Errorf("%v (%v)", writer, err)
		}
		if err := writer.Add(planreport.Target{}, true); err != nil {
			t.Error(err)
		}
	})
	t.Run("an ending that is no format", func(t *testing.T) {
		t.Parallel()
		if _, err := planreport.Open("plan.txt", "o"); err == nil || !strings.Contains(err.Error(), `.html, .md or .json, not as "plan.txt"`) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the owner, and several files", func(t *testing.T) {
		t.Parallel()
		names := strings.Join([]string{filepath.Join(dir, "%o.json"), filepath.Join(dir, "%o.html")}, string(os.PathListSeparator))
		writer, err := planreport.Open(names, "platform/../x")
		if err != nil {
			t.Fatal(err)
		}
		add(t, writer, entry("a", planreport.Update, "1"), true)
		expectFiles(t, dir, "platform_.._x.html", "platform_.._x.json")
		expectDigests(t, filepath.Join(dir, "platform_.._x.html"), "a 1")
	})
}

// The existing file is no report, or a damaged one.
func TestExistingFile(t *testing.T) {
	t.Parallel()
	good := written(t, "plan.json", entry("other", planreport.Update, "1"))
	cut, _, _ := strings.Cut(good, `"deployments"`)
	for name, content := range map[string]string{
		"nothing": "", "no JSON": "{", "another format": `{"format": 2, "targets": [{"name": "other"}]}`, "null": `{"format": 1, "targets": [null]}`,
		"no data": "<html>", "cut": cut, "not ordered": strings.Replace(good, `"deployments": [`, `"deployments": [{},{},`, 1),
		"deep": strings.Repeat("[", 1<<20), "twice": `{"format": 1, "targets": [{"name": "x"}, {"name": "x"}]}`,
		"other types": `{"format": 1, "targets": [{"name": "x", "deployments": {"a": 1}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, file := range []string{"plan.json", "plan.html", "plan.md.json"} {
				path := filepath.Join(t.TempDir(), file)
				if file != "plan.json" && strings.HasPrefix(content, "{") {
					content = `<script type="text/plain" id="data">` + compressed(t, content) + "</script>"
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
				add(t, open(t, strings.TrimSuffix(path, ".md.json")+map[bool]string{true: ".md"}[file == "plan.md.json"]), entry("a", planreport.Create, "1"), false)
				expectDigests(t, path, "a 1")
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("mode %v (%v)", info.Mode(), err)
				}
			}
		})
	}
}

// The path of a report is no file that can be written: there is one error, and nothing else is
// changed.
func TestCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "folder.html")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, folder, filepath.Join(dir, "none", "plan.md")} {
		writer := open(t, path)
		if err := writer.Add(entry("a", planreport.Create, "1"), false); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", filepath.Base(path), err)
		}
		if err := writer.Add(entry("b", planreport.Create, "1"), false); err != nil {
			t.Errorf("%s: a second error %v", filepath.Base(path), err)
		}
	}
	expectFiles(t, dir, "folder.html", "pipe.json")
}

// A link is replaced. Its target is neither changed nor read.
func TestLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "plan.json")
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, path), entry("a", planreport.Create, "1"), false)
	expectDigests(t, path, "a 1")
	if content, err := os.ReadFile(other); err != nil || string(content) != "mine" {
		t.Errorf("%q (%v)", content, err)
	}
}

const childVariable = "FLEET_TEST_REPORT_CHILD"

// Targets of one process are planned at the same time, and several processes write one file. A
// reader sees only whole reports.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	const processes, targets = 3, 15
	if prefix := os.Getenv(childVariable); prefix != "" {
		addMany(t, os.Getenv(childVariable+"_PATH"), prefix, targets)
		return
	}
	path := filepath.Join(t.TempDir(), "plan.html")
	add(t, open(t, path), entry("first", planreport.Create, "1"), false)
	var children []*exec.Cmd
	for i := range processes {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConcurrentWriters$")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=p%d-", childVariable, i), childVariable+"_PATH="+path)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, child)
	}
	ended := make(chan error)
	go func() {
		var failed error
		for _, child := range children {
			if err := child.Wait(); err != nil {
				failed = err
			}
		}
		ended <- failed
	}()
	for reads := 0; ; reads++ {
		digests(t, path) // Fails for a part of a report.
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			// The first entry is of another run: this process has another parent.
			if got := len(digests(t, path)); got != processes*targets {
				t.Errorf("%d entries after %d reads, want %d", got, reads, processes*targets)
			}
			expectFiles(t, filepath.Dir(path), "plan.html")
			return
		default:
		}
	}
}

func addMany(t *testing.T, path, prefix string, targets int) {
	t.Helper()
	writer := open(t, path)
	var adding sync.WaitGroup
	for i := range targets {
		adding.Go(func() {
			if err := writer.Add(entry(fmt.Sprintf("%s%d", prefix, i), planreport.Update, "1"), true); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
}

// Blocks that do not fit into a comment are counted.
func TestMarkdownIsCut(t *testing.T) {
	t.Parallel()
	large := entry("large", planreport.Update, "1")
	large.Deployments = nil
	for i := range 900 {
		id := fmt.Sprintf("d%03d", i)
		large.Diffs[id] = "-color: blue\n+color: " + strings.Repeat("ö", 100) + id
		large.Deployments = append(large.Deployments, planreport.Deployment{Cluster: fmt.Sprintf("c%03d", i), Bundle: "web", Action: planreport.Change, Diff: id})
	}
	large.Warnings = []planreport.Warning{{Summary: "w", Detail: "x"}}
	text := written(t, "plan.md", large)
	shown := strings.Count(text, "<details>")
	if runes := len([]rune(text)); runes > 60_000 || runes < 59_000 {
		t.Errorf("%d characters", runes)
	}
	want := fmt.Sprintf("**Left out**, because a comment is limited: %d diffs, 1 warning. The HTML and the JSON", 900-shown)
	if !strings.Contains(text, want) || shown < 100 {
		t.Errorf("%d diffs are shown, and the text ends with %q, without %q", shown, text[len(text)-300:], want)
	}
	if strings.Count(text, "```")%2 != 0 || strings.Count(text, "</details>") != shown {
		t.Error("a block is cut")
	}
	if !strings.Contains(text, "<code>c011</code> and 888 more |") {
		t.Errorf("no count of the clusters in %.800s", text)
	}
}
