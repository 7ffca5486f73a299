//go:build !race

package unknowns_test

import (
	"fmt"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/providertest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Every attribute of the provider and of all resources is unknown once, at every depth: map, entry,
// list, element and leaf. This is no error. What the plan then shows as known is right for every
// later value, and only the values in the table are unknown.
func TestEveryAttributeUnknownOnce(t *testing.T) {
	t.Parallel()
	s := newSamples(t)
	tested := map[string][]string{}
	for _, sample := range s.all(t) {
		for _, at := range pathsOf(t, sample.provider) {
			tested["provider"] = append(tested["provider"], providertest.GeneralPath(at))
		}
		for _, at := range pathsOf(t, sample.config) {
			tested[sample.resource] = append(tested[sample.resource], providertest.GeneralPath(at))
		}
		for _, existing := range []bool{false, true} {
			if existing && sample.createOnly {
				continue
			}
			doing := "create"
			if existing {
				doing = "update"
			}
			t.Run(sample.name+"/"+doing, func(t *testing.T) {
				t.Parallel()
				sample.run(t, existing)
			})
		}
	}
	// A new attribute has to be added to a sample.
	for where, block := range s.blocks() {
		for _, path := range schemaPaths(block) {
			if isWriteOnlyInput(path) {
				continue // Terraform takes it out of the plan; TestAccUnknownWriteOnlyValues is about it.
			}
			if !slices.Contains(tested[where], path) {
				t.Errorf("no sample sets %s of %s", path, where)
			}
		}
	}
}

// isWriteOnlyInput reports whether a path is in write-only input or its versions.
func isWriteOnlyInput(path string) bool {
	return strings.HasPrefix(path, target.ValuesAttribute) || strings.HasPrefix(path, target.FilesAttribute)
}

// planOf is a plan made of a configuration of provider and resource.
func (s sample) planOf(t *testing.T, provider, config tftypes.Value, prior providertest.Resource, refresh bool) (providertest.Plan, providertest.Resource) {
	t.Helper()
	c := s.shared
	if c == nil {
		c = providertest.New(t)
		if wrong := c.Configure(t, provider); len(wrong) > 0 {
			return providertest.Plan{Errors: wrong}, prior
		}
	}
	if refresh {
		var wrong []string
		if prior, wrong = c.Refresh(t, s.resource, prior); len(wrong) > 0 {
			return providertest.Plan{Errors: wrong}, prior
		}
	}
	return c.Plan(t, s.resource, config, prior), prior
}

func (s sample) run(t *testing.T, update bool) {
	t.Helper()
	prior := providertest.NoResource(s.resource)
	if update {
		prior = s.state
	}
	known, _ := s.planOf(t, s.provider, s.config, prior, true)
	if len(known.Errors) > 0 {
		t.Fatalf("the sample is not valid: %q", known.Errors)
	}
	if s.ofProvider {
		for _, at := range pathsOf(t, s.provider) {
			t.Run("provider "+providertest.Path(at), func(t *testing.T) {
				t.Parallel()
				s.vary(t, s.provider, at, prior, known, func(varied tftypes.Value) (provider, config tftypes.Value) { return varied, s.config })
			})
		}
		return
	}
	for _, at := range pathsOf(t, s.config) {
		t.Run(providertest.Path(at), func(t *testing.T) {
			t.Parallel()
			s.vary(t, s.config, at, prior, known, func(varied tftypes.Value) (provider, config tftypes.Value) { return s.provider, varied })
		})
	}
}

// vary makes the value at a path unknown, plans, and compares with the plan in which the value is
// known, which an apply makes. make soak plans again with all other values that are possible.
func (s sample) vary(t *testing.T, of tftypes.Value, at *tftypes.AttributePath, prior providertest.Resource, known providertest.Plan, place func(tftypes.Value) (provider, config tftypes.Value)) {
	t.Helper()
	provider, config := place(replaced(t, of, at, func(tftypes.Value) any { return tftypes.UnknownValue }))
	first, refreshed := s.planOf(t, provider, config, prior, true)
	if len(first.Errors) > 0 {
		t.Fatalf("the plan fails: %q", first.Errors)
	}
	expectConfigured(t, s.resource, config, first.Value)
	s.expectPrecise(t, providertest.Path(at), prior.Value.IsNull(), config, first, known)
	for _, wrong := range contradictions(t, first.Value, known.Value) {
		t.Errorf("the value turns out as given: %s", wrong)
	}
	if os.Getenv("FLEET_SOAK") == "" || !knowsAny(t, s.resource, first.Value) {
		return
	}
	for turnsOut, value := range map[string]func(tftypes.Value) any{
		"as given": itself, "null": func(tftypes.Value) any { return nil }, "another value": another,
	} {
		provider, config := place(replaced(t, of, at, value))
		second, _ := s.planOf(t, provider, config, refreshed, false)
		if len(second.Errors) > 0 {
			if turnsOut == "as given" {
				t.Errorf("planning again with the value fails: %q", second.Errors)
			}
			continue // Such a value is an error whenever it is known.
		}
		for _, wrong := range contradictions(t, first.Value, second.Value) {
			t.Errorf("the value turns out %s: %s", turnsOut, wrong)
		}
	}
}

// knowsAny reports whether a plan shows a value as known that is not configured.
func knowsAny(t *testing.T, resource string, plan tftypes.Value) bool {
	t.Helper()
	knows := false
	values := providertest.Attributes(t, plan)
	for _, attribute := range providertest.Schemas().ResourceSchemas[resource].Block.Attributes {
		if !attribute.Computed || attribute.Optional {
			continue
		}
		err := tftypes.Walk(values[attribute.Name], func(_ *tftypes.AttributePath, v tftypes.Value) (bool, error) {
			leaf := v.Type().Is(tftypes.String) || v.Type().Is(tftypes.Number) || v.Type().Is(tftypes.Bool)
			knows = knows || (v.IsKnown() && leaf)
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return knows
}

// itself, raw, for tftypes.NewValue.
func itself(v tftypes.Value) any { return v }

// another returns a different value of the same type, nil if there is none.
func another(v tftypes.Value) any {
	switch {
	case v.Type().Is(tftypes.String):
		var text string
		if v.As(&text) != nil {
			return nil
		}
		return text + "2"
	case v.Type().Is(tftypes.Bool):
		var flag bool
		if v.As(&flag) != nil {
			return nil
		}
		return !flag
	case v.Type().Is(tftypes.Number):
		number := new(big.Float)
		if v.As(&number) != nil {
			return nil
		}
		return number.Add(number, big.NewFloat(1))
	}
	return nil
}

func replaced(t *testing.T, in tftypes.Value, at *tftypes.AttributePath, by func(tftypes.Value) any) tftypes.Value {
	t.Helper()
	out, err := tftypes.Transform(in, func(path *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !path.Equal(at) {
			return v, nil
		}
		made := by(v)
		if value, ok := made.(tftypes.Value); ok {
			return value, nil
		}
		return tftypes.NewValue(v.Type(), made), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pathsOf returns the places of all values but null.
func pathsOf(t *testing.T, in tftypes.Value) []*tftypes.AttributePath {
	t.Helper()
	var paths []*tftypes.AttributePath
	err := tftypes.Walk(in, func(path *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if len(path.Steps()) > 0 && !v.IsNull() && providertest.Path(path) != "timeouts" { // A block cannot be unknown.
			paths = append(paths, path)
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// contradictions are the values that the first plan showed as known and a second plan shows
// differently. Terraform calls each of them an inconsistent final plan.
func contradictions(t *testing.T, first, second tftypes.Value) []string {
	t.Helper()
	var found []string
	err := tftypes.Walk(first, func(path *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if !v.IsKnown() {
			return false, nil
		}
		reached, _, err := tftypes.WalkAttributePath(second, path)
		if err != nil {
			found = append(found, fmt.Sprintf("%s was planned and is not there", providertest.Path(path)))
			return false, nil //nolint:nilerr // noted
		}
		later, ok := reached.(tftypes.Value)
		if !ok || !later.IsKnown() || v.IsNull() != later.IsNull() || !sameHere(v, later) {
			found = append(found, fmt.Sprintf("%s was planned as %v and is %v", providertest.Path(path), v, later))
			return false, nil
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// sameHere compares leaves, and the keys of collections.
func sameHere(a, b tftypes.Value) bool {
	if a.IsNull() {
		return true
	}
	var left, right map[string]tftypes.Value
	if a.As(&left) == nil && b.As(&right) == nil {
		return cmp.Equal(keysIn(left), keysIn(right))
	}
	var first, second []tftypes.Value
	if a.As(&first) == nil && b.As(&second) == nil {
		return len(first) == len(second)
	}
	return a.Equal(b)
}

func keysIn(of map[string]tftypes.Value) []string {
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// expectConfigured wants a plan to repeat what is configured, unknown or not.
func expectConfigured(t *testing.T, resource string, config, plan tftypes.Value) {
	t.Helper()
	given, shown := providertest.Attributes(t, config), providertest.Attributes(t, plan)
	for _, attribute := range providertest.Schemas().ResourceSchemas[resource].Block.Attributes {
		value := given[attribute.Name]
		if (attribute.Computed && value.IsNull()) || value.Equal(shown[attribute.Name]) {
			continue
		}
		t.Errorf("%s is configured as %v and planned as %v", attribute.Name, value, shown[attribute.Name])
	}
}

// expectPrecise wants exactly the values in the table to be unknown, beside those that are always
// unknown.
func (s sample) expectPrecise(t *testing.T, at string, creating bool, config tftypes.Value, first, known providertest.Plan) {
	t.Helper()
	anyway, expected := unknownIn(t, known.Value), allowed{}
	for _, row := range s.unknown {
		if match := regexp.MustCompile("^(?:" + row.when + ")$").FindStringSubmatchIndex(at); match != nil {
			expected = row
			found := func(template string) string {
				return string(regexp.MustCompile("^(?:"+row.when+")$").ExpandString(nil, template, at, match))
			}
			expected.unknown, expected.warns = found(row.unknown), found(row.warns)
			break
		}
	}
	if expected.onlyNew && !creating || expected.onlyOld && creating {
		expected.unknown = ""
	}
	var more []string
	configured := unknownIn(t, config)
	for _, path := range unknownIn(t, first.Value) {
		if !slices.Contains(anyway, path) && !slices.Contains(configured, path) {
			more = append(more, path)
		}
	}
	want := slices.DeleteFunc(strings.Fields(expected.unknown), func(path string) bool { return slices.Contains(anyway, path) })
	if diff := cmp.Diff(want, more, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("unknown (-the table +the plan):\n%s", diff)
	}
	said := 0
	for _, warning := range first.Warnings {
		if expected.warns != "" && strings.Contains(warning, expected.warns) {
			said++
		}
	}
	if expected.warns != "" && said != 1 {
		t.Errorf("%d warnings say %q, want one: %q", said, expected.warns, first.Warnings)
	}
}

// unknownIn returns the places of unknown values, sorted.
func unknownIn(t *testing.T, in tftypes.Value) []string {
	t.Helper()
	var paths []string
	err := tftypes.Walk(in, func(path *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		if !v.IsKnown() {
			paths = append(paths, providertest.Path(path))
		}
		return v.IsKnown(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	return paths
}
