package fleetyaml

import (
	"encoding/json"
	"errors"
	"strconv"
)

// Count is a number of clusters, or text such as "25%": Kubernetes' IntOrString.
// Text counts unless it is empty.
type Count struct {
	Number int
	Text   string
}

// String is the count as it is written, 1 or 25%.
func (c Count) String() string {
	if c.Text != "" {
		return c.Text
	}
	return strconv.Itoa(c.Number)
}

// MarshalJSON writes a number or a string.
func (c Count) MarshalJSON() ([]byte, error) {
	if c.Text != "" {
		return json.Marshal(c.Text)
	}
	return json.Marshal(c.Number)
}

// UnmarshalJSON reads a number or a string that is not empty.
func (c *Count) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &c.Text); err != nil {
			return err
		}
		if c.Text == "" {
			return errors.New("an empty text is no count; write a number or a percentage")
		}
		return nil
	}
	return json.Unmarshal(data, &c.Number)
}
