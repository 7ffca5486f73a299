package policy

import (
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// dockerHub is the registry of references that name none. The library uses the host name of its API
// instead.
const dockerHub = "docker.io"

// parseImage returns the registry and the repository of an image in the full form of container
// runtimes: nginx is in docker.io and its repository is library/nginx.
func parseImage(image string) (registry, repository string, err error) {
	parsed, err := name.ParseReference(image)
	if err != nil {
		return "", "", fmt.Errorf("reading the image %q: %w", image, err)
	}
	of := parsed.Context()
	registry = strings.ToLower(of.RegistryStr())
	if registry == name.DefaultRegistry {
		registry = dockerHub
	}
	return registry, of.RepositoryStr(), nil
}
