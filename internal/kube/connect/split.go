package connect

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// SplitKubeconfig returns one kubeconfig for each context of a kubeconfig, by the name of the
// context. Each has this context as the current one, and only its cluster and its user.
// SplitKubeconfig reads no files. Its errors contain nothing of the text except names.
func SplitKubeconfig(text string) (map[string]string, error) {
	if len(text) > kubeconfigLimit {
		return nil, fmt.Errorf("the kubeconfig is larger than the limit of %d bytes", kubeconfigLimit)
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		return nil, errNoKubeconfig
	}
	if len(config.Contexts) == 0 {
		return nil, errNoContexts
	}
	split := make(map[string]string, len(config.Contexts))
	for name, context := range config.Contexts {
		cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
		if cluster == nil {
			return nil, fmt.Errorf("context %q names the cluster %q, which is missing", name, context.Cluster)
		}
		one := clientcmdapi.NewConfig()
		one.CurrentContext = name
		one.Contexts[name], one.Clusters[context.Cluster] = context, cluster
		switch {
		case user != nil:
			one.AuthInfos[context.AuthInfo] = user
		case context.AuthInfo != "":
			return nil, fmt.Errorf("context %q names the user %q, which is missing", name, context.AuthInfo)
		}
		content, err := clientcmd.Write(*one)
		if err != nil {
			return nil, fmt.Errorf("writing the kubeconfig of context %q: %w", name, err)
		}
		split[name] = string(content)
	}
	return split, nil
}

var (
	errNoKubeconfig = errors.New("the text is not a kubeconfig in YAML or JSON")
	errNoContexts   = errors.New("the kubeconfig has no contexts")
)
