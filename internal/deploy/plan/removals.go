package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// RemovalLimit is how many deployments a change may remove.
type RemovalLimit struct {
	// AllowEmpty allows a change that leaves no deployment.
	AllowEmpty bool
	// Max is a number such as "5", or a percentage such as "10%" of the deployments before.
	// "" sets no limit.
	Max string
}

// EmptyError reports a change that leaves no deployment.
type EmptyError struct{ Before int }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("no cluster matches or there are no bundles, so all %d deployments would be removed", e.Before)
}

// TooManyRemovalsError reports a change that removes more deployments than it may.
type TooManyRemovalsError struct {
	Max                     string
	Removals, Limit, Before int
}

func (e *TooManyRemovalsError) Error() string {
	return fmt.Sprintf("%d deployments would be removed, and %q allows %d of %d", e.Removals, e.Max, e.Limit, e.Before)
}

// Check returns why a change removes more than it may, nil if it does not. removals is the number
// of deployments that it removes, before how many existed, and wanted how many are wanted.
func (l RemovalLimit) Check(removals, before, wanted int) error {
	if wanted == 0 && before > 0 && !l.AllowEmpty {
		return &EmptyError{Before: before}
	}
	if l.Max == "" {
		return nil
	}
	limit, err := parseRemovalLimit(l.Max, before)
	if err != nil {
		return err
	}
	if removals > limit {
		return &TooManyRemovalsError{Max: l.Max, Removals: removals, Limit: limit, Before: before}
	}
	return nil
}

// parseRemovalLimit returns how many of the given number of deployments a limit such as "5" or
// "10%" allows to be removed. A percentage is rounded down.
func parseRemovalLimit(text string, of int) (int, error) {
	number, isPercentage := strings.CutSuffix(strings.TrimSpace(text), "%")
	limit, err := strconv.Atoi(number)
	if err != nil || limit < 0 || (isPercentage && limit > 100) {
		return 0, fmt.Errorf("%q is neither a number of deployments nor a percentage from 0%% to 100%%", text)
	}
	if isPercentage {
		return of * limit / 100, nil
	}
	return limit, nil
}
