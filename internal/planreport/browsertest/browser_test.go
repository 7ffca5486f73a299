package browsertest_test

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// chromium finds a browser. If FLEET_TEST_CHROMIUM names one, it must exist.
func chromium(t *testing.T) string {
	t.Helper()
	if named, ok := os.LookupEnv("FLEET_TEST_CHROMIUM"); ok {
		path, err := exec.LookPath(named)
		if err != nil {
			t.Fatalf("FLEET_TEST_CHROMIUM names no browser: %v", err)
		}
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: install it (Debian: apt-get install chromium), or name it in FLEET_TEST_CHROMIUM")
	return ""
}

// browser is a page in Chromium.
type browser struct {
	ctx context.Context //nolint:containedctx // chromedp stores the browser in the context.

	mu sync.Mutex
	// requests are the requested addresses, and problems the errors that the page reported.
	requests, problems []string
	// blocked is how many requests the policy of the page blocked.
	blocked int
}

// show opens a report.
func show(t *testing.T, path string, width, height int64) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.Flag("disable-dev-shm-usage", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with its sandbox.
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	b.run(t, network.Enable(), log.Enable(), runtime.Enable(), emulation.SetDeviceMetricsOverride(width, height, 1, false),
		chromedp.Navigate("file://"+path), chromedp.WaitReady("#matrix tbody"))
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, event.Request.URL)
	case *network.EventLoadingFailed:
		if event.BlockedReason == network.BlockedReasonCsp {
			b.blocked++
		}
	case *log.EventEntryAdded:
		b.problems = append(b.problems, event.Entry.Text)
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, event.ExceptionDetails.Error())
	case *page.EventJavascriptDialogOpening:
		b.problems = append(b.problems, "dialog: "+event.Message)
	}
}

func (b *browser) run(t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		t.Fatalf("%v; the page reported %q", err, b.problems)
	}
}

// eval returns the value of an expression.
func eval[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	var value T
	b.run(t, chromedp.Evaluate(expression, &value))
	return value
}

func expect[T any](t *testing.T, b *browser, expression string, want T) {
	t.Helper()
	if diff := cmp.Diff(want, eval[T](t, b, expression)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", expression, diff)
	}
}

// expectQuiet checks that the page requested only the file, and that nothing failed.
func (b *browser) expectQuiet(t *testing.T, path string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff([]string{"file://" + path}, b.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(b.problems) > 0 {
		t.Errorf("the page reported %q", b.problems)
	}
}
