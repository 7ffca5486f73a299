package fleet

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// serveDeployments serves BundleDeployments in pages, as an API server does. A request for metadata
// gets no status.
func serveDeployments(t *testing.T, objects []string) *client {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		at, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		end := min(at+limit, len(objects))
		var items []string
		for _, object := range objects[at:end] {
			if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata") {
				object, _, _ = strings.Cut(object, `,"status"`)
				object += "}"
			}
			items = append(items, object)
		}
		next := ""
		if end < len(objects) {
			next = strconv.Itoa(end)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	connection, err := kube.New(connect.Connection{Host: server.URL, ClusterCACertificate: string(authority), Token: secret.Hide("token")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := newClient(connection)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// A status that an agent has written costs only its own BundleDeployment.
func TestAttackStatusOfADeployment(t *testing.T) {
	t.Parallel()
	braces := strings.Repeat("{", 2_200_000) // For the limit of memory, each can begin an object.
	tests := map[string]string{
		"a number that is too large": `{"resourceCounts":{"ready":1e30}}`,
		"a text for a number":        `{"resourceCounts":{"ready":"\u001b[2J"}}`,
		"a message that takes all":   `{"conditions":[{"type":"Ready","status":"False","message":"` + braces + `"}]}`,
	}
	for name, bad := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := func(cluster, status string) string {
				return `{"metadata":{"name":"web","namespace":"` + cluster + `","labels":{"a":"b"}},"status":` + status + `}`
			}
			good := `{"ready":true}`
			client := serveDeployments(t, []string{object("a", good), object("b", bad), object("c", good)})
			readable := map[string]bool{}
			if _, err := client.deployments(t.Context(), "", func(bd *bundleDeployment) {
				err := bd.checkReadable()
				readable[bd.Metadata.Namespace] = err == nil && bd.Status.Ready
				if err != nil && (len(err.Error()) > 5*maxText || bd.Metadata.Labels["a"] != "b") {
					t.Errorf("labels %v, error of %d bytes", bd.Metadata.Labels, len(err.Error()))
				}
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]bool{"a": true, "b": false, "c": true}, readable); diff != "" {
				t.Errorf("readable (-want +got):\n%s", diff)
			}
		})
	}
}

// A deployment whose status cannot be read is neither ready nor removed.
func TestUnreadableDeployment(t *testing.T) {
	t.Parallel()
	bd, err := decodeDeployment(json.RawMessage(`{"metadata":{"name":"web","namespace":"b"},"status":{"resourceCounts":{"ready":"\u001b[2J"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	state, text := sighting{deployment: &bd}.facts(texts{&mask.Masker{}}).State()
	if state != status.ErrApplied || !strings.HasPrefix(text, "the status of BundleDeployment b/web, which") || strings.ContainsRune(text, '\x1b') {
		t.Errorf("state %s, %q", state, text)
	}
	if bd.isRemoved("") || bd.isApplied("") {
		t.Error("it counts as removed or applied")
	}
	engine := New(Settings{Namespace: "n"}, nil, nil, &mask.Masker{})
	key, digest := deploy.Key{Cluster: "c", Bundle: "web"}, "v1-0123456789abcdef0123456789abcdef"
	bundle := metadata{Name: "web", Generation: 1, Labels: labelsOf(nil, release.Mark{Bundle: "web"}, digest), Annotations: map[string]string{
		annotationGeneration: "1", annotationDeployments: `{"c":"` + digest + `"}`,
	}}
	bd.Metadata.Labels = bundle.Labels
	seen := view{
		bundles: map[string]metadata{"web": bundle}, clusters: map[string]managedCluster{"c": {namespace: "b"}},
		deployments: map[deploymentID]*bundleDeployment{{bundle: "web", cluster: "c"}: &bd},
	}
	prior := map[deploy.Key]deploy.Record{key: {Release: "web", State: status.Ready, Digest: digest}}
	found := deploy.Observation{Records: map[deploy.Key]deploy.Record{}, UIDs: map[string]string{}}
	engine.observe(t.Context(), nil, seen, deploy.DriftLive, prior, &found)
	if diff := cmp.Diff(prior, found.Records); diff != "" || len(found.Failures) != 1 || found.Failures[0].Cluster != "c" {
		t.Errorf("failures %v, records (-want +got):\n%s", found.Failures, diff)
	}
}
