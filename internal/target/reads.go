package target

// reads are the fields of the context that the templates of a set can read. The names of clusters
// differ, so two contexts are equal only without the fields that no template reads.
type reads struct {
	all   bool
	names map[string]bool
}

// readsOf finds the names after each "." in the set. A "." or "$" without a name after it can be
// the whole context. readsOf also searches text outside of actions, so it can return more names
// than the templates read, but never fewer.
func readsOf(set TemplateSet) reads {
	r := reads{names: make(map[string]bool)}
	for _, t := range set.Templates {
		r.all = r.all || addNames(r.names, t.Text)
		for _, part := range t.Parts {
			r.all = r.all || addNames(r.names, part.Text)
		}
	}
	return r
}

// addNames reports whether the text can read the whole context.
func addNames(names map[string]bool, text string) (all bool) {
	for i := range len(text) {
		rest := text[i+1:]
		switch text[i] {
		case '.':
			name := rest[:nameLength(rest)]
			if name == "" {
				return true
			}
			names[name] = true
		case '$': // The context itself, or "${", "$.Name", "$variable".
			if rest == "" || (rest[0] != '{' && rest[0] != '.' && nameLength(rest) == 0) {
				return true
			}
		}
	}
	return false
}

// nameLength returns the length of the name or number that the text begins with.
func nameLength(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return i
		}
	}
	return len(text)
}

// of returns the part of the context that can be read.
func (r reads) of(context map[string]any) map[string]any {
	if r.all {
		return context
	}
	part := make(map[string]any, len(context))
	for name, value := range context {
		if r.names[name] {
			part[name] = value
		}
	}
	return part
}
