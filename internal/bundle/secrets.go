package bundle

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// Decrypted are the decrypted parts of a bundle. They are kept in memory only: Files and Definition
// have the encrypted texts, and so have digests, plans and states.
type Decrypted struct {
	// Files are decrypted files by name.
	Files map[string][]byte
	// Leaves are decrypted values by the encrypted text that represents them in values.
	Leaves map[string]any
	// Texts are all decrypted values, to be kept out of messages.
	Texts []string
}

// HasSecrets reports whether anything in the bundle was decrypted.
func (b Bundle) HasSecrets() bool { return b.Decrypted.Reveal() != nil }

// HasDecryptedFiles reports whether files of the bundle were decrypted.
func (b Bundle) HasDecryptedFiles() bool {
	return b.HasSecrets() && len(b.Decrypted.Reveal().Files) > 0
}

// HasDecryptedValues reports whether values of the bundle were decrypted.
func (b Bundle) HasDecryptedValues() bool {
	return b.HasSecrets() && len(b.Decrypted.Reveal().Leaves) > 0
}

// PlainFiles returns Files with the decrypted content of encrypted files. Only rendering uses it.
func (b Bundle) PlainFiles() []File {
	if !b.HasDecryptedFiles() {
		return b.Files
	}
	files, decrypted := slices.Clone(b.Files), b.Decrypted.Reveal()
	for i, file := range files {
		if plain, ok := decrypted.Files[file.Name]; ok {
			files[i].Content = plain
		}
	}
	return files
}

// PlainValues returns values in which the decrypted values replace the encrypted texts. It does
// not change values itself. Only rendering uses it.
func (b Bundle) PlainValues(values map[string]any) map[string]any {
	if !b.HasDecryptedValues() {
		return values
	}
	plain, _ := b.Decrypted.Reveal().resolve(values).(map[string]any)
	return plain
}

func (d *Decrypted) resolve(value any) any {
	switch value := value.(type) {
	case string:
		if plain, ok := d.Leaves[value]; ok {
			return plain
		}
	case map[string]any:
		plain := make(map[string]any, len(value))
		for key, item := range value {
			plain[key] = d.resolve(item)
		}
		return plain
	case []any:
		plain := make([]any, 0, len(value))
		for _, item := range value {
			item = d.resolve(item)
			if _, isComment := item.(sops.Comment); !isComment {
				plain = append(plain, item)
			}
		}
		return plain
	}
	return value
}

// EncryptedFileError reports that a file encrypted by sops cannot be used.
type EncryptedFileError struct {
	// File is its path in the source.
	File string
	// Err is an error of package sops, or the reason why such a file is not decrypted.
	Err error
}

// Error names the file.
func (e *EncryptedFileError) Error() string {
	return fmt.Sprintf("decrypting %s: %v", e.File, e.Err)
}

// Unwrap gives the cause.
func (e *EncryptedFileError) Unwrap() error { return e.Err }

// encryptedValue is the error about an encrypted text in values that are not decrypted. file is the file
// of the values, "" if there is none. place is the option, such as helm.values.database.password.
func encryptedValue(file, place string) error {
	return inFileError(file, fmt.Errorf("%s contains a value encrypted by sops, and values are not decrypted there; "+
		"encrypt the whole file with sops, and list it in %s", place, spellingIn(file).Name("helm.valuesFiles")))
}

var (
	errEncryptedOptions = errors.New("the file with the options of a bundle must not be encrypted by sops; encrypt a values " +
		"file, and list it in helm.valuesFiles")
	errEncryptedChart = errors.New("the file is encrypted by sops, and files of a chart are not decrypted; list values files " +
		"in helm.valuesFiles, and exclude files that are not deployed with a .fleetignore")
	errEncryptedTemplate = errors.New("the file is encrypted by sops, and templates are not decrypted")
	errEncryptedFormat   = errors.New("the file is encrypted by sops, and only .yaml, .yml and .json files are decrypted; " +
		"exclude files that are not deployed with a .fleetignore")
)

// templatesPrefix is the prefix in the names of templates beside manifests.
const templatesPrefix = "templates/"

