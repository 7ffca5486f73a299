package run

import (
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// knownOfCluster is what a request has recorded of one cluster, under all names of the cluster.
type knownOfCluster struct {
	request *Request
	index   *requestIndex
	// cluster is the name that the cluster was read by, and uid its identity.
	cluster, uid string
}

// find returns what state has recorded of a release on this cluster, nil if it has nothing. In the
// state the release can belong to another deployment: a bundle or a cluster can get another name
// while the release keeps its own.
func (k knownOfCluster) find(namespace, name string) *release.Known {
	names, key := k.names(), release.Key(namespace, name)
	for _, releases := range []map[string]map[string]release.Known{k.index.prior, k.index.missing} {
		for _, cluster := range names {
			if known, found := releases[cluster][key]; found {
				return &known
			}
		}
	}
	return nil
}

// has reports whether state has a release of this cluster, as release.Key.
func (k knownOfCluster) has(at string) bool {
	namespace, name, _ := strings.Cut(at, "/")
	return k.find(namespace, name) != nil
}

// names returns the names of this cluster, first the one that it was read by.
func (k knownOfCluster) names() []string {
	names := []string{k.cluster}
	if k.uid == "" {
		return names
	}
	for cluster, uid := range k.request.UIDs {
		if uid == k.uid && cluster != k.cluster {
			names = append(names, cluster)
		}
	}
	slices.Sort(names[1:])
	return names
}

// claimant returns this target in relation to a release of this cluster that state may have.
func (k knownOfCluster) claimant(bundle, digest, namespace, name string) release.Claimant {
	return k.request.Claimant(bundle, digest, k.uid, k.find(namespace, name))
}

// ownership returns who has a release on this cluster: the target or another owner.
func (k knownOfCluster) ownership(observed release.Observed) release.Ownership {
	return k.claimant("", "", observed.Namespace, observed.Release).Ownership(observed)
}

// deployedTo returns the releases that other deployments of the request have in a namespace of
// this cluster once they are written, sorted. For them the namespace stays, even while it is
// empty.
func (k knownOfCluster) deployedTo(namespace string, except deploy.Key) []string {
	var releases []string
	for _, cluster := range k.names() {
		for _, d := range k.index.write[cluster] {
			if deploy.KeyOf(d) != except && d.Namespace == namespace {
				releases = append(releases, d.Release)
			}
		}
	}
	slices.Sort(releases)
	return releases
}
