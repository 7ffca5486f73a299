package planreport

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
)

// maxDetails is how many bytes of a page are for warnings, objects and diffs. The rest of a page of a
// thousand deployments needs less than 400 kB, so that it has at most a megabyte.
const maxDetails = 600 << 10

// packed is a report as a page has it: each text, each object and each list of objects once. Many
// deployments have the same ones.
type packed struct {
	Format int `json:"format"`
	// Texts are texts of clusters, deployments, objects and diffs. The first one is "". Numbers in place
	// of texts are their indexes.
	Texts []string `json:"texts"`
	// Objects have the numbers of key, change, hash before and hash after.
	Objects [][4]int `json:"objects"`
	// Lists are lists of indexes in Objects.
	Lists   [][]int        `json:"lists"`
	Targets []packedTarget `json:"targets"`
}

// packedTarget has its own fields in place of those of the Target with the same names.
type packedTarget struct {
	Target

	Clusters    []packedCluster    `json:"clusters"`
	Deployments []packedDeployment `json:"deployments"`
	// Stages are the texts of the stages. The deployments have the numbers of their stages.
	Stages []string `json:"stages"`
	// Diffs have the numbers of the lines.
	Diffs map[string][]int `json:"diffs"`
}

type packedCluster struct {
	Name int `json:"name"`
	// Labels are names, each with its value after it.
	Labels []int `json:"labels"`
	Groups []int `json:"groups"`
}

// packedDeployment has its own fields in place of those of the Deployment with the same names.
type packedDeployment struct {
	Deployment

	Cluster      int   `json:"cluster"`
	Bundle       int   `json:"bundle"`
	Action       int   `json:"action"`
	Namespace    int   `json:"namespace,omitempty"`
	Release      int   `json:"release,omitempty"`
	Chart        int   `json:"chart,omitempty"`
	Version      int   `json:"version,omitempty"`
	DigestBefore int   `json:"digest_before,omitempty"`
	DigestAfter  int   `json:"digest_after,omitempty"`
	Reason       int   `json:"reason,omitempty"`
	Notes        []int `json:"notes,omitempty"`
	Diff         int   `json:"diff,omitempty"`
	// Objects is the number of a list, from 1.
	Objects int `json:"objects,omitempty"`
}

// textFields returns the texts of a deployment, and where a page has their numbers.
func (d *Deployment) textFields(in *packedDeployment) map[*string]*int {
	return map[*string]*int{
		&d.Cluster: &in.Cluster, &d.Bundle: &in.Bundle, (*string)(&d.Action): &in.Action, &d.Namespace: &in.Namespace, &d.Release: &in.Release,
		&d.Chart: &in.Chart, &d.Version: &in.Version, &d.DigestBefore: &in.DigestBefore, &d.DigestAfter: &in.DigestAfter, &d.Reason: &in.Reason, &d.Diff: &in.Diff,
	}
}

// packer makes a packed report.
type packer struct {
	packed

	texts   map[string]int
	objects map[[4]int]int
	lists   map[string]int
	// size is about how many bytes Texts, Objects, Lists and Diffs have.
	size int
}

// pack returns a report for a page. Details that do not fit are left out: the deployments have their
// numbers of objects instead.
func pack(report Report) packed {
	p := packer{
		packed: packed{Format: report.Format, Texts: []string{""}, Objects: [][4]int{}, Lists: [][]int{}, Targets: []packedTarget{}},
		texts:  map[string]int{"": 0}, objects: map[[4]int]int{}, lists: map[string]int{},
	}
	for i := range report.Targets {
		p.Targets = append(p.Targets, packedTarget{
			Target: report.Targets[i], Clusters: []packedCluster{}, Deployments: []packedDeployment{}, Stages: []string{}, Diffs: map[string][]int{},
		})
		for _, warning := range report.Targets[i].Warnings {
			p.size += len(warning.Summary) + len(warning.Detail)
		}
	}
	lists := map[*Deployment]int{}
	for _, of := range detailsOf(report) {
		number, ok := p.addDetail(of)
		for _, d := range of.deployments {
			if lists[d] = number; !ok {
				lists[d] = leftOut
			}
		}
	}
	for i := range report.Targets {
		p.addTarget(&p.Targets[i], &report.Targets[i], lists)
	}
	return p.packed
}

// leftOut is in place of the number of a list that is left out.
const leftOut = -1

