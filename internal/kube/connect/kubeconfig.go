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

// kubeconfigLoader reads files into a configuration that the caller may change.
type kubeconfigLoader func(paths []string) (*clientcmdapi.Config, error)

// Kubeconfigs reads each kubeconfig once for all connections that name it: a file with
// 200 contexts is not parsed 200 times. The zero value is ready for use.
type Kubeconfigs struct {
	mu sync.Mutex
	// files contains the kubeconfig files by their paths.
	files map[string]*kubeconfigFiles
}

// kubeconfigFiles are the kubeconfig files of one connection.
type kubeconfigFiles struct {
	mu     sync.Mutex
	config *clientcmdapi.Config // nil until it could be read.
	// unread is the error of a pipe that could not be read. A pipe gives its content once, so it is
	// not read again, and no later caller waits for it.
	unread error
}

func (k *Kubeconfigs) load(paths []string) (*clientcmdapi.Config, error) {
	return k.of(paths).load(paths)
}

func (k *Kubeconfigs) of(paths []string) *kubeconfigFiles {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := strings.Join(paths, "\x00")
	if k.files == nil {
		k.files = map[string]*kubeconfigFiles{}
	}
	if k.files[key] == nil {
		k.files[key] = &kubeconfigFiles{}
	}
	return k.files[key]
}

func (f *kubeconfigFiles) load(paths []string) (*clientcmdapi.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.config == nil && f.unread == nil {
		config, pipe, err := loadFiles(paths)
		if err != nil && !pipe {
			return nil, err
		}
		f.config, f.unread = config, err
	}
	// A copy, because picking a context changes its user.
	return f.config.DeepCopy(), f.unread
}

// loadFiles reads kubeconfig files. A single file may be a pipe.
func loadFiles(paths []string) (config *clientcmdapi.Config, pipe bool, err error) {
	for _, path := range paths {
		pipe, err := isPipe(path, kubeconfigLimit)
		switch {
		case err != nil:
			return nil, false, fmt.Errorf("reading the kubeconfig: %w", &FileError{Setting: "config_path", Path: path, Err: err})
		case pipe && len(paths) > 1:
			return nil, false, &FileError{Setting: "config_path", Path: path, Err: errors.New("a pipe cannot be combined with other files")}
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
		return nil, &FileError{Setting: "config_path", Path: path, Err: err}
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
	if by := config.Clusters[cmp.Or(c.ConfigContextCluster, cluster)]; by != nil && len(by.CertificateAuthorityData) == 0 && c.ClusterCACertificate == "" && !c.Insecure {
		if err := checkFile("certificate-authority", by.CertificateAuthority, secretLimit); err != nil {
			return "", err
		}
	}
	by := config.AuthInfos[cmp.Or(c.ConfigContextAuthInfo, user)]
	if by == nil {
		return "", nil
	}
	if len(by.ClientCertificateData) == 0 {
		if err := checkFile("client-certificate", by.ClientCertificate, secretLimit); err != nil {
			return "", err
		}
	}
	if len(by.ClientKeyData) == 0 {
		if err := checkFile("client-key", by.ClientKey, secretLimit); err != nil {
			return "", err
		}
	}
	if token = by.TokenFile; token != "" {
		by.Token, by.TokenFile, by.Exec = "", "", nil // The token file takes precedence.
	}
	return token, nil
}
