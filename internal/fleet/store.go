package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/retry"
)

// store writes Bundles of one target.
type store struct {
	engine *Engine
	client *client
	// instances are the instance ids that Bundles of the target can have.
	instances map[string]bool
}

// stored is a Bundle in the management cluster.
type stored struct {
	metadata

	raw     map[string]any
	content content
}

func (s *store) path(name string) string {
	return bundlesPath(s.engine.settings.Namespace) + "/" + name
}

// read returns a Bundle of the target, nil if there is none. For a Bundle that is not of the
// target, it returns a *ForeignError.
func (s *store) read(ctx context.Context, name, bundleLabel, owner string) (*stored, error) {
	raw, found, err := s.client.get(ctx, s.path(name))
	if err != nil {
		return nil, s.engine.failed("reading the Bundle "+name+" of", err)
	}
	if !found {
		return nil, nil
	}
	read := &stored{raw: raw}
	var of onlyAbout
	if err := convert(raw, &of); err != nil {
		return nil, fmt.Errorf("reading the Bundle %s: %w", name, err)
	}
	read.metadata = of.Metadata
	marks := markOf(of.Metadata.Labels)
	if marks.Owner != owner || !s.instances[marks.Instance] || marks.Bundle != bundleLabel {
		return nil, &ForeignError{Namespace: s.engine.settings.Namespace, Name: name, Mark: marks}
	}
	read.content, err = decompose(child(raw, "spec"), deploymentsOf(of.Metadata.Annotations))
	if err != nil {
		return nil, fmt.Errorf("reading the Bundle %s: %w", name, err)
	}
	return read, nil
}

// edit is one change of a Bundle.
type edit struct {
	// name is the name of the Bundle, and bundle is the name of the bundle for messages.
	name, bundle string
	mark         release.Mark
	// own are the labels of the bundle, nil to keep the existing labels.
	own map[string]string
	// secrets sets annotationSecrets.
	secrets bool
	// change returns the new content. before is nil if there is no Bundle. If the new content has
	// no entries, the Bundle is deleted.
	change func(before *stored) (content, error)
}

// apply changes a Bundle and returns labelDigest of the stored Bundle, "" if it was deleted. It
// tries again after a write by another client: Fleet's controller writes Bundles all the time.
func (s *store) apply(ctx context.Context, e edit) (digest string, err error) {
	return retry.Do(ctx, retry.Update(), func() (string, error) {
		digest, err := s.try(ctx, e)
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !errors.Is(err, errBeingDeleted) {
			return "", retry.Permanent(err)
		}
		return digest, err
	})
}

var errBeingDeleted = errors.New("the Bundle is being deleted, and Fleet's controller has not finished that yet")

func (s *store) try(ctx context.Context, e edit) (string, error) {
	before, err := s.read(ctx, e.name, e.mark.Bundle, e.mark.Owner)
	if err != nil {
		return "", err
	}
	wanted, err := e.change(before)
	if err != nil {
		return "", err
	}
	if len(wanted.entries) == 0 {
		return "", s.delete(ctx, e.name, before)
	}
	if before != nil && before.DeletionTimestamp != "" {
		return "", errBeingDeleted
	}
	secret, err := s.prepareValues(ctx, e.name, &wanted, before)
	if err != nil {
		return "", err
	}
	if err := checkValuesSize(e.bundle, secret); err != nil {
		return "", err
	}
	spec, err := wanted.compose()
	if err != nil {
		return "", err
	}
	deployments := deploymentsText(wanted.entries)
	if err := checkSize(e.bundle, spec, deployments); err != nil {
		return "", err
	}
	digest, err := digestOf(spec, deployments)
	if err != nil {
		return "", err
	}
	// A write that has begun is finished even if ctx ends: without the Secret, Fleet would wait
	// forever for the values of the Bundle.
	ctx = context.WithoutCancel(ctx)
	uid, err := s.write(ctx, e, before, spec, deployments, digest)
	if err != nil {
		return "", err
	}
	return digest, s.writeValues(ctx, e, secret, uid)
}

// write creates or updates a Bundle that is not as wanted, and returns its UID.
func (s *store) write(
	ctx context.Context, e edit, before *stored, spec map[string]any, deployments, digest string,
) (uid string, err error) {
	own := e.own
	if own == nil && before != nil {
		own = withoutMarks(before.Labels)
	}
	wantedLabels := labelsOf(own, e.mark, digest)
	object := map[string]any{
		"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle",
		"metadata": map[string]any{"name": e.name, "namespace": s.engine.settings.Namespace},
	}
	generation := int64(1)
	if before != nil {
		object, generation = before.raw, before.Generation
		current, err := digestOf(child(object, "spec"), deployments)
		if err != nil {
			return "", err
		}
		if current != digest {
			generation++
		}
		isMarked := !e.secrets || before.hasSecrets()
		// Labels that Fleet adds do not count.
		isLabelled := labels.SelectorFromSet(wantedLabels).Matches(labels.Set(before.Labels)) &&
			before.Labels[labelAdoption] == wantedLabels[labelAdoption]
		if current == digest && isMarked && before.isUnchanged() && isLabelled {
			return before.UID, nil
		}
	}
	about := child(object, "metadata")
	about["labels"] = wantedLabels
	annotations := map[string]any{}
	maps.Copy(annotations, child(about, "annotations"))
	annotations[annotationDeployments], annotations[annotationGeneration] = deployments, strconv.FormatInt(generation, 10)
	if e.secrets {
		annotations[annotationSecrets] = "true"
	}
	about["annotations"] = annotations
	object["spec"] = spec
	delete(object, "status")
	answer, err := s.put(ctx, "Bundle", bundlesPath(s.engine.settings.Namespace), e.name, before != nil, object)
	if err != nil {
		return "", err
	}
	return s.verify(ctx, e, answer, deployments, digest)
}

