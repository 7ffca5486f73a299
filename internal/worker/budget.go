package worker

import (
	"fmt"
	"sync"
	"time"
)

// BudgetError reports that a call was not begun, because the calls that failed before it took too
// long together.
type BudgetError struct{ Budget time.Duration }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("what failed before took more than %s together", e.Budget)
}

// ExceedsLimit reports that calls took too long.
func (*BudgetError) ExceedsLimit() bool { return true }

// Failing is a response that can report a failure of its call.
type Failing interface{ Failed() bool }

// budget limits the time of failed calls. An author of slow templates could otherwise make
// very many of them. A call counts for whatever reason it fails: it could fail by itself just before
// its limit.
type budget struct {
	limit time.Duration

	mu    sync.Mutex
	spent time.Duration
}

// check returns a *BudgetError if the budget is used up.
func (b *budget) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.spent < b.limit {
		return nil
	}

	return &BudgetError{Budget: b.limit}
}

func (b *budget) spend(took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.spent += took
}
