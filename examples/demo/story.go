package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/gittest"
)

// reportDir is where the reports of plans are written.
const reportDir = ".build/demo"

// namespace is the namespace of the demo's bundles.
const namespace = "fleet-demo"

// story is the demo: a git server, three clusters and Terraform.
type story struct {
	git       *gittest.Server
	terraform *terraform
	// clients are by the name of the cluster in the configuration.
	clients map[string]kubernetes.Interface
	// content is the content of the repository, by file.
	content map[string]string
	// engine is nil if the provider itself connects to the clusters.
	engine *engineClusters
	// serves is true if pods run, so that web servers can be asked.
	serves bool
}

func newStory(ctx context.Context, work, kubeconfig string, contexts []string, engine *engineClusters) (*story, error) {
	s := &story{clients: map[string]kubernetes.Interface{}, content: map[string]string{}, engine: engine}
	for i, name := range clusterNames() {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
			&clientcmd.ConfigOverrides{CurrentContext: contexts[i]},
		).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("reading context %s: %w", contexts[i], err)
		}
		if s.clients[name], err = kubernetes.NewForConfig(config); err != nil {
			return nil, err
		}
	}
	if err := s.readContent(filepath.Join(demoDir, "content")); err != nil {
		return nil, err
	}
	repositories := filepath.Join(work, "git")
	if err := os.Mkdir(repositories, 0o750); err != nil {
		return nil, err
	}
	server, err := gittest.Start(repositories, gittest.Options{})
	if err != nil {
		return nil, fmt.Errorf("starting the git server: %w", err)
	}
	s.git = server
	provider := "direct"
	if engine != nil {
		provider = "engine"
	}
	if s.terraform, err = newTerraform(ctx, work, provider); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, s.terraform.vars(map[string]any{"kubeconfig": kubeconfig, "contexts": contexts, "repo": server.URL("fleet")})
}

func (s *story) close() error { return s.git.Close() }

func (s *story) readContent(dir string) error {
	root := os.DirFS(dir)
	return walkFiles(root, func(name string, data []byte) { s.content[name] = string(data) })
}

// tell runs the demo from beginning to end.
func (s *story) tell(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.deliver, s.nothingToDo, s.pushCommit, s.moveClusterOut, s.destroy,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) deliver(ctx context.Context) error {
	say("Serving a git repository at %s and delivering it with one apply.", s.git.URL("fleet"))
	if _, err := s.git.Commit(ctx, "fleet", "main", "First version", s.content); err != nil {
		return err
	}
	if err := s.terraform.show(ctx, "apply", "-auto-approve"); err != nil || !s.serves {
		return err
	}
	return s.askServers(ctx)
}

func (s *story) nothingToDo(ctx context.Context) error {
	say("Each cluster now has one Helm release per bundle:")
	everywhere := []string{"apps-apps-settings", "banner", "web"}
	for _, name := range clusterNames() {
		if err := s.expectReleases(ctx, name, everywhere); err != nil {
			return err
		}
	}
	say("Planning again: there is nothing to do.")
	return s.expectEmptyPlan(ctx)
}

func (s *story) pushCommit(ctx context.Context) error {
	say("Pushing a commit that changes one bundle: the plan shows exactly its deployments.")
	s.content["apps/settings/settings.yaml"] = strings.Replace(s.content["apps/settings/settings.yaml"], "blue", "green", 1)
	commit, err := s.git.Commit(ctx, "fleet", "main", "Change the color", s.content)
	if err != nil {
		return err
	}
	fmt.Printf("    commit %s\n", commit)
	err = s.planAndApply(ctx, "commit.tfplan", 50, []string{"~ dev/apps-apps-settings", "~ edge/apps-apps-settings", "~ main/apps-apps-settings"})
	if err != nil {
		return err
	}
	for name, client := range s.clients {
		settings, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "settings", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading the new settings on %s: %w", name, err)
		}
		if settings.Data["color"] != "green" {
			return fmt.Errorf("cluster %s still has the color %q", name, settings.Data["color"])
		}
	}
	return s.expectEmptyPlan(ctx)
}

func (s *story) moveClusterOut(ctx context.Context) error {
	say("Changing the label of cluster edge, so that it leaves the target: its deployments are removed.")
	err := s.relabel(ctx)
	if err != nil {
		return err
	}
	err = s.planAndApply(ctx, "label.tfplan", 35, []string{"- edge/apps-apps-settings", "- edge/apps-apps-web", "- edge/banner"})
	if err != nil {
		return err
	}
	say("Nothing of them is left on cluster edge:")
	if err := s.expectReleases(ctx, "edge", nil); err != nil {
		return err
	}
	return s.expectEmptyPlan(ctx)
}

