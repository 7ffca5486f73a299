package helm

import (
	"sync"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

// A factory that has stored an error is replaced while other operations make clients of it.
// The race detector finds access without the lock.
func TestFactoryIsExchangedBesideOthers(t *testing.T) {
	t.Parallel()
	connection, err := kube.New(connect.Connection{Host: "https://127.0.0.1:1", Token: "token"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := New(connection, nil, nil, nil, nil)
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() { client.connection.renew(recordingGetter{}) })
		working.Go(func() {
			if _, err := client.connection.clientset(); err != nil {
				t.Error(err)
			}
		})
	}
	working.Wait()
}
