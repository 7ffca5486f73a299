package plan

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Desired is what the configuration of a target requests.
type Desired struct {
	Deployments []target.Deployment
	// Broken is why deployments cannot be made. Deployments that have no options for that reason
	// are in WithoutOptions, with only their cluster and their bundle.
	Broken         map[deploy.Key]error
	WithoutOptions []target.Deployment
	// Unreadable is why bundles cannot be read, by name. Their existing deployments stay.
	Unreadable map[string]error
	// Windows hold back changes, nil if there are none. Needs are the bundles that each bundle was
	// deployed after: what a held deployment depends on is not removed.
	Windows deploy.Windows
	Needs   map[string][]string
	// Policies check what is written, nil if there are none.
	Policies deploy.Policies
	// Unpredicted are the digests of deployments of which an apply rendered other objects than its plan
	// showed. As long as a deployment has this digest, no plan shows its objects.
	Unpredicted map[deploy.Key]string
}

// NewDesired converts the result of targeting into desired deployments. check returns what is
// wrong with a deployment.
func NewDesired(bundles []*bundle.Bundle, result target.Result, unreadable map[string]error, check func(target.Deployment) error) Desired {
	desired := Desired{Deployments: result.Deployments, Broken: map[deploy.Key]error{}, Unreadable: unreadable}
	for _, failure := range result.Failures {
		desired.Broken[deploy.Key{Cluster: failure.Cluster, Bundle: failure.Bundle}] = failure.Err
		for _, b := range bundles {
			if b.Name == failure.Bundle {
				desired.WithoutOptions = append(desired.WithoutOptions, target.Deployment{Cluster: failure.Cluster, Bundle: b})
			}
		}
	}
	for _, d := range result.Deployments {
		if err := check(d); err != nil {
			desired.Broken[deploy.KeyOf(d)] = err
		}
	}
	return desired
}

// all returns the wanted deployments, and the existing deployments of bundles that cannot be read.
func (d Desired) all(prior map[deploy.Key]deploy.Record) []target.Deployment {
	all := slices.Concat(d.Deployments, d.WithoutOptions)
	for _, key := range slices.SortedFunc(maps.Keys(prior), deploy.Key.Compare) {
		if d.isUnreadable(key) {
			all = append(all, target.Deployment{Cluster: key.Cluster, Bundle: &bundle.Bundle{Name: key.Bundle}})
		}
	}
	return all
}

func (d Desired) isUnreadable(key deploy.Key) bool { return d.Unreadable[key.Bundle] != nil }

// brokenBy returns why a deployment cannot be made, nil if it can.
func (d Desired) brokenBy(key deploy.Key) error {
	if d.isUnreadable(key) {
		return d.Unreadable[key.Bundle]
	}
	return d.Broken[key]
}

// withBroken returns the desired deployments with further ones marked as broken.
func (d Desired) withBroken(more map[deploy.Key]error) Desired {
	broken := maps.Clone(more)
	maps.Copy(broken, d.Broken)
	d.Broken = broken
	return d
}

// Undeployed returns the bundles that cannot be read and of which nothing is deployed.
func (d Desired) Undeployed(prior map[deploy.Key]deploy.Record) []deploy.Failure {
	deployed := map[string]bool{}
	for key := range prior {
		deployed[key.Bundle] = true
	}
	var failures []deploy.Failure
	for _, name := range slices.Sorted(maps.Keys(d.Unreadable)) {
		if !deployed[name] {
			failures = append(failures, deploy.Failure{Cluster: "*", Bundle: name, Err: d.Unreadable[name]})
		}
	}
	return failures
}

// Releases returns the wanted releases, by the key of their deployment, "" for one without
// options.
func (d Desired) Releases() map[string]string {
	releases := make(map[string]string, len(d.Deployments))
	for _, wanted := range d.Deployments {
		releases[wanted.Key()] = release.Key(wanted.Namespace, wanted.Release)
	}
	for _, wanted := range d.WithoutOptions {
		releases[wanted.Key()] = ""
	}
	return releases
}

// Bundles returns the bundles of the deployments.
func (d Desired) Bundles() []*bundle.Bundle {
	var bundles []*bundle.Bundle
	seen := map[*bundle.Bundle]bool{}
	for _, wanted := range d.Deployments {
		if !seen[wanted.Bundle] {
			seen[wanted.Bundle] = true
			bundles = append(bundles, wanted.Bundle)
		}
	}
	return bundles
}

// UnmatchedConsent returns the patterns of a consent that match no deployment that is wanted or in state.
// It returns none if bundles cannot be read, because a pattern may be for one of them.
func (d Desired) UnmatchedConsent(consent deploy.Consent, prior map[deploy.Key]deploy.Record) []string {
	if len(d.Unreadable) > 0 {
		return nil
	}
	var names []string
	for _, wanted := range d.all(prior) {
		names = append(names, wanted.Key())
	}
	for key := range prior {
		names = append(names, key.String())
	}
	return consent.Of.Unmatched(names)
}
