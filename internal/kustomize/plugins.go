package kustomize

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
)

// permittedPlugins are the built-in plugins that read nothing except files of their kustomization.
// A plugin that a new version of kustomize adds is refused until it is listed here.
func permittedPlugins() []string {
	return []string{
		"AnnotationsTransformer", "ConfigMapGenerator", "HashTransformer", "IAMPolicyGenerator", "ImageTagTransformer", "LabelTransformer",
		"NamespaceTransformer", "PatchJson6902Transformer", "PatchStrategicMergeTransformer", "PatchTransformer", "PrefixSuffixTransformer",
		"PrefixTransformer", "ReplacementTransformer", "ReplicaCountTransformer", "SecretGenerator", "SuffixTransformer", "ValueAddTransformer",
	}
}

// pluginData are the fields of permitted plugins whose texts only become part of objects.
func pluginData() []string {
	return []string{"metadata", "annotations", "labels", "literals", "value", "sourceValue"}
}

// plugins checks the plugins of the kustomization in dir. An entry is the configuration of plugins,
// a file with such a configuration, or a folder that lists such files. kustomize loads the files
// that the configuration names, from the network too.
func (c *confinement) plugins(file, dir string, content types.Kustomization) (all reach, err error) {
	for _, entry := range slices.Concat(content.Generators, content.Transformers, content.Validators) {
		configs, err := parsePlugins([]byte(entry))
		if err != nil { // As in kustomize, it is then a path.
			if all, err = all.plusResult(c.reference(file, dir, entry)); err != nil {
				return reach{}, err
			}
			if configs, err = c.pluginsAt(path.Join(dir, entry)); err != nil {
				return reach{}, err
			}
		}
		for _, config := range configs {
			if all, err = all.plusResult(c.plugin(file, dir, config)); err != nil {
				return reach{}, err
			}
		}
	}
	return all, nil
}

func parsePlugins(text []byte) ([]*resource.Resource, error) {
	parsed, err := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(text)
	if err != nil {
		return nil, err
	}
	return parsed.Resources(), nil
}

// pluginsAt reads the configurations in a file or folder. A kustomization in the folder must not
// change them: it could then make an address that no file contains.
func (c *confinement) pluginsAt(at string) ([]*resource.Resource, error) {
	if !c.memory.IsDir(at) {
		content, err := c.memory.ReadFile(at)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", at, err)
		}
		return parsePlugins(content)
	}
	if c.listing[at] {
		return nil, nil // kustomize reports the cycle.
	}
	c.listing[at] = true
	defer delete(c.listing, at)
	file, content, err := kustomization(c.memory, at)
	if err != nil {
		return nil, err
	}
	resources := content.Resources
	content.TypeMeta = types.TypeMeta{}
	content.MetaData = nil
	content.Resources = nil
	if !reflect.ValueOf(content).IsZero() {
		return nil, fmt.Errorf("%s configures plugins, so it may only list resources", strings.TrimPrefix(file, "/"))
	}
	var all []*resource.Resource
	for _, name := range resources {
		configs, err := c.pluginsAt(path.Join(at, name))
		if err != nil {
			return nil, err
		}
		all = append(all, configs...)
	}
	return all, nil
}

// plugin checks a plugin, and returns how much it reads.
func (c *confinement) plugin(file, dir string, config *resource.Resource) (reach, error) {
	kind := config.GetGvk()
	if kind.Group != "" || kind.Version != konfig.BuiltinPluginApiVersion || !slices.Contains(permittedPlugins(), kind.Kind) {
		return reach{}, fmt.Errorf("%s configures the plugin %s, which is not permitted", strings.TrimPrefix(file, "/"), kind.Kind)
	}
	content, err := config.Map()
	if err != nil {
		return reach{}, fmt.Errorf("reading the configuration of the plugin %s: %w", kind.Kind, err)
	}
	return c.pluginFiles(file, dir, content)
}

// pluginFiles finds the files that a configuration names, in whatever field. The text "key=file"
// names a file too.
func (c *confinement) pluginFiles(file, dir string, value any) (all reach, err error) {
	switch value := value.(type) {
	case string:
		_, name, found := strings.Cut(value, "=")
		if !found {
			name = value
		}
		if address.MatchString(value) || address.MatchString(name) {
			return reach{}, &OutsideError{File: strings.TrimPrefix(file, "/"), Name: name}
		}
		if at := path.Join(dir, name); c.memory.Exists(at) && !c.memory.IsDir(at) {
			all.bytes, err = c.file(at)
		}
	case []any:
		for _, item := range value {
			if all, err = all.plusResult(c.pluginFiles(file, dir, item)); err != nil {
				return reach{}, err
			}
		}
	case map[string]any:
		for key, item := range value {
			if slices.Contains(pluginData(), key) {
				continue
			}
			if all, err = all.plusResult(c.pluginFiles(file, dir, item)); err != nil {
				return reach{}, err
			}
		}
	}
	return all, err
}
