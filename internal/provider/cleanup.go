package provider

import (
	"errors"
	"sync"
)

// Cleanup collects what has to be undone when the process ends, such as temporary folders.
// Terraform does not report to a provider that it needs it no longer, so the process runs the
// cleanup at its end.
type Cleanup struct {
	mu    sync.Mutex
	tasks []func() error
}

func (c *Cleanup) add(task func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = append(c.tasks, task)
}

// Run undoes everything once.
func (c *Cleanup) Run() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := make([]error, len(c.tasks))
	for i, task := range c.tasks {
		errs[i] = task()
	}
	c.tasks = nil
	return errors.Join(errs...)
}
