package testenv

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// userNamespace contains the service accounts of users, away from the namespaces of tests.
	userNamespace = metav1.NamespaceSystem
	userPrefix    = "testenv-user-"
	tokenSeconds  = 24 * 60 * 60
)

// A User is an identity with few rights on one cluster.
type User struct {
	// Token is a bearer token that is valid for a day, also after the cluster was stopped or moved.
	Token string
	// Kubeconfig is the content of a kubeconfig whose only and current context has the cluster's
	// name. It contains the address that the cluster has now.
	Kubeconfig string
}

// User creates a user whose rights are exactly the rules, in all namespaces, and the rights of
// every service account (discovery, and reviews of its own rights). Another call with the same name
// replaces the rights and returns a new token. The name must be a valid name of a Kubernetes
// object.
func (c *Cluster) User(ctx context.Context, name string, rules []rbacv1.PolicyRule) (User, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return User{}, fmt.Errorf("making user %s on cluster %s: %w", name, c.context, err)
	}
	token, err := makeUser(ctx, client, userPrefix+name, rules)
	if err != nil {
		return User{}, fmt.Errorf("making user %s on cluster %s: %w", name, c.context, err)
	}
	kubeconfig, err := c.kubeconfig(token)
	return User{Token: token, Kubeconfig: kubeconfig}, err
}

// kubeconfig returns a kubeconfig with one context, which authenticates with a token.
func (c *Cluster) kubeconfig(token string) (string, error) {
	kubeconfig := clientcmdapi.NewConfig()
	c.addTo(kubeconfig, token)
	kubeconfig.CurrentContext = c.context
	content, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return "", fmt.Errorf("encoding a kubeconfig of cluster %s: %w", c.context, err)
	}
	return string(content), nil
}

// RemoveUser removes a user; only existing clusters need this. It is no error if there is no such
// user.
func (c *Cluster) RemoveUser(ctx context.Context, name string) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("removing user %s from cluster %s: %w", name, c.context, err)
	}
	name = userPrefix + name
	steps := []func(context.Context, string, metav1.DeleteOptions) error{
		client.RbacV1().ClusterRoleBindings().Delete,
		client.RbacV1().ClusterRoles().Delete,
		client.CoreV1().ServiceAccounts(userNamespace).Delete,
	}
	for _, remove := range steps {
		if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing %s from cluster %s: %w", name, c.context, err)
		}
	}
	return nil
}

// Allow gives a user exactly these rights in one namespace, beside those of User. Another call with the
// same names replaces them.
func (c *Cluster) Allow(ctx context.Context, name, namespace string, rules []rbacv1.PolicyRule) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("giving rights to user %s on cluster %s: %w", name, c.context, err)
	}
	name = userPrefix + name
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	_, err = client.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.RbacV1().Roles(namespace).Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("creating role %s in namespace %s: %w", name, namespace, err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: userNamespace, Name: name}},
	}
	if _, err := client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return fmt.Errorf("binding role %s in namespace %s: %w", name, namespace, err)
	}
	return nil
}

// Disallow takes back what Allow gave in a namespace.
func (c *Cluster) Disallow(ctx context.Context, name, namespace string) error {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return fmt.Errorf("taking rights from user %s on cluster %s: %w", name, c.context, err)
	}
	name = userPrefix + name
	for _, remove := range []func(context.Context, string, metav1.DeleteOptions) error{client.RbacV1().RoleBindings(namespace).Delete, client.RbacV1().Roles(namespace).Delete} {
		if err := remove(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("removing the rights of %s in namespace %s: %w", name, namespace, err)
		}
	}
	return nil
}

// makeUser returns a token of a service account that is bound to a role with the rules.
func makeUser(ctx context.Context, client kubernetes.Interface, name string, rules []rbacv1.PolicyRule) (string, error) {
	meta := metav1.ObjectMeta{Name: name}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	accounts := client.CoreV1().ServiceAccounts(userNamespace)
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); ignoreExists(err) != nil {
		return "", fmt.Errorf("creating a service account: %w", err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
	_, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = client.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("creating its role: %w", err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: userNamespace, Name: name}},
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if ignoreExists(err) != nil {
		return "", fmt.Errorf("binding its role: %w", err)
	}
	token, err := makeToken(ctx, accounts, name)
	if err != nil {
		return "", fmt.Errorf("asking for its token: %w", err)
	}
	return token, nil
}

func makeToken(ctx context.Context, accounts typedcorev1.ServiceAccountInterface, name string) (string, error) {
	seconds := int64(tokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := accounts.CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	return answer.Status.Token, nil
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
