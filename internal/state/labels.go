package state

// Optional is the value of an attribute that can be missing or not known yet.
type Optional[T comparable] struct {
	Value              T
	IsMissing, Unknown bool
}

// ReleaseLabels is what of a target stands on the records of its releases, and in its state beside
// them.
type ReleaseLabels struct {
	// Name and AdoptionKey stand on the records.
	Name, AdoptionKey Optional[string]
	// PlanObjects says whether the state is to show objects, and ShowsObjects whether it does.
	PlanObjects  Optional[bool]
	ShowsObjects bool
	// Exists says that there is a state.
	Exists bool
}

// Changes reports whether every release has to be observed again, although nothing is deployed:
// the target has another name or adoption key than before, or its objects are to be shown and
// were not before.
func (m ReleaseLabels) Changes(before ReleaseLabels) bool {
	return m.Name != before.Name || m.AdoptionKey != before.AdoptionKey ||
		(!before.ShowsObjects && (m.PlanObjects.Value || m.PlanObjects.Unknown))
}

// MayChange reports whether it is not known yet if every release has to be observed again.
func (m ReleaseLabels) MayChange(before ReleaseLabels) bool {
	if !before.Exists || m.Name != before.Name {
		return false
	}
	if m.AdoptionKey.Unknown {
		return true
	}
	return m.AdoptionKey == before.AdoptionKey && !before.ShowsObjects && m.PlanObjects.Unknown
}
