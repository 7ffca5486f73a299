package acceptance_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const guides = "../../templates/guides/"

// guideBlock is a fenced block of commands, with the output that the guide shows after it.
type guideBlock struct{ commands, output string }

// guideBlocks returns the blocks of a guide that are marked as shell.
func guideBlocks(t *testing.T, guide string) []guideBlock {
	t.Helper()
	var blocks []guideBlock
	after := -1 // where the last block of commands ends
	content := read(t, guides+guide+".md.tmpl")
	fence := regexp.MustCompile("(?ms)^ *```([a-z]+)\n(.*?)^ *```$")
	for _, found := range fence.FindAllStringSubmatchIndex(content, -1) {
		kind := content[found[2]:found[3]]
		text := regexp.MustCompile(`(?m)^ +`).ReplaceAllString(content[found[4]:found[5]], "") // Blocks of lists are indented.
		switch {
		case kind == "shell" || kind == "sh":
			blocks, after = append(blocks, guideBlock{commands: text}), found[1]
		case kind == "text" && after >= 0 && !strings.Contains(content[after:found[0]], "\n#"):
			blocks[len(blocks)-1].output, after = text, -1
		default:
			after = -1
		}
	}
	return blocks
}

// guideStep is what a test does with one block of commands.
type guideStep struct {
	// begins is the beginning of the commands.
	begins string
	// in is where they run.
	in *guideFleet
	// by names the test that runs the same commands, if in is nil.
	by string
	// before does what the guide describes before the commands.
	before func(t *testing.T)
	// fails is true if the commands must fail.
	fails bool
	// after checks the result.
	after func(t *testing.T, output string)
}

// otherGuides names the tests of commands in guides that TestAccGuides does not run, by the
// beginning of the commands.
func otherGuides() map[string]map[string]string {
	return map[string]map[string]string{
		"ownership": {
			"kubectl get namespace kube-system":        "TestAccGuides",
			"terraform apply -target=terraform_data":   "TestAccGuides",
			"terraform import fleet_cluster_target":    "TestAccImportWantsAllClusters",
			"terraform plan      # warns":              "TestAccLostStateIsImported",
			"terraform apply\n":                        "TestAccReleaseUnknownToTheStateIsFound",
			"helm uninstall web":                       "TestAccHelmsCommands",
			"terraform apply\nterraform apply -replac": "TestAccReplaceAdopts",
		},
		"policy-as-code": {"terraform plan -out=tfplan": "TestAccPlanJSON"},
		"progress":       {"TF_LOG_PROVIDER=info": "TestAccProgress"},
		"report":         {"FLEET_REPORT=": "TestAccPlanReport"},
		"testing":        {"terraform init": "TestAccTestingGuide"},
		"windows":        {"terraform apply -var windows_override": "TestAccWindowsOverride"},
	}
}

// Each block of commands in a guide is run by a test.
func TestGuideCommandsAreTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(guides + "*.md.tmpl")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no guides: %v", err)
	}
	tests := guideTests()
	for _, file := range files {
		guide := strings.TrimSuffix(filepath.Base(file), ".md.tmpl")
		if tests[guide] != nil || guide == "tutorial" { // TestAccTutorial follows it.
			continue
		}
		for _, block := range guideBlocks(t, guide) {
			by := ""
			for begins, test := range otherGuides()[guide] {
				if strings.HasPrefix(block.commands, begins) {
					by = test
				}
			}
			if by == "" {
				t.Errorf("no test runs these commands of the guide %s:\n%s", guide, block.commands)
			} else if !isTest(t, by) {
				t.Errorf("there is no test %s", by)
			}
		}
	}
}

func isTest(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), "\nfunc "+name+"(") })
}

// The commands of guides run as they are printed, and print what the guide shows.
func TestAccGuides(t *testing.T) {
	t.Parallel()
	for guide, prepare := range guideTests() {
		t.Run(guide, func(t *testing.T) {
			t.Parallel()
			steps, blocks := prepare(t), guideBlocks(t, guide)
			if len(blocks) != len(steps) {
				t.Fatalf("the guide has %d blocks of commands, and the test has %d", len(blocks), len(steps))
			}
			for i, step := range steps {
				step.run(t, blocks[i])
			}
		})
	}
}

func (s guideStep) run(t *testing.T, block guideBlock) {
	t.Helper()
	if !strings.HasPrefix(block.commands, s.begins) {
		t.Fatalf("the test expects commands that begin with %q, and the guide has\n%s", s.begins, block.commands)
	}
	if s.in == nil {
		if !isTest(t, s.by) {
			t.Errorf("there is no test %s", s.by)
		}
		return
	}
	if s.before != nil {
		s.before(t)
	}
	output, err := s.in.try(t, block.commands)
	if (err != nil) != s.fails {
		t.Fatalf("%v\n%s\n%s", err, block.commands, output)
	}
	s.in.expectOutput(t, output, block.output)
	if s.after != nil {
		s.after(t, output)
	}
}

// expectOutput wants each line of a guide in an output. "..." stands for the rest of a word.
func (f *guideFleet) expectOutput(t *testing.T, output, wanted string) {
	t.Helper()
	text := unwrapped(output)
	for line := range strings.Lines(f.here(wanted)) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(unwrapped(line)), `\.\.\.`, `\S*`)
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("the output has no %q:\n%s", line, output)
		}
	}
}
