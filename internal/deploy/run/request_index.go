package run

import (
	"maps"
	"slices"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// requestIndex finds releases and deployments of a request by cluster. It is built once, so that
// no deployment is compared with all others.
type requestIndex struct {
	// prior are the releases of Request.Prior, and missing those of Request.Missing, by cluster and
	// release.Key.
	prior, missing map[string]map[string]release.Known
	// write is Request.Write by cluster.
	write map[string][]target.Deployment
}

func (r Request) index() *requestIndex {
	i := &requestIndex{
		prior: map[string]map[string]release.Known{}, missing: map[string]map[string]release.Known{},
		write: map[string][]target.Deployment{},
	}
	add := func(to map[string]map[string]release.Known, cluster string, known release.Known) {
		if to[cluster] == nil {
			to[cluster] = map[string]release.Known{}
		}
		key := release.Key(known.Namespace, known.Release)
		if _, found := to[cluster][key]; !found {
			to[cluster][key] = known
		}
	}
	// If one deployment has a release that another one left, the record of the one that has it is
	// used.
	prior := slices.SortedFunc(maps.Keys(r.Prior), deploy.Key.Compare)
	for _, key := range prior {
		if record := r.Prior[key]; record.Release != "" {
			add(i.prior, key.Cluster, record.Current())
		}
	}
	for _, key := range prior {
		for _, left := range r.Prior[key].Leftovers {
			add(i.prior, key.Cluster, left)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.Missing), deploy.Key.Compare) {
		add(i.missing, key.Cluster, r.Missing[key])
	}
	for _, d := range r.Write {
		i.write[d.Cluster] = append(i.write[d.Cluster], d)
	}
	return i
}
