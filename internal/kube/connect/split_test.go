package connect_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
)

const twoContexts = `apiVersion: v1
kind: Config
current-context: dev
clusters:
- {name: one, cluster: {server: "https://one.example.com"}}
- {name: two, cluster: {server: "https://two.example.com"}}
users:
- {name: ci, user: {token: s3cret-word}}
- {name: nobody, user: {}}
contexts:
- {name: dev, context: {cluster: one, user: ci, namespace: apps}}
- {name: "arn:aws:eks:eu:1:cluster/prod", context: {cluster: two}}
`

func TestSplitKubeconfig(t *testing.T) {
	t.Parallel()
	split, err := connect.SplitKubeconfig(twoContexts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"arn:aws:eks:eu:1:cluster/prod", "dev"}, slices.Sorted(maps.Keys(split))); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
	dev, err := clientcmd.RESTConfigFromKubeConfig([]byte(split["dev"]))
	if err != nil || dev.Host != "https://one.example.com" || dev.BearerToken != "s3cret-word" {
		t.Errorf("dev is %v, %v", dev, err)
	}
	prod, err := clientcmd.RESTConfigFromKubeConfig([]byte(split["arn:aws:eks:eu:1:cluster/prod"]))
	if err != nil || prod.Host != "https://two.example.com" || strings.Contains(split["arn:aws:eks:eu:1:cluster/prod"], "s3cret-word") {
		t.Errorf("prod is %v, %v", prod, err)
	}
	again, err := connect.SplitKubeconfig(twoContexts)
	if diff := cmp.Diff(split, again); diff != "" || err != nil {
		t.Errorf("split again, %v (-before +after):\n%s", err, diff)
	}
}

func TestSplitKubeconfigFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"no YAML":      {text: "s3cret-word: [", want: "the text is not a kubeconfig in YAML or JSON"},
		"nothing":      {want: "the kubeconfig has no contexts"},
		"no cluster":   {text: "contexts:\n- {name: a, context: {cluster: one}}\n", want: `context "a" names the cluster "one", which is missing`},
		"no user":      {text: "clusters:\n- {name: one, cluster: {server: x}}\ncontexts:\n- {name: a, context: {cluster: one, user: ci}}\n", want: `context "a" names the user "ci", which is missing`},
		"too much":     {text: strings.Repeat("#", 17<<20), want: "is larger than the limit"},
		"another kind": {text: "apiVersion: v1\nkind: Secret\n", want: "the text is not a kubeconfig in YAML or JSON"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := connect.SplitKubeconfig(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
