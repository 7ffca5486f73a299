package immutable

// WithoutUnique removes the values of an object that no second object may have: addresses and ports
// of a Service, and the default of all priority classes. It changes the object, which has to be a copy.
func WithoutUnique(content map[string]any) {
	spec, _ := content["spec"].(map[string]any)
	switch KindOf(content) {
	case "PriorityClass.scheduling.k8s.io":
		delete(content, "globalDefault")
	case "Service":
		if spec["clusterIP"] != headless {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		delete(spec, "healthCheckNodePort")
		ports, _ := spec["ports"].([]any)
		for _, port := range ports {
			if fields, ok := port.(map[string]any); ok {
				delete(fields, "nodePort")
			}
		}
	}
}
