package fleetyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Count is a number of clusters, or text such as "25%": Kubernetes' IntOrString.
// Text counts unless it is empty.
type Count struct {
	Number int
	Text   string
}

// String returns the count as it is written, 1 or 25%.
func (c Count) String() string {
	if c.Text != "" {
		return c.Text
	}
	return strconv.Itoa(c.Number)
}

// Of returns the number that the count means out of a total. A number counts up to the total, and a
// percentage is never less than one. A number as text counts as it is, unless it is 0 (Fleet's
// internal/cmd/controller/target/status.go).
func (c Count) Of(total int) (int, error) {
	if c.Text == "" {
		return min(max(c.Number, 0), total), nil
	}
	if number, err := strconv.Atoi(c.Text); err == nil && number > 0 {
		return number, nil
	}
	text, isPercentage := strings.CutSuffix(c.Text, "%")
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !isPercentage || math.IsNaN(percent) {
		return 0, fmt.Errorf("%q is neither a number nor a percentage such as 25%%", c.Text)
	}
	const whole = 100
	return max(int(float64(total)*max(min(percent, whole), 0)/whole), 1), nil
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
			return errors.New("a count must not be empty; set a number or a percentage")
		}
		return nil
	}
	return json.Unmarshal(data, &c.Number)
}
