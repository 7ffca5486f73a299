package testenv_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// TestEnvironment uses one environment as tests of the provider do.
//
// Its parts are not parallel, because some stop or move a cluster that all use.
func TestEnvironment(t *testing.T) {
	env := testenv.New(t, 2)
	if env.External() {
		t.Skip("existing clusters are not for stopping and moving")
	}
	t.Run("deployment becomes available", func(t *testing.T) {
		for _, name := range env.Contexts() {
			client := newClient(t, fromKubeconfig(t, env, name))
			createDeployment(t, client, "web")
			waitUntilAvailable(t, client, "web")
		}
	})
	t.Run("clusters are apart", func(t *testing.T) {
		createConfigMap(t, newClient(t, env.Cluster(0).RESTConfig()), "only-here")
		_, err := getConfigMap(t, newClient(t, env.Cluster(1).RESTConfig()), "only-here")
		if !apierrors.IsNotFound(err) {
			t.Errorf("object of another cluster: got error %v, want not found", err)
		}
	})
	t.Run("server tells its version", func(t *testing.T) {
		version, err := newClient(t, env.Cluster(0).RESTConfig()).Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"1", "37"}, []string{version.Major, version.Minor}); diff != "" {
			t.Errorf("version (-want +got):\n%s", diff)
		}
	})
	t.Run("namespace and what is in it disappear", func(t *testing.T) { removeNamespace(t, env) })
	t.Run("objects that stay", func(t *testing.T) { leaveObjects(t, env) })
	t.Run("user with few rights", func(t *testing.T) { useFewRights(t, env) })
	t.Run("stop and start", func(t *testing.T) { stopAndStart(t, env) })
	t.Run("move", func(t *testing.T) { move(t, env) })
	t.Run("as existing clusters", func(t *testing.T) { useAsExisting(t, env) })
}

