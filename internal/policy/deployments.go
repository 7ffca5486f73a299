package policy

import (
	"errors"
	"strings"
)

// Deployments are patterns of the names of deployments, such as eu-*/web.
type Deployments struct{ patterns }

var errDeploymentPattern = errors.New("it must be the pattern of a deployment: a cluster, a slash and a bundle, such as eu-1/web or eu-*/web")

// NewDeployments compiles patterns.
func NewDeployments(texts []string) (Deployments, error) {
	made, err := compileGlobs(texts)
	return Deployments{made}, err
}

// CheckDeployment returns what is wrong with a pattern.
func CheckDeployment(text string) error {
	cluster, bundle, _ := strings.Cut(text, "/")
	if cluster == "" || bundle == "" || strings.Contains(bundle, "/") {
		return errDeploymentPattern
	}
	_, err := compileGlob(text)
	return err
}

// Match reports whether a pattern matches a deployment.
func (d Deployments) Match(deployment string) bool { return d.match(deployment) }

// Unmatched returns the patterns that match none of the deployments.
func (d Deployments) Unmatched(deployments []string) []string {
	var unmatched []string
	for _, one := range d.patterns {
		if !(patterns{one}).match(deployments...) {
			unmatched = append(unmatched, one.text)
		}
	}
	return unmatched
}