// relabel changes the label where the provider reads it: in the configuration, or in Fleet's Cluster
// object.
func (s *story) relabel(ctx context.Context) error {
	if s.engine == nil {
		return s.terraform.vars(map[string]any{"edge_env": "retired"})
	}
	return s.engine.label(ctx, "edge", "env", "retired")
}

func (s *story) destroy(ctx context.Context) error {
	say("Destroying what is left.")
	if err := s.terraform.show(ctx, "destroy", "-auto-approve"); err != nil {
		return err
	}
	for name := range s.clients {
		if err := s.expectReleases(ctx, name, nil); err != nil {
			return err
		}
	}
	return nil
}

// planAndApply applies a plan that changes the wanted deployments, and is short enough to read.
func (s *story) planAndApply(ctx context.Context, file string, maxLines int, want []string) error {
	lines, err := s.planWithReport(ctx, file)
	if err != nil {
		return err
	}
	say("The plan has %d lines.", lines)
	if lines > maxLines {
		return fmt.Errorf("the plan has %d lines, expected were %d at most", lines, maxLines)
	}
	got, err := s.terraform.changes(ctx, file)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the plan changes the deployments %q, expected were %q", got, want)
	}
	return s.terraform.show(ctx, "apply", file)
}

// planWithReport plans, and writes a report of the plan that stays after the demo.
func (s *story) planWithReport(ctx context.Context, file string) (lines int, err error) {
	report, err := filepath.Abs(filepath.Join(reportDir, strings.TrimSuffix(file, ".tfplan")+".html"))
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(report), 0o750); err != nil {
		return 0, err
	}
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	planning := *s.terraform
	planning.env = append(slices.Clone(planning.env), "FLEET_REPORT="+report)
	if lines, err = planning.plan(ctx, file); err != nil {
		return 0, err
	}
	if _, err := os.Stat(report); err != nil {
		return 0, fmt.Errorf("looking for the report of the plan: %w", err)
	}
	fmt.Printf("\n    Open the report of this plan in a browser: %s\n", report)
	return lines, nil
}

func (s *story) expectEmptyPlan(ctx context.Context) error {
	empty, err := s.terraform.emptyPlan(ctx)
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("the plan is not empty")
	}
	return nil
}

// forgetTime is how long an agent of Fleet may take to remove the record of a release whose objects it
// has removed. An apply does not wait for that.
const forgetTime = time.Minute

// expectReleases checks the Helm releases of a cluster. If none are wanted, it also checks that no
// object is left.
func (s *story) expectReleases(ctx context.Context, cluster string, want []string) error {
	var names []string
	var err error
	if s.engine == nil {
		names, err = s.releases(ctx, cluster)
	} else {
		pollErr := wait.PollUntilContextTimeout(ctx, time.Second, forgetTime, true, func(ctx context.Context) (bool, error) {
			names, err = s.releases(ctx, cluster)
			return slices.Equal(names, want), err
		})
		if pollErr != nil && !wait.Interrupted(pollErr) {
			err = pollErr
		}
	}
	if err != nil {
		return err
	}
	fmt.Printf("    %-5s %s\n", cluster, cmp.Or(strings.Join(names, ", "), "no releases"))
	if !slices.Equal(names, want) {
		return fmt.Errorf("cluster %s has the releases %q, expected were %q", cluster, names, want)
	}
	if len(want) > 0 {
		return nil
	}
	return s.expectNoObjects(ctx, cluster)
}

func (s *story) releases(ctx context.Context, cluster string) ([]string, error) {
	secrets, err := s.clients[cluster].CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	if err != nil {
		return nil, fmt.Errorf("listing releases of %s: %w", cluster, err)
	}
	var names []string
	for _, secret := range secrets.Items {
		names = append(names, secret.Labels["name"])
	}
	slices.Sort(names)
	return names, nil
}

func (s *story) expectNoObjects(ctx context.Context, cluster string) error {
	client := s.clients[cluster]
	managed := metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"}
	configMaps, err := client.CoreV1().ConfigMaps(namespace).List(ctx, managed)
	if err != nil {
		return err
	}
	deployments, err := client.AppsV1().Deployments(namespace).List(ctx, managed)
	if err != nil {
		return err
	}
	if left := len(configMaps.Items) + len(deployments.Items); left > 0 {
		return fmt.Errorf("cluster %s still has %d objects of removed releases", cluster, left)
	}
	return nil
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
