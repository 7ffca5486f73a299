package deploy

// ImportScope is where an import looks for releases. Everything has to be known that decides
// what is found there: an import that misses a release leaves it in no state.
type ImportScope struct {
	Clusters                      []string
	OwnerUnknown, ClustersUnknown bool
	// ConnectionUnknown reports whether a connection is not known yet.
	ConnectionUnknown func(cluster string) bool
}

// Unknown returns what is not known yet.
func (s ImportScope) Unknown() []string {
	var unknown []string
	if s.OwnerUnknown {
		unknown = append(unknown, "the provider's owner")
	}
	if s.ClustersUnknown {
		unknown = append(unknown, "the provider's clusters")
	}
	for _, cluster := range s.Clusters {
		if s.ConnectionUnknown(cluster) {
			unknown = append(unknown, "the connection of cluster "+cluster)
		}
	}
	return unknown
}
