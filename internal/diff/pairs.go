package diff

// pairs visits an object before and after a change. It masks each value together with its
// counterpart on the other side, nil for none.
type pairs struct {
	mask func(was, is any) (maskedWas, maskedIs any)
}

// object masks an object. Either side can be nil.
func (p pairs) object(before, after map[string]any) {
	for _, field := range keysOf(before, after) {
		switch field {
		case "apiVersion", "kind":
		case "metadata":
			p.metadata(before, after)
		default:
			p.field(before, after, field)
		}
	}
}

// metadata masks metadata except the name and the namespace, which are printed anyway.
func (p pairs) metadata(before, after map[string]any) {
	was, _ := before["metadata"].(map[string]any)
	is, _ := after["metadata"].(map[string]any)
	for _, field := range keysOf(was, is) {
		if field != "name" && field != "namespace" {
			p.field(was, is, field)
		}
	}
}

func (p pairs) field(before, after map[string]any, field string) {
	was, had := before[field]
	is, has := after[field]
	maskedWas, maskedIs := p.value(was, is)
	if had {
		before[field] = maskedWas
	}
	if has {
		after[field] = maskedIs
	}
}

func (p pairs) value(was, is any) (maskedWas, maskedIs any) {
	switch was := was.(type) {
	case map[string]any:
		other, same := is.(map[string]any)
		for _, field := range keysOf(was, other) {
			p.field(was, other, field)
		}
		if same {
			return was, is
		}
	case []any:
		other, same := is.([]any)
		p.list(was, other)
		if same {
			return was, is
		}
	}
	switch is := is.(type) {
	case map[string]any:
		for field := range is {
			p.field(nil, is, field)
		}
	case []any:
		p.list(nil, is)
	}
	return p.mask(was, is)
}

// list masks items with their counterparts. Counterparts have the same name, such as containers and
// variables, or the same index if not all items have a name.
func (p pairs) list(before, after []any) {
	named := byName(before)
	if byName(after) == nil {
		named = nil
	}
	done := make([]bool, len(before))
	for i := range after {
		at, found := i, i < len(before)
		if named != nil {
			at, found = named[nameOf(after[i])]
		}
		if !found {
			_, after[i] = p.value(nil, after[i])
			continue
		}
		done[at] = true
		before[at], after[i] = p.value(before[at], after[i])
	}
	for i := range before {
		if !done[i] {
			before[i], _ = p.value(before[i], nil)
		}
	}
}

// byName returns the indices of items by their names, nil if an item has no name or the name of
// another item.
func byName(items []any) map[string]int {
	named := make(map[string]int, len(items))
	for i, item := range items {
		name := nameOf(item)
		if _, twice := named[name]; twice || name == "" {
			return nil
		}
		named[name] = i
	}
	return named
}

func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}
