package deploy

import (
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// knownOfCluster is what a request knows of one cluster, whatever names it has there.
type knownOfCluster struct {
	request *Request
	// cluster is the name that the cluster was asked by, and uid its identity.
	cluster, uid string
}

// find returns what state says of a release on this cluster, nil if it does not know it. The
// release can be another deployment's in the state: a bundle or a cluster can get another
// name while the release keeps its own.
func (k knownOfCluster) find(namespace, name string) *release.Known {
	for key, record := range k.request.Prior {
		if !k.isThisCluster(key.Cluster) {
			continue
		}
		for _, known := range record.all() {
			if known.Release == name && known.Namespace == namespace {
				return &known
			}
		}
	}
	for key, known := range k.request.Lost {
		if k.isThisCluster(key.Cluster) && known.Release == name && known.Namespace == namespace {
			return &known
		}
	}
	return nil
}

// isThisCluster reports whether a name of a cluster stands for this one.
func (k knownOfCluster) isThisCluster(cluster string) bool {
	return cluster == k.cluster || k.uid != "" && k.request.UIDs[cluster] == k.uid
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
	for _, d := range k.request.Write {
		if KeyOf(d) != except && d.Namespace == namespace && k.isThisCluster(d.Cluster) {
			releases = append(releases, d.Release)
		}
	}
	slices.Sort(releases)
	return releases
}
