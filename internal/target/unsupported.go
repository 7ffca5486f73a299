package target

import (
	"fmt"
	"strings"
)

// UnsupportedError says that a deployment asks for options that this version does
// not act upon. It is not made then: doing something else without a word would be
// worse.
type UnsupportedError struct {
	Options []string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("this version does not support %s yet; remove it from the options of the bundle, or leave the cluster out", strings.Join(e.Options, ", "))
}

// Supported says whether everything that a deployment asks for is acted upon. The
// error is an *UnsupportedError. Whoever makes an option work deletes its line.
func (d Deployment) Supported() error {
	def, o := d.Bundle.Definition, d.Options
	var asked []string
	for _, option := range []struct {
		key   string
		asked bool
	}{
		{"dependsOn", len(def.DependsOn) > 0},
		{"rolloutStrategy", def.RolloutStrategy != nil},
		{"deleteNamespace", o.DeleteNamespace},
		{"keepResources", o.KeepResources},
		{"namespaceAnnotations", len(o.NamespaceAnnotations) > 0},
		{"namespaceLabels", len(o.NamespaceLabels) > 0},
		{"serviceAccount", o.ServiceAccount != ""},
	} {
		if option.asked {
			asked = append(asked, option.key)
		}
	}
	if len(asked) > 0 {
		return &UnsupportedError{Options: asked}
	}
	return nil
}
