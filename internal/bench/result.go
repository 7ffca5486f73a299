package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A run is the date and the circumstances of a measurement.
type run struct {
	Date    string  `json:"date"`
	Commit  string  `json:"commit"`
	Machine machine `json:"machine"`
	// Versions are the versions of the programs, by name.
	Versions map[string]string `json:"versions"`
	// Command repeats the run.
	Command string `json:"command"`
}

// contestResult contains all results of a contest.
type contestResult struct {
	Run     run      `json:"run"`
	Samples []sample `json:"samples"`
}

// A cell is a work on a network. All contenders of a cell have the same work.
type cell struct {
	Work    work   `json:"work"`
	Network string `json:"network"`
	Wait    bool   `json:"wait"`
}

// A sample is one step of one contender in one round.
type sample struct {
	Cell      cell   `json:"cell"`
	Contender string `json:"contender"`
	Round     int    `json:"round"`
	Step      step   `json:"step"`
	Usage     usage  `json:"usage"`
	// Requests are the requests to all clusters by verb, if they could be counted.
	Requests map[string]int `json:"requests,omitempty"`
}

// scaleResult contains all results about growth.
type scaleResult struct {
	Run     run           `json:"run"`
	Bundles int           `json:"bundles"`
	Samples []scaleSample `json:"samples"`
}

// A scaleSample is one step with a number of entries of the provider's clusters.
type scaleSample struct {
	Entries int    `json:"entries"`
	Step    string `json:"step"`
	Usage   usage  `json:"usage"`
}

// engineResult contains all results with a Fleet as engine.
type engineResult struct {
	Run     run            `json:"run"`
	Bundles int            `json:"bundles"`
	Samples []engineSample `json:"samples"`
}

// An engineSample is one step with a number of clusters.
type engineSample struct {
	Clusters int    `json:"clusters"`
	Step     string `json:"step"`
	Usage    usage  `json:"usage"`
	// Requests are the requests of the provider to the management cluster by verb. Further pages of
	// a list are counted separately.
	Requests map[string]int `json:"requests"`
	// Waiting are the seconds from the first write of a Bundle until the last deployment was applied
	// or deleted.
	Waiting float64 `json:"waiting_seconds,omitempty"`
}

func save(path string, result any) error {
	content, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		return fmt.Errorf("encoding results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fmt.Errorf("making a folder for results: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return nil
}

// load returns false if there are no results.
func load(path string, result any) (bool, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading results: %w", err)
	}
	if err := json.Unmarshal(content, result); err != nil {
		return false, fmt.Errorf("reading results of %s: %w", path, err)
	}
	return true, nil
}