func (p *packer) addTarget(into *packedTarget, t *Target, lists map[*Deployment]int) {
	for _, cluster := range t.Clusters {
		added := packedCluster{Name: p.text(cluster.Name), Labels: []int{}, Groups: p.allOf(cluster.Groups)}
		for _, name := range slices.Sorted(maps.Keys(cluster.Labels)) {
			added.Labels = append(added.Labels, p.text(name), p.text(cluster.Labels[name]))
		}
		into.Clusters = append(into.Clusters, added)
	}
	for i := range t.Deployments {
		d := t.Deployments[i]
		if lists[&t.Deployments[i]] == leftOut {
			d.LeftOut, d.Diff = new(d.countObjects()), ""
		}
		added := packedDeployment{Deployment: d, Notes: p.allOf(d.Notes), Objects: max(0, lists[&t.Deployments[i]])}
		for text, number := range d.textFields(&added) {
			*number = p.text(*text)
		}
		into.Deployments = append(into.Deployments, added)
	}
	for _, stage := range t.Stages {
		into.Stages = append(into.Stages, stage.Text)
	}
}

// detail is what changes in some deployments of a target.
type detail struct {
	target      int
	objects     []Object
	id, diff    string
	hasDiff     bool
	deployments []*Deployment
}

// detailsOf returns the details of a report, each once. The most important ones are first: those with
// objects that are removed, then of what is taken over, changed and added. Of these, the details that most
// deployments share are first.
func detailsOf(report Report) []*detail {
	var details []*detail
	known := map[string]*detail{}
	for i := range report.Targets {
		t := &report.Targets[i]
		for j := range t.Deployments {
			d := &t.Deployments[j]
			diff, hasDiff := t.Diffs[d.Diff]
			if len(d.Objects) == 0 && !hasDiff {
				continue
			}
			id := fmt.Sprintf("%d %q %q", i, d.Diff, d.Objects)
			if known[id] == nil {
				known[id] = &detail{target: i, objects: d.Objects, id: d.Diff, diff: diff, hasDiff: hasDiff}
				details = append(details, known[id])
			}
			known[id].deployments = append(known[id].deployments, d)
		}
	}
	slices.SortStableFunc(details, func(a, b *detail) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(len(b.deployments), len(a.deployments)))
	})
	return details
}

func (d *detail) rank() int {
	isRemoved := func(o Object) bool { return o.Change == ObjectRemoved }
	switch action := d.deployments[0].shown(); {
	case action == Remove || slices.ContainsFunc(d.objects, isRemoved):
		return 0
	case action == takenOver:
		return 1
	case action == Change:
		return 2
	}
	return 3
}

// addDetail returns the number of a list of objects, 0 for an empty one. It reports whether the detail
// fits. If not, nothing is added.
func (p *packer) addDetail(of *detail) (list int, ok bool) {
	texts, objects, lists, size := len(p.Texts), len(p.Objects), len(p.Lists), p.size
	list = p.list(of.objects)
	diffs := p.Targets[of.target].Diffs
	_, had := diffs[of.id]
	if of.hasDiff && !had {
		diffs[of.id] = p.allOf(strings.Split(of.diff, "\n"))
		p.size += len(of.id) + numbersSize(diffs[of.id])
	}
	if p.size <= maxDetails {
		return list, true
	}
	if !had {
		delete(diffs, of.id)
	}
	for _, text := range p.Texts[texts:] {
		delete(p.texts, text)
	}
	for _, object := range p.Objects[objects:] {
		delete(p.objects, object)
	}
	for _, numbers := range p.Lists[lists:] {
		delete(p.lists, fmt.Sprint(numbers))
	}
	p.Texts, p.Objects, p.Lists, p.size = p.Texts[:texts], p.Objects[:objects], p.Lists[:lists], size
	return 0, false
}

func (p *packer) list(objects []Object) int {
	if len(objects) == 0 {
		return 0
	}
	numbers := make([]int, len(objects))
	for i, o := range objects {
		of := [4]int{p.text(o.Key), p.text(string(o.Change)), p.text(o.Before), p.text(o.After)}
		number, ok := p.objects[of]
		if !ok {
			number = len(p.Objects)
			p.objects[of] = number
			p.Objects = append(p.Objects, of)
			p.size += numbersSize(of[:])
		}
		numbers[i] = number
	}
	id := fmt.Sprint(numbers)
	if p.lists[id] == 0 {
		p.Lists = append(p.Lists, numbers)
		p.lists[id] = len(p.Lists)
		p.size += numbersSize(numbers)
	}
	return p.lists[id]
}

