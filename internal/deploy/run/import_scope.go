package run

// ImportScope is where an import searches for releases. Every value that decides which releases
// are found has to be known: a release that an import misses is in no state.
type ImportScope struct {
	Clusters                      []string
	OwnerUnknown, ClustersUnknown bool
	// EngineUnknown reports that a Fleet delivers, and its connection is not known yet.
	EngineUnknown bool
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
	if s.EngineUnknown {
		unknown = append(unknown, "the provider's engine")
	}
	for _, cluster := range s.Clusters {
		if s.ConnectionUnknown(cluster) {
			unknown = append(unknown, "the connection of cluster "+cluster)
		}
	}
	return unknown
}
