package kube

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfigLoader reads files into a configuration that nobody else has.
type kubeconfigLoader func(paths []string) (*clientcmdapi.Config, error)

// Kubeconfigs reads each kubeconfig once for all connections that name it: a file with
// 200 contexts is not parsed 200 times. The zero value is ready for use.
type Kubeconfigs struct {
	// read is what is in files, by their paths.
	read sync.Map
}

func (k *Kubeconfigs) load(paths []string) (*clientcmdapi.Config, error) {
	once, _ := k.read.LoadOrStore(strings.Join(paths, "\x00"), sync.OnceValues(func() (*clientcmdapi.Config, error) { return loadFiles(paths) }))
	read, ok := once.(func() (*clientcmdapi.Config, error))
	if !ok {
		return loadFiles(paths)
	}
	config, err := read()
	// Picking a context changes its user.
	return config.DeepCopy(), err
}

// loadFiles reads kubeconfig files. One alone may be a pipe.
func loadFiles(paths []string) (*clientcmdapi.Config, error) {
	for _, path := range paths {
		pipe, err := isPipe(path, kubeconfigLimit)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading the kubeconfig: %w", &FileError{Setting: "config_path", Path: path, Err: err})
		case pipe && len(paths) > 1:
			return nil, &FileError{Setting: "config_path", Path: path, Err: errors.New("a pipe cannot be put together with other files")}
		case pipe:
			return loadPipe(path)
		}
	}
	config, err := (&clientcmd.ClientConfigLoadingRules{Precedence: paths}).Load()
	if err != nil {
		return nil, unreadable(strings.Join(paths, ", "))
	}
	return config, nil
}

// unreadable leaves out the words of the parser, which can quote what it reads.
func unreadable(paths string) error {
	return fmt.Errorf("reading the kubeconfig %s: it is no kubeconfig in YAML or JSON", paths)
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

// ownFiles checks the files that a context of a kubeconfig names, as client-go reads them
// to their end. The one with the token it takes out and answers: client-go would read it
// now.
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
		by.Token, by.TokenFile, by.Exec = "", "", nil // It wins over them.
	}
	return token, nil
}
