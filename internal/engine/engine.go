package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// OnOffline says what becomes of a deployment whose agent is not there.
type OnOffline string

const (
	// FailOffline reports the deployment as failed.
	FailOffline OnOffline = "error"
	// LeaveOffline leaves the deployment to Fleet, which carries it out when the agent is back.
	LeaveOffline OnOffline = "leave"
)

// DefaultOfflineAfter is two of the intervals at which an agent reports itself.
const DefaultOfflineAfter = 30 * time.Minute

// Settings are those of an engine.
type Settings struct {
	// Namespace is where the Cluster objects are.
	Namespace string
	// OnOffline is FailOffline if it is "", and OfflineAfter DefaultOfflineAfter if it is 0.
	OnOffline    OnOffline
	OfflineAfter time.Duration
	// Parallelism is how many Bundles are written at once.
	Parallelism int
}

// Charts renders deployments.
type Charts interface {
	Render(ctx context.Context, d target.Deployment) (release.Rendering, error)
}

// Engine delivers by the Fleet of one management cluster.
type Engine struct {
	settings Settings
	connect  func() (Connection, error)
	charts   Charts
	texts    texts

	mu     sync.Mutex
	client *client
}

// New makes an engine. connect makes the connection to the management cluster when it is first
// needed. masker has the credentials.
func New(settings Settings, connect func() (Connection, error), charts Charts, masker *diff.Masker) *Engine {
	settings.OnOffline = cmp.Or(settings.OnOffline, FailOffline)
	settings.OfflineAfter = cmp.Or(settings.OfflineAfter, DefaultOfflineAfter)
	settings.Parallelism = max(1, settings.Parallelism)
	return &Engine{settings: settings, connect: connect, charts: charts, texts: texts{masker}}
}

// management returns the client of the management cluster. It keeps no error.
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

// ManagementError reports that the management cluster could not be asked. It is no error of the
// cluster of a deployment: nothing is known of that one.
type ManagementError struct {
	// Doing is such as "listing the Bundles of".
	Doing string
	text  string
}

func (e *ManagementError) Error() string {
	return fmt.Sprintf("%s the management cluster: %s", e.Doing, e.text)
}

// failed is the error of a request to the management cluster.
func (e *Engine) failed(doing string, err error) error {
	text := e.texts.shown(err.Error())
	classified := kube.Classify("", err)
	if _, is := errors.AsType[*status.UnreachableError](classified); is {
		text = "it does not respond (" + text + ")"
	}
	if _, is := errors.AsType[*status.DeniedError](classified); is {
		text = "it denies the request (" + text + ")"
	}
	return &ManagementError{Doing: doing, text: text}
}

// ForeignError reports a Bundle with the name of one of ours that is not ours.
type ForeignError struct{ Namespace, Name string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the Bundle %s in namespace %s of the management cluster does not have the labels of this target; it is not changed", e.Name, e.Namespace)
}

// instancesOf are the ids by which the Bundles of a target are known.
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