// verify checks that the management cluster has stored what was written, and corrects
// annotationGeneration if the Bundle has another generation.
func (s *store) verify(ctx context.Context, e edit, answer map[string]any, deployments, digest string) (uid string, err error) {
	var of onlyAbout
	if err := convert(answer, &of); err != nil {
		return "", fmt.Errorf("reading the response for the Bundle %s: %w", e.name, err)
	}
	got, err := digestOf(child(answer, "spec"), deployments)
	if err != nil {
		return "", err
	}
	if got != digest {
		return "", fmt.Errorf("the management cluster did not store the Bundle %s as it was written: "+
			"its custom resource definitions do not have all fields, "+
			"or an admission webhook changes Bundles; install Fleet 0.16 or later", e.name)
	}
	if of.Metadata.isUnchanged() {
		return of.Metadata.UID, nil
	}
	err = s.client.patch(ctx, s.path(e.name), map[string]any{"metadata": map[string]any{
		"resourceVersion": of.Metadata.ResourceVersion,
		"annotations":     map[string]any{annotationGeneration: strconv.FormatInt(of.Metadata.Generation, 10)},
	}})
	if err != nil && !apierrors.IsConflict(err) {
		return "", s.engine.failed("writing the Bundle "+e.name+" to", err)
	}
	return of.Metadata.UID, err
}

// delete deletes a Bundle if it is still as it was read.
func (s *store) delete(ctx context.Context, name string, before *stored) error {
	if before == nil || before.DeletionTimestamp != "" {
		return nil
	}
	err := s.client.remove(ctx, s.path(name), before.metadata)
	if err != nil && !apierrors.IsConflict(err) {
		return s.engine.failed("deleting the Bundle "+name+" of", err)
	}
	return err
}

// awaitDeleted waits until Fleet's controller has finished the deletion of a Bundle.
func (s *store) awaitDeleted(ctx context.Context, name string) error {
	_, err := retry.Do(ctx, retry.Unwatched().Within(forgetTime), func() (struct{}, error) {
		_, found, err := s.client.get(ctx, s.path(name))
		switch {
		case err != nil:
			return struct{}{}, retry.Permanent(s.engine.failed("reading the Bundle "+name+" of", err))
		case found:
			return struct{}{}, errBeingDeleted
		}
		return struct{}{}, nil
	})
	return err
}

// prepareValues returns the contents of the values Secret, and sets its hash in wanted. A
// deployment with the same digest as before keeps its values.
func (s *store) prepareValues(ctx context.Context, name string, wanted *content, before *stored) (map[string][]byte, error) {
	had := map[string][]byte{}
	if before != nil && before.content.ValuesHash != "" {
		object, found, err := s.client.get(ctx, secretsPath(s.engine.settings.Namespace)+"/"+name)
		if err != nil {
			return nil, s.engine.failed("reading the Secret "+name+" of", err)
		}
		if found {
			had = dataOf(object)
		}
	}
	kept := func(cluster string) bool {
		return before != nil && before.content.entries[cluster].version() == wanted.entries[cluster].version()
	}
	data, err := secretValues(wanted.entries, had, kept, []byte(rand.Text()))
	if err != nil {
		return nil, err
	}
	wanted.ValuesHash = ""
	if data != nil {
		wanted.ValuesHash = hashOf(data)
	}
	return data, nil
}

// dataOf returns the data of a Secret. A value that cannot be decoded is left out, and is written
// again.
func dataOf(secret map[string]any) map[string][]byte {
	data := map[string][]byte{}
	for key, value := range child(secret, "data") {
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			data[key] = decoded
		}
	}
	return data
}

// writeValues writes the values Secret of a Bundle. Fleet waits for the Secret. It is deleted with
// the Bundle.
func (s *store) writeValues(ctx context.Context, e edit, data map[string][]byte, uid string) error {
	if data == nil {
		return nil
	}
	path := secretsPath(s.engine.settings.Namespace)
	object, found, err := s.client.get(ctx, path+"/"+e.name)
	if err != nil {
		return s.engine.failed("reading the Secret "+e.name+" of", err)
	}
	if found && object["type"] != valuesType {
		return fmt.Errorf("the Secret %s in namespace %s of the management cluster is not of type %s; "+
			"it is not changed", e.name, s.engine.settings.Namespace, valuesType)
	}
	if found && maps.EqualFunc(dataOf(object), data, bytes.Equal) {
		return nil
	}
	if !found {
		object = map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": valuesType,
			"metadata": map[string]any{
				"name": e.name, "namespace": s.engine.settings.Namespace, "labels": labelsOf(nil, e.mark, ""),
				"ownerReferences": []any{map[string]any{
					"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Bundle", "name": e.name, "uid": uid, "controller": true, "blockOwnerDeletion": true,
				}},
			},
		}
	}
	object["data"] = data
	_, err = s.put(ctx, "Secret", path, e.name, found, object)
	return err
}

// put creates or updates an object. It returns a conflict with another client as it is.
func (s *store) put(ctx context.Context, kind, path, name string, exists bool, object map[string]any) (map[string]any, error) {
	answer, err := s.client.put(ctx, path, name, exists, object)
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return nil, s.engine.failed("writing the "+kind+" "+name+" to", err)
	}
	return answer, err
}

// withoutMarks returns the labels of the bundle itself: all but those of this provider.
func withoutMarks(all map[string]string) map[string]string {
	own := maps.Clone(all)
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, labelPrefix) })
	return own
}
