package state

// Optional is the value of an attribute that can be missing or not known yet.
type Optional[T comparable] struct {
	Value              T
	IsMissing, Unknown bool
}

// ReleaseLabels are the values of a target that are in the records of its releases. They also have
// the values of its state that decide whether objects are shown.
type ReleaseLabels struct {
	// Name and AdoptionKey are in the records.
	Name, AdoptionKey Optional[string]
	// PlanObjects is whether the state is to show objects, and ShowsObjects whether it does.
	PlanObjects  Optional[bool]
	ShowsObjects bool
	// Exists is true if there is a state.
	Exists bool
}

// Changes reports whether every release has to be observed again, although nothing is deployed.
// This is the case if the target's name or adoption key changed. It is also the case if its objects
// are to be shown and were not before.
func (l ReleaseLabels) Changes(before ReleaseLabels) bool {
	return l.Name != before.Name || l.AdoptionKey != before.AdoptionKey ||
		(!before.ShowsObjects && (l.PlanObjects.Value || l.PlanObjects.Unknown))
}

// MayChange reports whether a plan cannot decide yet if every release has to be observed again.
func (l ReleaseLabels) MayChange(before ReleaseLabels) bool {
	if !before.Exists || l.Name != before.Name {
		return false
	}
	if l.AdoptionKey.Unknown {
		return true
	}
	return l.AdoptionKey == before.AdoptionKey && !before.ShowsObjects && l.PlanObjects.Unknown
}
