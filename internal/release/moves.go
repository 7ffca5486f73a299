package release

// BundleObjects contains the objects that one bundle of a target has on a cluster before a change,
// and those that it wants after the change. Objects are named by diff.Object.Key.
type BundleObjects struct {
	Bundle string
	// Releases are the keys (see Key) of the bundle's releases.
	Releases []string
	// Writes reports that the change writes the bundle.
	Writes bool
	Has    map[string]string
	// Wants is nil if it is not known yet.
	Wants map[string]string
	// HandedOver are objects that an earlier change left for another bundle, which has not taken
	// them over yet.
	HandedOver map[string]string
}

// Moves are the objects on one cluster that change from one bundle to another.
type Moves struct {
	// Leaving maps a bundle to its objects that another bundle takes over, and each object to the
	// name of that other bundle.
	Leaving map[string]map[string]string
	// Arriving maps a bundle to the objects that it takes over, and each object to the keys of the
	// releases that had it (see Key).
	Arriving map[string]map[string][]string
}

// MovesOf finds the objects that one bundle no longer wants and that exactly one other bundle
// wants, if the change writes that other bundle.
func MovesOf(bundles []BundleObjects) Moves {
	moves := Moves{Leaving: map[string]map[string]string{}, Arriving: map[string]map[string][]string{}}
	wantedBy := map[string][]BundleObjects{}
	for _, of := range bundles {
		for object := range of.Wants {
			wantedBy[object] = append(wantedBy[object], of)
		}
	}
	for _, from := range bundles {
		if from.Wants == nil {
			continue
		}
		for _, objects := range []map[string]string{from.Has, from.HandedOver} {
			for object := range objects {
				to := wantedBy[object]
				if len(to) == 1 && to[0].Bundle != from.Bundle && to[0].Writes {
					moves.add(object, from, to[0])
				}
			}
		}
	}
	return moves
}

func (m Moves) add(object string, from, to BundleObjects) {
	if m.Leaving[from.Bundle] == nil {
		m.Leaving[from.Bundle] = map[string]string{}
	}
	if _, known := m.Leaving[from.Bundle][object]; known {
		return
	}
	if m.Arriving[to.Bundle] == nil {
		m.Arriving[to.Bundle] = map[string][]string{}
	}
	m.Leaving[from.Bundle][object] = to.Bundle
	m.Arriving[to.Bundle][object] = append(m.Arriving[to.Bundle][object], from.Releases...)
}
