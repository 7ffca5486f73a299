package deploy

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// requestIndex finds releases and deployments of a request by cluster. It is made once, so that no
// deployment is compared with all others.
type requestIndex struct {
	// prior are the releases of Request.Prior, and lost those of Request.Lost, by cluster and
	// release.Key.
	prior, lost map[string]map[string]release.Known
	// write is Request.Write by cluster.
	write map[string][]target.Deployment
}

func (r Request) index() *requestIndex {
	i := &requestIndex{prior: map[string]map[string]release.Known{}, lost: map[string]map[string]release.Known{}, write: map[string][]target.Deployment{}}
	add := func(to map[string]map[string]release.Known, cluster string, known release.Known) {
		if to[cluster] == nil {
			to[cluster] = map[string]release.Known{}
		}
		to[cluster][release.Key(known.Namespace, known.Release)] = known
	}
	for key, record := range r.Prior {
		for _, known := range record.all() {
			add(i.prior, key.Cluster, known)
		}
	}
	for key, known := range r.Lost {
		add(i.lost, key.Cluster, known)
	}
	for _, d := range r.Write {
		i.write[d.Cluster] = append(i.write[d.Cluster], d)
	}
	return i
}
