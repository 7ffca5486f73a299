package connect

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfigs reads each kubeconfig once for all connections that name it: a file with
// 200 contexts is not parsed 200 times. The zero value is ready for use.
type Kubeconfigs struct {
	// files contains *kubeconfigFiles by their paths.
	files sync.Map
}

// kubeconfigFiles are the kubeconfig files of one connection.
type kubeconfigFiles struct {
	mu     sync.Mutex
	config *clientcmdapi.Config // nil until it could be read.
	// unread is the error of a pipe that could not be read. A pipe gives its content once, so it is
	// not read again, and no later caller waits for it.
	unread error
}

// load reads files into a configuration that the caller may change.
func (k *Kubeconfigs) load(paths []string) (*clientcmdapi.Config, error) {
	known, _ := k.files.LoadOrStore(strings.Join(paths, "\x00"), &kubeconfigFiles{})
	files, _ := known.(*kubeconfigFiles)
	files.mu.Lock()
	defer files.mu.Unlock()
	if files.config == nil && files.unread == nil {
		config, pipe, err := loadFiles(paths)
		if err != nil && !pipe {
			return nil, err
		}
		files.config, files.unread = config, err
	}
	// A copy, because picking a context changes its user.
	return files.config.DeepCopy(), files.unread
}

// loadFiles reads kubeconfig files. A single file may be a pipe.
func loadFiles(paths []string) (config *clientcmdapi.Config, pipe bool, err error) {
	for _, path := range paths {
		pipe, err := isPipe(path, kubeconfigLimit)
		switch {
		case err != nil:
			return nil, false, fmt.Errorf("reading the kubeconfig: %w", fileError("config_path", path, err))
		case pipe && len(paths) > 1:
			return nil, false, fileError("config_path", path, errors.New("a pipe cannot be combined with other files"))
		case pipe:
			config, err = loadPipe(path)
			return config, true, err
		}
	}
	if config, err = (&clientcmd.ClientConfigLoadingRules{Precedence: paths}).Load(); err != nil {
		return nil, false, unreadable(strings.Join(paths, ", "))
	}
	return config, false, nil
}

// unreadable leaves out the message of the parser, which can quote the content.
func unreadable(paths string) error {
	return fmt.Errorf("reading the kubeconfig %s: it is not a kubeconfig in YAML or JSON", paths)
}

func loadPipe(path string) (*clientcmdapi.Config, error) {
	content, err := readFile(path, kubeconfigLimit)
	if err != nil {
		return nil, fileError("config_path", path, err)
	}
	config, err := clientcmd.Load(content)
	if err != nil {
		return nil, unreadable(path)
	}
	return config, nil
}

// ownFiles checks the files that a context of a kubeconfig names, because client-go reads a file of
// any size to its end. It removes the token file from config and returns its path, because
// client-go would read that file now.
func (c Connection) ownFiles(config *clientcmdapi.Config, context string) (token string, err error) {
	var cluster, user string
	if picked := config.Contexts[context]; picked != nil {
		cluster, user = picked.Cluster, picked.AuthInfo
	}
	if by := config.Clusters[cmp.Or(c.ConfigContextCluster, cluster)]; by != nil && c.ClusterCACertificate == "" && !c.Insecure {
		if err := checkFile("certificate-authority", by.CertificateAuthority, by.CertificateAuthorityData); err != nil {
			return "", err
		}
	}
	by := config.AuthInfos[cmp.Or(c.ConfigContextAuthInfo, user)]
	if by == nil {
		return "", nil
	}
	if err := cmp.Or(
		checkFile("client-certificate", by.ClientCertificate, by.ClientCertificateData),
		checkFile("client-key", by.ClientKey, by.ClientKeyData),
	); err != nil {
		return "", err
	}
	if token = by.TokenFile; token != "" {
		// The token file takes precedence.
		by.Token = ""
		by.TokenFile = ""
		by.Exec = nil
	}
	return token, nil
}
