package templates

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// processDependencies removes subcharts that are not enabled from a chart and imports values, as
// Helm does. If the values of a subchart are not a map, Helm reports an error of the chart, and not
// the place. processDependencies adds the place.
func processDependencies(d target.Deployment, loaded *chart.Chart, values chartutil.Values) error {
	err := chartutil.ProcessDependenciesWithMerge(loaded, values)
	if err == nil {
		return nil
	}
	if mistake := invalidSubchartValues(loaded, values, ""); mistake != nil {
		return &render.SchemaError{Bundle: d.Bundle.Name, Err: mistake}
	}
	return &render.ChartError{Bundle: d.Bundle.Name, Err: err}
}

// invalidSubchartValues returns an error if the values of a subchart are not a map. place is the
// place of values.
func invalidSubchartValues(c *chart.Chart, values map[string]any, place string) error {
	for _, child := range c.Dependencies() {
		found, given := values[child.Name()]
		own, known := c.Values[child.Name()]
		switch {
		case given && found == nil && known && place == "": // null removes the value of the chart.
			continue
		case !given && !known:
			continue
		case !given:
			found = own
		}
		at := place + child.Name()
		below, isMap := found.(map[string]any)
		if !isMap {
			return fmt.Errorf("%s is %s, and the subchart %s reads its values from it; set it to a map, such as {}, or remove it",
				at, kindOf(found), child.Name())
		}
		if err := invalidSubchartValues(child, below, at+"."); err != nil {
			return err
		}
	}
	return nil
}

// kindOf names the kind of a value. The value itself can be secret.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case string:
		return "text"
	case bool:
		return "a boolean"
	}
	return "a number"
}
