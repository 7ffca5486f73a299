package deploy

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

// Observation is what is known after looking.
type Observation struct {
	// Records holds the deployments that are there, and unchanged those on
	// clusters that could not be asked.
	Records map[Key]Record
	// UIDs maps each cluster that answered to its identity.
	UIDs map[string]string
	// Failures has one entry for each cluster that could not be asked.
	Failures []Failure
}

// Holder is whose deployments are looked at.
type Holder struct {
	Owner, Target, Instance string
}

// Observe looks at the clusters of the given records. Only a cluster that
// answered can make a record disappear.
func (e *Engine) Observe(ctx context.Context, holder Holder, records map[Key]Record) Observation {
	byCluster := map[string][]Key{}
	for key := range records {
		byCluster[key.Cluster] = append(byCluster[key.Cluster], key)
	}
	var (
		mu       sync.Mutex
		observed = Observation{Records: map[Key]Record{}, UIDs: map[string]string{}}
		looking  sync.WaitGroup
	)
	for name, keys := range byCluster {
		looking.Go(func() {
			cluster, snapshot, err := e.look(ctx, name)
			seen := map[Key]Record{}
			if err == nil {
				seen = observeCluster(ctx, cluster, snapshot, holder, keys, records)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				observed.Failures = append(observed.Failures, Failure{Cluster: name, Doing: "looking at the cluster", Err: err})
				for _, key := range keys {
					observed.Records[key] = records[key]
				}
				return
			}
			observed.UIDs[name] = snapshot.UID
			maps.Copy(observed.Records, seen)
		})
	}
	looking.Wait()
	slices.SortFunc(observed.Failures, compareFailures)
	return observed
}

func observeCluster(ctx context.Context, cluster Cluster, snapshot release.Snapshot, holder Holder, keys []Key, records map[Key]Record) map[Key]Record {
	seen := map[Key]Record{}
	for _, key := range keys {
		prior := records[key]
		observed := snapshot.Find(prior.Namespace, prior.Release)
		if observed == nil || observed.Status == release.StatusUninstalled {
			continue
		}
		record := fold(prior, *observed, release.NewMark(holder.Owner, holder.Target, holder.Instance, key.Bundle, prior.Digest))
		if record.State == status.NotReady {
			record.State, record.Message = status.Ready, ""
			if err := cluster.Ready(ctx, *observed); err != nil {
				record.State, record.Message = status.NotReady, status.Message(err.Error())
			}
		}
		seen[key] = record
	}
	return seen
}

// fold says what a record has become, given the newest revision on the cluster.
func fold(prior Record, observed release.Observed, own release.Mark) Record {
	record := prior
	switch {
	case release.DecideRemoval(own, &observed) != release.Uninstall:
		record.State, record.Digest = status.Modified, ""
		record.Message = "the release was taken over by another holder"
	case !observed.Current():
		record.State, record.Digest = status.Modified, ""
		record.Message = status.Message("the newest revision was made outside of Terraform")
	case observed.Status == release.StatusFailed:
		record.State, record.Digest = status.ErrApplied, observed.Mark.Digest
	case observed.Status != release.StatusDeployed:
		record.State, record.Digest = status.WaitApplied, observed.Mark.Digest
		record.Message = status.Message("the last operation was cut short: " + string(observed.Status))
	default:
		record.Digest = observed.Mark.Digest
	}
	return record
}
