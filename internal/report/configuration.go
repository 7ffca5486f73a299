package report

// InvalidSetting reports an attribute whose value cannot be used.
func InvalidSetting(attribute, summary string, err error) []Message {
	return failureAt([]any{attribute}, summary, Sentence(err))
}

// NoBundleNames reports write-only input that is not an object.
func NoBundleNames(attribute string) []Message {
	return failureAt([]any{attribute}, "Invalid "+attribute, "It must be an object whose keys are names of bundles.")
}

// NullCluster reports an entry of clusters that is null.
func NullCluster(name string) []Message {
	return failureAt([]any{"clusters", MapKey(name)}, "Cluster "+name+" is null",
		"A null entry has no connection. Omit its key, for example with an \"if\" in the expression that builds the map.")
}

// InvalidConnection reports an entry of clusters with an invalid connection.
func InvalidConnection(name string, err error) []Message {
	return failureAt([]any{"clusters", MapKey(name)}, "Invalid connection of cluster "+name, Sentence(err))
}

// InvalidEngineConnection reports an engine with an invalid connection to the management
// cluster.
func InvalidEngineConnection(err error) []Message {
	return failureAt([]any{"engine"}, "Invalid connection of the management cluster", Sentence(err))
}

// InvalidTemplateValues reports values of a cluster that cannot be read.
func InvalidTemplateValues(name string, err error) []Message {
	return failureAt([]any{"clusters", MapKey(name), "template_values"}, "Invalid template values of cluster "+name,
		"They must be a map written as YAML or JSON: "+err.Error())
}

// InvalidKubeVersion reports a cluster with an invalid kube_version.
func InvalidKubeVersion(name string, err error) []Message {
	return failureAt([]any{"clusters", MapKey(name), "kube_version"}, "Invalid Kubernetes version of cluster "+name, Sentence(err))
}

// APIVersionsAlone reports a cluster that has api_versions and no kube_version.
func APIVersionsAlone(name string) []Message {
	return failureAt([]any{"clusters", MapKey(name), "api_versions"}, "kube_version of cluster "+name+" is missing",
		"api_versions and kube_version together replace what charts read of the cluster. Set both, or remove api_versions.")
}

// InvalidSOPSKey reports an invalid key in one of the lists of keys for sops.
func InvalidSOPSKey(list string, index int, err error) []Message {
	return failureAt([]any{"sops", list, index}, "Invalid key for sops", Sentence(err))
}

// readLater is advice for a data source with unknown input. Terraform reads a data source
// while planning unless it has a dependency.
const readLater = "Or list the resources that produce the value in depends_on of the data source. Terraform then reads it during apply."

// OwnerUnknown reports that the owner of deployments is not known yet.
func OwnerUnknown() []Message {
	return failure("Cannot read the state of deployments", "The provider's owner is not known yet. "+readLater)
}

// RenderClustersUnknown reports that the clusters of a data source are not known yet.
func RenderClustersUnknown() []Message {
	return failure("Cannot render for clusters that are not known yet",
		"The provider's clusters or their labels depend on resources that do not exist yet. Set clusters in the data source. "+readLater)
}

// RenderUnknown reports other input that is not known yet. It reports nothing if reason is "".
func RenderUnknown(reason string) []Message {
	return failureIf(reason != "", "Cannot render with unknown input", "Not known yet: "+reason+". "+readLater)
}

// NoProgress reports that the file of FLEET_PROGRESS cannot be written.
func NoProgress(err error) []Message {
	return warning("The progress of applies is not written", Sentence(err)+
		" Everything else works as usual. A named pipe needs a reader before Terraform starts. Correct or unset FLEET_PROGRESS.")
}

// NoPlanReport reports that a file of FLEET_REPORT cannot be written.
func NoPlanReport(err error) []Message {
	return warning("The report of the plan is not written", Sentence(err)+" Everything else works as usual. Correct or unset FLEET_REPORT.")
}