func (p *packer) text(text string) int {
	number, ok := p.texts[text]
	if !ok {
		number = len(p.Texts)
		p.texts[text] = number
		p.Texts = append(p.Texts, text)
		p.size += textSize(text)
	}
	return number
}

func (p *packer) allOf(texts []string) []int {
	numbers := make([]int, len(texts))
	for i, text := range texts {
		numbers[i] = p.text(text)
	}
	return numbers
}

// textSize returns how many bytes a text has in JSON, with the comma after it.
func textSize(text string) int {
	written, err := json.Marshal(text)
	if err != nil { // Every string is JSON.
		return len(text)
	}
	return len(written) + len(",")
}

func numbersSize(numbers []int) int {
	size := len("[],")
	for _, number := range numbers {
		size += len(strconv.Itoa(number)) + len(",")
	}
	return size
}

// maxListed is how many objects the lists of a page may have, counted for each deployment that has
// them, and maxUnpacked how many bytes the texts. A program can write a small page in which many
// deployments share a large list or a long text.
const (
	maxListed   = 2_000_000
	maxUnpacked = maxStored
)

var errNotPacked = errors.New("reading a report: its texts and objects are not those of a report")

// unpacker reads a packed report. After the first problem it is failed, and returns empty values.
type unpacker struct {
	packed

	listed, unpacked int
	failed           bool
}

// unpack reverses pack, except for what was left out.
func (p packed) unpack() (Report, error) {
	u := unpacker{packed: p}
	report := Report{Format: p.Format}
	for i := range p.Targets {
		report.Targets = append(report.Targets, u.target(&p.Targets[i]))
		if u.failed {
			return Report{}, errNotPacked
		}
	}
	return report, nil
}

func (u *unpacker) target(from *packedTarget) Target {
	t := from.Target
	t.Clusters, t.Deployments, t.Stages, t.Diffs = nil, nil, nil, make(map[string]string, len(from.Diffs))
	for _, cluster := range from.Clusters {
		t.Clusters = append(t.Clusters, u.cluster(cluster))
	}
	for _, text := range from.Stages {
		t.Stages = append(t.Stages, Stage{Text: text})
	}
	for i := range from.Deployments {
		d := u.deployment(&from.Deployments[i])
		if u.failed {
			return t
		}
		if d.Stage > 0 && d.Stage <= len(t.Stages) {
			stage := &t.Stages[d.Stage-1]
			stage.Deployments = append(stage.Deployments, deploy.Key{Cluster: d.Cluster, Bundle: d.Bundle}.String())
		}
		t.Deployments = append(t.Deployments, d)
	}
	for id, lines := range from.Diffs {
		t.Diffs[id] = strings.Join(u.allOf(lines), "\n")
	}
	return t
}

func (u *unpacker) cluster(from packedCluster) Cluster {
	cluster := Cluster{Name: u.text(from.Name), Labels: map[string]string{}, Groups: u.allOf(from.Groups)}
	labels := u.allOf(from.Labels)
	for i := 1; i < len(labels); i += 2 {
		cluster.Labels[labels[i-1]] = labels[i]
	}
	return cluster
}

func (u *unpacker) deployment(from *packedDeployment) Deployment {
	d := from.Deployment
	for text, number := range d.textFields(from) {
		*text = u.text(*number)
	}
	d.Notes = u.allOf(from.Notes)
	if from.Objects != 0 {
		d.Objects = u.list(from.Objects)
	}
	return d
}

func (u *unpacker) list(number int) []Object {
	if number < 1 || number > len(u.Lists) || u.listed+len(u.Lists[number-1]) > maxListed {
		u.failed = true
		return nil
	}
	list := u.Lists[number-1]
	u.listed += len(list)
	objects := make([]Object, 0, len(list))
	for _, index := range list {
		if index < 0 || index >= len(u.Objects) {
			u.failed = true
			return nil
		}
		of := u.Objects[index]
		objects = append(objects, Object{Key: u.text(of[0]), Change: ObjectChange(u.text(of[1])), Before: u.text(of[2]), After: u.text(of[3])})
	}
	return objects
}

func (u *unpacker) text(number int) string {
	if number < 0 || number >= len(u.Texts) || u.failed {
		u.failed = true
		return ""
	}
	u.unpacked += len(u.Texts[number])
	u.failed = u.unpacked > maxUnpacked
	return u.Texts[number]
}

func (u *unpacker) allOf(numbers []int) []string {
	if len(numbers) == 0 {
		return nil
	}
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = u.text(number)
	}
	return texts
}
