package deploy

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// knownOfCluster is what a request knows of one cluster, whatever names it has there.
type knownOfCluster struct {
	request *Request
	index   *requestIndex
	// cluster is the name that the cluster was asked by, and uid its identity.
	cluster, uid string
}

// find returns what state says of a release on this cluster, nil if it does not know it. The
// release can be another deployment's in the state: a bundle or a cluster can get another
// name while the release keeps its own.
func (k knownOfCluster) find(namespace, name string) *release.Known {
	names, key := k.names(), release.Key(namespace, name)
	for _, releases := range []map[string]map[string]release.Known{k.index.prior, k.index.lost} {
		for _, cluster := range names {
			if known, found := releases[cluster][key]; found {
				return &known
			}
		}
	}
	return nil
}

// names are the names that stand for this cluster, the one that it was asked by first.
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

// markOf is the mark of a deployment of this target, with the id that state knows its
// release by.
func (k knownOfCluster) markOf(bundle, digest string, known *release.Known) release.Mark {
	if known == nil {
		return k.request.mark(bundle, digest)
	}
	return k.request.Mark(bundle, digest, *known)
}

// ownership is whose a release on this cluster is to the target, which state knows it as.
func (k knownOfCluster) ownership(observed release.Observed) release.Ownership {
	known := release.Known{}
	if found := k.find(observed.Namespace, observed.Release); found != nil {
		known = *found
	}
	return k.request.ownership(observed, known)
}

// deployedTo are the releases that other deployments of the request have in a namespace of
// this cluster once they are written, sorted. It stays for them while it is empty.
func (k knownOfCluster) deployedTo(namespace string, except Key) []string {
	var releases []string
	for _, cluster := range k.names() {
		for _, d := range k.index.write[cluster] {
			if KeyOf(d) != except && d.Namespace == namespace {
				releases = append(releases, d.Release)
			}
		}
	}
	slices.Sort(releases)
	return releases
}