// open decrypts a file of the bundle.
func (f *folder) open(name string, content []byte) (*sops.Opened, error) {
	if f.decrypted++; f.decrypted > maxEncrypted {
		return nil, &CountError{What: "files encrypted by sops", Limit: maxEncrypted}
	}
	if f.decryptedSize += int64(len(content)); f.decryptedSize > maxEncryptedSize {
		return nil, &SizeError{What: "files encrypted by sops", Limit: maxEncryptedSize, advice: ignoreAdvice}
	}
	opened, err := f.keys.Open(content)
	if err != nil {
		return nil, &EncryptedFileError{File: path.Join(f.root, name), Err: err}
	}
	return opened, nil
}

// decryptValues decrypts a values file. The encrypted texts stay in the values.
func (f *folder) decryptValues(name string, data []byte) error {
	opened, err := f.open(name, data)
	if err != nil {
		return err
	}
	f.learn(opened)
	maps.Copy(f.plain.Leaves, opened.Leaves)
	return nil
}

func (f *folder) learn(opened *sops.Opened) {
	if f.plain == nil {
		f.plain = &Decrypted{Files: map[string][]byte{}, Leaves: map[string]any{}}
	}
	f.plain.Texts = append(f.plain.Texts, opened.Texts...)
}

// decryptFiles decrypts all files of the bundle that can be decrypted: manifests, and the files
// of overlays and kustomizations.
func (f *folder) decryptFiles(b *Bundle) error {
	for _, file := range b.Files {
		if !sops.Encrypted(file.Content) || notDecrypted(*b, file.Name) != nil || !isManifest(file.Name) {
			continue
		}
		opened, err := f.open(file.Name, file.Content)
		if err != nil {
			return err
		}
		f.learn(opened)
		f.plain.Files[file.Name] = opened.Plain
	}
	b.Decrypted = secret.Hide(f.plain)
	return nil
}

// notDecrypted returns why a file must not be encrypted, nil if it may be.
func notDecrypted(b Bundle, name string) error {
	files, isChart := tree(b.Files), false
	for _, chart := range chartsOf(&b.Definition) {
		dir, found := files.directoryOf(chart)
		isChart = isChart || found
		if found && (dir == "." || name == dir || strings.HasPrefix(name, dir+"/")) {
			return errEncryptedChart
		}
	}
	switch {
	case !isChart && strings.HasPrefix(name, templatesPrefix):
		return errEncryptedTemplate
	case !isManifest(name) && files.hasKustomization():
		return errEncryptedFormat
	}
	return nil
}

// checkEncrypted refuses encrypted files that would be deployed as they are.
func (b Bundle) checkEncrypted() error {
	for _, file := range b.Files {
		if b.isDecrypted(file.Name) || !tree(b.Files).isEncrypted(file) {
			continue
		}
		if reason := notDecrypted(b, file.Name); reason != nil {
			return &EncryptedFileError{File: path.Join(b.Path, file.Name), Err: reason}
		}
	}
	return nil
}

func (b Bundle) isDecrypted(name string) bool {
	return b.HasSecrets() && b.Decrypted.Reveal().Files[name] != nil
}

// isEncrypted reports whether sops has encrypted a file. A kustomization makes ConfigMaps and
// Secrets of dotenv and INI files; without one, they are like any other file.
func (t tree) isEncrypted(file File) bool {
	return sops.Encrypted(file.Content) || !isManifest(file.Name) && t.hasKustomization() && sops.EncryptedLines(file.Content)
}

// checkPlainValues refuses encrypted texts in the options of a bundle: such a text could be
// confused with a value of an encrypted file.
func checkPlainValues(file string, def fleetyaml.Definition) error {
	for _, options := range def.AllOptions() {
		if options.Helm == nil {
			continue
		}
		if place := marked(options.Helm.Values, "helm.values", nil); place != "" {
			return encryptedValue(file, place)
		}
		for _, key := range slices.Sorted(maps.Keys(options.Helm.TemplateValues)) {
			if sops.Marked(options.Helm.TemplateValues[key]) {
				return encryptedValue(file, spellingIn(file).Name("helm.templateValues")+"."+key)
			}
		}
	}
	return nil
}

// marked returns the place of an encrypted text that is not in known, "" if there is none.
func marked(value any, place string, known map[string]any) string {
	switch value := value.(type) {
	case string:
		if _, ok := known[value]; !ok && sops.Marked(value) {
			return place
		}
	case []any:
		for i, item := range value {
			if found := marked(item, fmt.Sprintf("%s[%d]", place, i), known); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if sops.Marked(key) {
				return place
			}
			if found := marked(value[key], place+"."+key, known); found != "" {
				return found
			}
		}
	}
	return ""
}
