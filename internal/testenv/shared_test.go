package testenv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// make testacc would not run this test.
func TestRequireInAnotherFile(t *testing.T) {
	t.Parallel()
	for name, require := range map[string]func(testing.TB){
		"at once":      testenv.Require,
		"for clusters": func(tb testing.TB) { tb.Helper(); testenv.Shared(tb) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "is in shared_test.go; make testacc runs only") {
					t.Errorf("the test is told %q", said)
				}
			}()
			require(&stopped{TB: t})
			t.Error("the test goes on")
		})
	}
}

// stopped is a test that panics where it would end.
type stopped struct{ testing.TB }

func (s *stopped) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (s *stopped) Skip(args ...any) { panic(fmt.Sprint(args...)) }
