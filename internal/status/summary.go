package status

import (
	"fmt"
	"strings"
)

// Text returns a state with its message, such as "NotReady: Deployment web/nginx is
// InProgress".
func (s State) Text(message string) string {
	if message == "" {
		return string(s)
	}
	return string(s) + ": " + message
}

// ClusterSummary summarizes the deployments of one cluster.
type ClusterSummary struct {
	// Ready is how many of the Deployments are ready.
	Ready, Deployments int
	Objects            Counts
}

// String returns a text such as "3/3 deployments, 41/41 objects" or "2/3 deployments, 38/41
// objects, 1 modified, 2 missing".
func (s ClusterSummary) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d/%s, %d/%s", s.Ready, Number(s.Deployments, "deployment"), s.Objects.Ready, Number(s.Objects.Desired(), "object"))
	for _, wrong := range []struct {
		number int
		what   string
	}{
		{s.Objects.NotReady, "not ready"},
		{s.Objects.Modified, "modified"},
		{s.Objects.Missing, "missing"},
		{s.Objects.Unknown, "unknown"},
		{s.Objects.NotOwned, "owned by other releases"},
	} {
		if wrong.number > 0 {
			fmt.Fprintf(&text, ", %d %s", wrong.number, wrong.what)
		}
	}
	return text.String()
}

// Number returns a number with its noun: "1 object", "3 objects".
func Number(number int, noun string) string {
	if number != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", number, noun)
}
