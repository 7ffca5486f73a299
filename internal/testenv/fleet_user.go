package testenv

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// User creates a user of the management cluster. Its rights are the Roles and ClusterRoles of a
// file, which are created unchanged and bound to the user. The name must be a valid name of a
// Kubernetes object that no other user of the Fleet has. The same applies to the names of the
// roles.
func (f *Fleet) User(ctx context.Context, name string, roles []byte) (User, error) {
	client, err := f.newFleetClient(FleetManagement)
	if err != nil {
		return User{}, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: userPrefix + name}}
	accounts := client.client.CoreV1().ServiceAccounts(userNamespace)
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return User{}, fmt.Errorf("making user %s: %w", name, err)
	}
	created, err := client.create(ctx, roles)
	if err != nil {
		return User{}, fmt.Errorf("creating the roles of user %s: %w", name, err)
	}
	for _, role := range created {
		if err := client.bind(ctx, account.Name, role.object.GetKind(), role.object.GetNamespace(), role.object.GetName()); err != nil {
			return User{}, fmt.Errorf("binding a role to user %s: %w", name, err)
		}
	}
	token, err := makeToken(ctx, accounts, account.Name)
	if err != nil {
		return User{}, fmt.Errorf("requesting a token for user %s: %w", name, err)
	}
	kubeconfig, err := f.Management().kubeconfig(token)
	return User{Token: token, Kubeconfig: kubeconfig}, err
}

func (c fleetClient) bind(ctx context.Context, account, kind, namespace, name string) error {
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: userNamespace, Name: account}}
	var err error
	if namespace == "" {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: role, Subjects: subjects}
		_, err = c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	} else {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: role, Subjects: subjects}
		_, err = c.client.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{})
	}
	return err
}
