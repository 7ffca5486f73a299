// Package immutable knows which fields of built-in kinds no update may change. A plan and an apply
// compare objects by the same table, so that both report the same fields before anything is written.
package immutable

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

// object is the content of an object of Kubernetes.
type object map[string]any

// value returns the value at a path, nil if there is none.
func (o object) value(path string) any {
	var value any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[name]
	}
	return value
}

// KindOf returns the kind of an object with its group, such as "Deployment.apps".
func KindOf(content map[string]any) string {
	kind, _ := content["kind"].(string)
	version, _ := content["apiVersion"].(string)
	group, _, hasGroup := strings.Cut(version, "/")
	if !hasGroup {
		return kind
	}
	return kind + "." + group
}

// Has reports whether the table has rules for a kind such as "Deployment.apps".
func Has(kind string) bool { return len(rulesOf(kind)) > 0 }

// Fields returns the immutable fields that an update changes, sorted. former is the object in the
// manifest that the update starts from. live is the object on the cluster. If that is not known, it is
// former again. A field that both manifests set alike counts as unchanged: an API server or a webhook
// can have made something else of it.
func Fields(former, live, wanted map[string]any) []string {
	return changed(rulesOf(KindOf(wanted)), former, live, wanted, false)
}

// Differing is like Fields, but a field that both manifests set alike counts too. So it is for a former
// revision that failed, because its values may never have been written.
func Differing(former, live, wanted map[string]any) []string {
	return changed(rulesOf(KindOf(wanted)), former, live, wanted, true)
}

// MayDiffer reports whether two manifests differ in an immutable field, even in one that an API server
// can have filled in with the same value.
func MayDiffer(former, wanted map[string]any) bool {
	rules := rulesOf(KindOf(wanted))
	for i := range rules {
		rules[i].assigned = false
	}
	return len(changed(rules, former, former, wanted, true)) > 0
}

func changed(rules []rule, former, live, wanted map[string]any, alike bool) []string {
	var found []string
	before := plain(former)
	now := plain(live)
	after := plain(wanted)
	for _, rule := range rules {
		if rule.allows != nil && rule.allows(now, after) {
			continue
		}
		for _, field := range rule.fieldsIn(before, after) {
			isMeant := alike || rule.differs(field, before.value(field), before.value(field), after.value(field))
			if isMeant && rule.changes(field, before, now, after) && !slices.Contains(found, field) {
				found = append(found, field)
			}
		}
	}
	slices.Sort(found)
	return found
}

// fieldsIn returns the fields to which a rule applies.
func (r rule) fieldsIn(former, wanted object) []string {
	if !r.each {
		return []string{r.field}
	}
	names := map[string]bool{}
	for _, of := range []object{former, wanted} {
		below, _ := of.value(r.field).(map[string]any)
		for name := range below {
			names[r.field+"."+name] = true
		}
	}
	return slices.Collect(maps.Keys(names))
}

func (r rule) changes(field string, former, live, wanted object) bool {
	current, next := live.value(field), wanted.value(field)
	if r.assigned && (next == nil || current == nil && next != headless) {
		return false
	}
	return r.differs(field, former.value(field), current, next)
}

// headless is the address of a Service without one. No API server assigns it.
const headless = "None"

// plain returns an object with the texts of a Secret as its data, as an API server stores them.
func plain(content map[string]any) object {
	texts, ok := content["stringData"].(map[string]any)
	if !ok || KindOf(content) != "Secret" {
		return content
	}
	given, _ := content["data"].(map[string]any)
	data := maps.Clone(given)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range texts {
		if text, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
	converted := maps.Clone(content)
	converted["data"] = data
	return converted
}
