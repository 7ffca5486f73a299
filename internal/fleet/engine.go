package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// OnOffline selects what happens to a deployment whose agent is offline.
type OnOffline string

const (
	// FailOffline reports the deployment as failed.
	FailOffline OnOffline = "error"
	// LeaveOffline leaves the deployment to Fleet, which carries it out when the agent is back.
	LeaveOffline OnOffline = "leave"
)

// DefaultOfflineAfter is twice the interval at which an agent reports.
const DefaultOfflineAfter = 30 * time.Minute

// Settings are the settings of an engine.
type Settings struct {
	// Namespace is the namespace of the Cluster objects.
	Namespace string
	// OnOffline "" means FailOffline, and OfflineAfter 0 means DefaultOfflineAfter.
	OnOffline    OnOffline
	OfflineAfter time.Duration
	// Parallelism is how many Bundles are written at once.
	Parallelism int
}

// Charts renders deployments.
type Charts interface {
	Render(ctx context.Context, d target.Deployment) (release.Rendering, error)
}

// Engine delivers with the Fleet of one management cluster.
type Engine struct {
	settings Settings
	connect  func() (Connection, error)
	charts   Charts
	texts    texts

	// deleted counts the BundleDeployments that were seen to be deleted, of all targets.
	deleted atomic.Int64

	mu     sync.Mutex
	client *client
}

// New makes an engine. connect connects to the management cluster when that is first needed. masker
// masks the credentials.
func New(settings Settings, connect func() (Connection, error), charts Charts, masker *mask.Masker) *Engine {
	settings.OnOffline = cmp.Or(settings.OnOffline, FailOffline)
	settings.OfflineAfter = cmp.Or(settings.OfflineAfter, DefaultOfflineAfter)
	settings.Parallelism = max(1, settings.Parallelism)
	return &Engine{settings: settings, connect: connect, charts: charts, texts: texts{masker}}
}

// management returns the client of the management cluster. It does not keep an error: the next call
// connects again.
func (e *Engine) management() (*client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		return e.client, nil
	}
	connection, err := e.connect()
	if err != nil {
		return nil, e.failed("connecting to", err)
	}
	made, err := newClient(connection)
	if err != nil {
		return nil, e.failed("connecting to", err)
	}
	e.client = made
	return made, nil
}

// failed returns the error for a failed request to the management cluster. It is not an error of the
// cluster of a deployment: the state of that cluster is unknown. doing is such as "listing the Bundles of".
func (e *Engine) failed(doing string, err error) error {
	text := e.texts.shown(err.Error())
	classified := connect.Classify("", err)
	if _, is := errors.AsType[*status.UnreachableError](classified); is {
		text = "it does not respond (" + text + ")"
	}
	if _, is := errors.AsType[*status.DeniedError](classified); is {
		text = "it denies the request (" + text + ")"
	}
	return fmt.Errorf("%s the management cluster: %s", doing, text)
}

// ForeignError reports a Bundle that has the name of a Bundle of this target, but not its labels.
type ForeignError struct {
	Namespace, Name string
	// Mark is what its labels say.
	Mark release.Mark
}

// isOf reports whether another instance of the target with this mark has taken the Bundle over: one that
// replaces it, and is created first.
func (e *ForeignError) isOf(former release.Mark) bool {
	return e.Mark.Owner == former.Owner && e.Mark.Target == former.Target && e.Mark.Bundle == former.Bundle && e.Mark.Instance != ""
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the Bundle %s in namespace %s of the management cluster does not have the labels of this target; "+
		"it is not changed", e.Name, e.Namespace)
}

// instancesOf returns the instance ids that the Bundles of a target can have in their labels.
func instancesOf(identity deploy.TargetIdentity, records map[deploy.Key]deploy.Record) map[string]bool {
	instances := map[string]bool{}
	add := func(instance string) {
		if instance != "" {
			instances[release.NewMark("", "", instance, "", "").Instance] = true
		}
	}
	add(identity.Instance)
	for _, record := range records {
		add(record.Known.Instance)
	}
	return instances
}