func TestStopRemovesEverything(t *testing.T) {
	t.Parallel()
	testenv.Require(t)
	parent := t.TempDir()
	env, err := testenv.Start(t.Context(), testenv.Options{Parent: parent, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if env.External() {
		t.Skip("existing clusters stay")
	}
	config := env.Cluster(0).RESTConfig()
	for range 2 { // The second time nothing is left to do.
		if err := env.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newClient(t, config).Discovery().ServerVersion(); err == nil {
		t.Error("the API server still answers")
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("files are left in %s: %v", parent, entries)
	}
}

func TestSharedIsStartedOnce(t *testing.T) {
	t.Parallel()
	env := testenv.Shared(t)
	if len(env.Contexts()) != testenv.SharedClusters {
		t.Errorf("clusters: got %v, want %d", env.Contexts(), testenv.SharedClusters)
	}
	if testenv.Shared(t) != env {
		t.Error("a second call started other clusters")
	}
	for i, name := range env.Contexts() {
		if env.Cluster(i).Context() != name {
			t.Errorf("cluster %d: got %s, want %s", i, env.Cluster(i).Context(), name)
		}
		if _, err := newClient(t, env.Cluster(i).RESTConfig()).Discovery().ServerVersion(); err != nil {
			t.Errorf("cluster %s: %v", name, err)
		}
	}
}

func removeNamespace(t *testing.T, env *testenv.Env) {
	t.Helper()
	client := newClient(t, env.Cluster(0).RESTConfig())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "passing"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "in-it"}}
	if _, err := client.CoreV1().ConfigMaps("passing").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), "passing", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, "passing", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

func useFewRights(t *testing.T, env *testenv.Env) {
	t.Helper()
	cluster := env.Cluster(0)
	createConfigMap(t, newClient(t, cluster.RESTConfig()), "readable")
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}
	user, err := cluster.User(t.Context(), "reader", rules)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(user.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	if config.BearerToken != user.Token {
		t.Error("the user's kubeconfig has another token than the user")
	}
	client := newClient(t, config)
	until(t, "the user may read", func(context.Context) (bool, error) {
		_, err := getConfigMap(t, client, "readable")
		return err == nil, nil
	})
	if _, err := client.CoreV1().Secrets(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing secrets: got error %v, want forbidden", err)
	}
	err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Delete(t.Context(), "readable", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("deleting: got error %v, want forbidden", err)
	}

	if _, err := cluster.User(t.Context(), "reader", nil); err != nil {
		t.Fatalf("making the user again: %v", err)
	}
	until(t, "the user may read no more", func(context.Context) (bool, error) {
		_, err := getConfigMap(t, client, "readable")
		return apierrors.IsForbidden(err), nil
	})
	for range 2 { // The second time it does not exist any more.
		if err := cluster.RemoveUser(t.Context(), "reader"); err != nil {
			t.Fatal(err)
		}
	}
}

func stopAndStart(t *testing.T, env *testenv.Env) {
	t.Helper()
	cluster := env.Cluster(1)
	host := cluster.Host()
	client := newClient(t, cluster.RESTConfig())
	createConfigMap(t, client, "kept")
	user, err := cluster.User(t.Context(), "lasting", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := getConfigMap(t, client, "kept"); err == nil {
		t.Fatal("a stopped cluster answers")
	}
	createConfigMap(t, newClient(t, env.Cluster(0).RESTConfig()), "while-the-other-is-down")
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(host, cluster.Host()); diff != "" {
		t.Errorf("address after a stop (-want +got):\n%s", diff)
	}
	if _, err := getConfigMap(t, client, "kept"); err != nil {
		t.Errorf("data after a stop: %v", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(user.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := getConfigMap(t, newClient(t, config), "kept"); err != nil {
		t.Errorf("user after a stop: %v", err)
	}
	createDeployment(t, client, "after-stop")
	waitUntilAvailable(t, client, "after-stop")
}

func move(t *testing.T, env *testenv.Env) {
	t.Helper()
	cluster := env.Cluster(0)
	before := cluster.RESTConfig()
	createConfigMap(t, newClient(t, before), "carried")
	if err := cluster.Move(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cluster.Host() == before.Host {
		t.Errorf("the address is still %s", before.Host)
	}
	if _, err := getConfigMap(t, newClient(t, before), "carried"); err == nil {
		t.Error("the old address still answers")
	}
	config := fromKubeconfig(t, env, cluster.Context())
	if diff := cmp.Diff(cluster.Host(), config.Host); diff != "" {
		t.Errorf("address in the kubeconfig (-want +got):\n%s", diff)
	}
	client := newClient(t, config)
	if _, err := getConfigMap(t, client, "carried"); err != nil {
		t.Errorf("data after a move: %v", err)
	}
	createDeployment(t, client, "after-move")
	waitUntilAvailable(t, client, "after-move")
}

// leaveObjects creates objects while two processes run tests on two existing clusters, and removes them.
func leaveObjects(t *testing.T, env *testenv.Env) {
	t.Helper()
	t.Setenv("FLEET_TEST_KUBECONFIG", env.Kubeconfig())
	t.Setenv("FLEET_TEST_CONTEXTS", "c1,c2")
	t.Setenv("TMPDIR", t.TempDir())
	existing, err := testenv.Start(t.Context(), testenv.Options{Clusters: 2, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	var objects [3]*testenv.Objects
	note := func(i int) {
		t.Helper()
		if objects[i], err = existing.NoteObjects(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left := func(i int, patience time.Duration) []string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		left, err := objects[i].Left(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	note(0)
	client := newClient(t, env.Cluster(1).RESTConfig())
	meta := metav1.ObjectMeta{Name: "left"}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	note(1) // Beside the first, so these objects are not from before.
	if found := left(1, time.Second); len(found) > 0 {
		t.Errorf("left while other tests run: %v", found)
	}
	want := []string{"c2: ClusterRole.rbac.authorization.k8s.io/left", "c2: Namespace/left"}
	if diff := cmp.Diff(want, left(0, time.Second)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}

	note(2) // After them, so these objects are from before. A namespace that is being removed is waited for.
	namespaces := client.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "removed"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "removed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if found := left(2, time.Minute); len(found) > 0 {
		t.Errorf("left: %v", found)
	}
}

// useAsExisting sets the environment's clusters as existing clusters.
func useAsExisting(t *testing.T, env *testenv.Env) {
	t.Helper()
	t.Setenv("FLEET_TEST_KUBECONFIG", env.Kubeconfig())
	t.Setenv("FLEET_TEST_CONTEXTS", "c2, c1")
	existing, err := testenv.Start(t.Context(), testenv.Options{Clusters: 2, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if !existing.External() {
		t.Error("the environment does not say that its clusters are existing ones")
	}
	if diff := cmp.Diff([]string{"c2", "c1"}, existing.Contexts()); diff != "" {
		t.Errorf("contexts (-want +got):\n%s", diff)
	}
	for i, original := range []*testenv.Cluster{env.Cluster(1), env.Cluster(0)} {
		want := []string{original.Host(), original.Token(), string(original.CACertificate())}
		cluster := existing.Cluster(i)
		got := []string{cluster.Host(), cluster.Token(), string(cluster.CACertificate())}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("host, token and CA of %s differ from the original's", cluster.Context())
		}
	}
	actions := map[string]func(context.Context) error{
		"Stop": existing.Cluster(0).Stop, "Start": existing.Cluster(0).Start, "Move": existing.Cluster(0).Move,
	}
	for name, action := range actions {
		if err := action(t.Context()); !errors.Is(err, testenv.ErrExternal) {
			t.Errorf("%s: got error %v, want %v", name, err, testenv.ErrExternal)
		}
	}
	if err := existing.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := newClient(t, env.Cluster(0).RESTConfig()).Discovery().ServerVersion(); err != nil {
		t.Errorf("the existing clusters were stopped: %v", err)
	}
	if _, err := testenv.Start(t.Context(), testenv.Options{Clusters: 3}); err == nil {
		t.Error("three clusters of two: want an error")
	}
	t.Setenv("FLEET_TEST_CONTEXTS", "c1,unknown")
	if _, err := testenv.Start(t.Context(), testenv.Options{Clusters: 2}); err == nil {
		t.Error("unknown context: want an error")
	}
}

func fromKubeconfig(t *testing.T, env *testenv.Env, name string) *rest.Config {
	t.Helper()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: env.Kubeconfig()},
		&clientcmd.ConfigOverrides{CurrentContext: name},
	).ClientConfig()
	if err != nil {
		t.Fatalf("context %s of %s: %v", name, filepath.Base(env.Kubeconfig()), err)
	}
	return config
}

func newClient(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func createConfigMap(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func getConfigMap(t *testing.T, client kubernetes.Interface, name string) (*corev1.ConfigMap, error) {
	t.Helper()
	return client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
}

func createDeployment(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/" + name}}},
			},
		},
	}
	if _, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func waitUntilAvailable(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	until(t, "deployment "+name+" is available", func(ctx context.Context) (bool, error) {
		deployment, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return deployment.Status.AvailableReplicas == 3, nil
	})
}

// until waits for less time than a restarted kwok needs if it waits for the lease of the former
// kwok.
func until(t *testing.T, what string, condition wait.ConditionWithContextFunc) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 25*time.Second, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}
