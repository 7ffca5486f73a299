package deploy

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// MoveCandidates are the deployments of a target between which objects can move.
type MoveCandidates struct {
	Write        []target.Deployment
	Remove, Keep []Key
	Prior        map[Key]Record
	// Wants are the objects that deployments in Write are going to have, by Object.Key, as far as
	// they are known before the apply.
	Wants map[Key]map[string]string
}

// Moves returns the objects that move from one bundle to another, by cluster. A deployment whose
// objects are not in state, as with plan_objects = false, loses none.
func (c MoveCandidates) Moves() map[string]release.Moves {
	bundles, mayMove := map[string][]release.BundleObjects{}, c.MayMove()
	add := func(key Key, wants map[string]string, writes bool) {
		if !mayMove[key.Cluster] {
			return
		}
		prior := c.Prior[key]
		of := release.BundleObjects{Bundle: key.Bundle, Has: prior.NamedObjects(), Wants: wants, HandedOver: prior.HandedOver, Writes: writes}
		for _, known := range prior.Releases() {
			of.Releases = append(of.Releases, release.Key(known.Namespace, known.Release))
		}
		bundles[key.Cluster] = append(bundles[key.Cluster], of)
	}
	for _, d := range c.Write {
		add(KeyOf(d), c.Wants[KeyOf(d)], true)
	}
	for _, key := range c.Remove {
		add(key, map[string]string{}, false)
	}
	for _, key := range c.Keep {
		add(key, c.Prior[key].NamedObjects(), false)
	}
	moves := map[string]release.Moves{}
	for cluster, on := range bundles {
		moves[cluster] = release.MovesOf(on)
	}
	return moves
}

// MayMove returns the clusters where an object can move. Something is written there, and another
// deployment there that has objects is written or removed, or has left objects before.
func (c MoveCandidates) MayMove() map[string]bool {
	written, losing := map[string]int{}, map[string]bool{}
	lose := func(key Key, has map[string]string) {
		losing[key.Cluster] = losing[key.Cluster] || len(has) > 0
	}
	for _, d := range c.Write {
		written[d.Cluster]++
		lose(KeyOf(d), c.Prior[KeyOf(d)].NamedObjects())
	}
	others := maps.Clone(written)
	for _, key := range c.Remove {
		others[key.Cluster]++
		lose(key, c.Prior[key].NamedObjects())
	}
	for _, key := range slices.Concat(c.Keep, c.Remove) {
		if len(c.Prior[key].HandedOver) > 0 {
			others[key.Cluster]++
			losing[key.Cluster] = true
		}
	}
	clusters := map[string]bool{}
	for cluster := range written {
		clusters[cluster] = losing[cluster] && others[cluster] > 1
	}
	return clusters
}
