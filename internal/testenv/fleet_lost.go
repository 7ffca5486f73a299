package testenv

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LoseAgent kills the agent of a cluster and sets its last check-in to an hour ago. This remains so
// until StartAgent.
func (f *Fleet) LoseAgent(ctx context.Context, cluster string) error {
	management, err := f.newFleetClient(FleetManagement)
	if err != nil {
		return err
	}
	if err := errors.Join(management.findAgent(ctx, cluster), f.StopAgent(ctx, cluster)); err != nil {
		return err
	}
	if err := management.loseAgent(ctx, cluster, time.Now().Add(-time.Hour)); err != nil {
		return fmt.Errorf("setting when the agent of cluster %s was last seen: %w", cluster, err)
	}
	return nil
}

// loseAgent sets when an agent was last seen. A policy refuses any other time. It is needed because
// Fleet's controller writes the whole status of a cluster, also from before the agent was lost.
func (c fleetClient) loseAgent(ctx context.Context, cluster string, at time.Time) error {
	policy, binding := lostPolicy(cluster, at)
	admission := c.client.AdmissionregistrationV1()
	if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating a policy: %w", err)
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("binding a policy: %w", err)
	}
	err := c.wait(ctx, "the API server to refuse another time", func(ctx context.Context) error {
		switch err := c.setLastSeen(ctx, cluster, at.Add(time.Minute), metav1.DryRunAll); {
		case apierrors.IsInvalid(err):
			return nil
		case err != nil:
			return err
		default:
			return errors.New("it accepts one")
		}
	})
	if err != nil {
		return err
	}
	return c.setLastSeen(ctx, cluster, at)
}

// findAgent reverts loseAgent. It does nothing for other agents.
func (c fleetClient) findAgent(ctx context.Context, cluster string) error {
	policy, binding := lostPolicy(cluster, time.Time{})
	admission := c.client.AdmissionregistrationV1()
	switch err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{}); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("removing the binding of a policy: %w", err)
	}
	if err := admission.ValidatingAdmissionPolicies().Delete(ctx, policy.Name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("removing a policy: %w", err)
	}
	return c.wait(ctx, "the API server to accept another time", func(ctx context.Context) error {
		return c.setLastSeen(ctx, cluster, time.Now(), metav1.DryRunAll)
	})
}

func (c fleetClient) setLastSeen(ctx context.Context, cluster string, at time.Time, dryRun ...string) error {
	patch := fmt.Appendf(nil, `{"status": {"agent": {"lastSeen": %q}}}`, at.UTC().Format(time.RFC3339))
	_, err := c.clusters().Patch(ctx, cluster, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dryRun}, "status")
	return err
}

// lostPolicy refuses each status of a cluster in which the agent was seen at another time.
func lostPolicy(cluster string, at time.Time) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	of, meta := fleetClusters(), metav1.ObjectMeta{Name: "lost-agent-of-" + cluster}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					ResourceNames: []string{cluster},
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{
							APIGroups: []string{of.Group}, APIVersions: []string{of.Version}, Resources: []string{of.Resource + "/status"},
						},
					},
				}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("object.status.agent.lastSeen == %q", at.UTC().Format(time.RFC3339)),
				Message:    "the agent of this cluster is lost",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	return policy, binding
}
