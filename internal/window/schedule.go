package window

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/robfig/cron/v3"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Limits of a Schedule.
const (
	// maxScheduleSize is how many bytes a Schedule may have. maxObjectName is the limit for the
	// length of its name, and maxTargets for the number of its targets.
	maxScheduleSize = 64 << 10
	maxObjectName   = 253
	maxTargets      = 1000
)

// schedule is Fleet's Schedule.
type schedule struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Schedule string `json:"schedule"`
		Duration string `json:"duration"`
		Location string `json:"location"`
		Targets  struct {
			Clusters []scheduleTarget `json:"clusters"`
		} `json:"targets"`
	} `json:"spec"`
	Status any `json:"status"` // Fleet's controller writes the status.
}

type scheduleTarget struct {
	Name                 string              `json:"name"`
	ClusterName          string              `json:"clusterName"`
	ClusterSelector      *fleetyaml.Selector `json:"clusterSelector"`
	ClusterGroup         string              `json:"clusterGroup"`
	ClusterGroupSelector *fleetyaml.Selector `json:"clusterGroupSelector"`
}

var (
	objectName   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	nextDocument = regexp.MustCompile(`\n---(\s|$)`)
)

// ReadSchedule reads one Schedule of Fleet as a window that allows changes to all bundles on its
// clusters.
func ReadSchedule(text string) (Window, error) {
	read, err := parseSchedule(text)
	if err != nil {
		return Window{}, err
	}
	name, _ := read.Metadata["name"].(string)
	workspace, _ := read.Metadata["namespace"].(string)
	if len(name) > maxObjectName || !objectName.MatchString(name) {
		return Window{}, errors.New("metadata.name is no name of a Kubernetes object")
	}
	made := Window{Name: name, Effect: Allow, clusters: Clusters{Rules: read.rules(), Workspace: workspace, Lenient: true}}
	wrong := func(field string, err error) (Window, error) {
		return Window{}, fmt.Errorf("schedule %s: spec.%s: %w", name, field, err)
	}
	if made.times, err = parseQuartz(read.Spec.Schedule); err != nil {
		return wrong("schedule", err)
	}
	if made.duration, err = parseDuration(read.Spec.Duration); err != nil {
		return wrong("duration", err)
	}
	if made.location, err = parseZone(read.Spec.Location); err != nil {
		return wrong("location", err)
	}
	if len(made.clusters.Rules) > maxTargets {
		return wrong("targets", fmt.Errorf("more than %d clusters", maxTargets))
	}
	if _, err := target.MatchExisting(made.clusters.Rules, nil, nil); err != nil {
		return wrong("targets.clusters", err)
	}
	return made, nil
}

func parseSchedule(text string) (schedule, error) {
	var read schedule
	if len(text) > maxScheduleSize {
		return read, fmt.Errorf("larger than the limit of %d KiB", maxScheduleSize>>10)
	}
	if nextDocument.MatchString(strings.TrimRight(text, " \t\r\n-.")) {
		return read, errors.New("more than one YAML document; give each Schedule an element of its own")
	}
	// fleetyaml.Values limits what aliases expand to, and how deeply the text is nested.
	if _, _, err := fleetyaml.Values([]byte(text)); err != nil {
		return read, err
	}
	if err := yaml.UnmarshalStrict([]byte(text), &read); err != nil {
		return read, fmt.Errorf("not a Schedule of Fleet: %w", err)
	}
	if read.Kind != "Schedule" || read.APIVersion != "fleet.cattle.io/v1alpha1" {
		return read, fmt.Errorf("kind %.63q of %.63q is not Schedule of fleet.cattle.io/v1alpha1", read.Kind, read.APIVersion)
	}
	return read, nil
}

func (s schedule) rules() []target.Rule {
	rules := make([]target.Rule, 0, len(s.Spec.Targets.Clusters))
	for _, of := range s.Spec.Targets.Clusters {
		rules = append(rules, target.Rule{
			ClusterName: of.ClusterName, ClusterSelector: of.ClusterSelector,
			ClusterGroup: of.ClusterGroup, ClusterGroupSelector: of.ClusterGroupSelector,
		})
	}
	return rules
}

// parseQuartz reads Fleet's form of cron, which is that of Quartz: the first field is seconds, a
// last field can be a year, and SUN is day 1. Expressions that cron cannot express are refused.
func parseQuartz(text string) (times, error) {
	if err := checkCron(text); err != nil {
		return nil, err
	}
	const options = cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	if strings.HasPrefix(text, "@") {
		return parse(options|cron.Descriptor, text)
	}
	fields := strings.Fields(strings.ToUpper(text))
	if len(fields) == 7 && (fields[6] == "*" || fields[6] == "?") {
		fields = fields[:6]
	}
	isAny := func(field string) bool { return field == "*" || field == "?" }
	switch {
	case len(fields) == 7:
		return nil, errors.New("a year is not supported")
	case len(fields) != 6:
		return nil, fmt.Errorf("%d fields, and Fleet has six: second, minute, hour, day of month, month, day of week", len(fields))
	case !isAny(fields[3]) && !isAny(fields[5]):
		return nil, errors.New("either the day of month or the day of week must be * or ?")
	case strings.ContainsAny(fields[3], "LW"), strings.Contains(fields[5], "#"), strings.HasSuffix(fields[5], "L"):
		return nil, errors.New("the characters L, W and # are not supported")
	case strings.ContainsAny(daySteps.ReplaceAllString(fields[5], ""), "0123456789"):
		return nil, errors.New("numbers of days of the week are not supported: Fleet counts them from SUN as 1, " +
			"cron from 0; use names such as MON-FRI")
	}
	return parse(options, strings.Join(fields, " "))
}

// daySteps are steps in the field of days of the week. Their numbers are not days.
var daySteps = regexp.MustCompile(`/[0-9]+`)
