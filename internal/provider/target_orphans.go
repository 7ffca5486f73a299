package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// orphansKey is where Read notes the releases of a target that its state does not know, as
// after an apply that was killed. Only a plan knows which of them are wanted.
const orphansKey = "orphans"

func readOrphans(ctx context.Context, private privateReader, diags *diag.Diagnostics) []deploy.Orphan {
	raw, found := private.GetKey(ctx, orphansKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return nil
	}
	var orphans []deploy.Orphan
	if err := json.Unmarshal(raw, &orphans); err != nil {
		diags.AddError("Cannot read which releases the state does not know", sentence(err))
	}
	return orphans
}

// rememberOrphans stores the releases that the state does not know, if they changed.
func rememberOrphans(ctx context.Context, before privateReader, after privateWriter, orphans []deploy.Orphan, diags *diag.Diagnostics) {
	known, found := before.GetKey(ctx, orphansKey)
	diags.Append(found...)
	if len(orphans) == 0 && len(known) == 0 {
		return
	}
	raw, err := json.Marshal(orphans)
	if err != nil {
		diags.AddError("Cannot store which releases the state does not know", sentence(err))
		return
	}
	if !bytes.Equal(raw, known) {
		diags.Append(after.SetKey(ctx, orphansKey, raw)...)
	}
}

// warnOrphans reports the releases that the state does not know and that the target does
// not want. One that is wanted is taken up by the apply.
func warnOrphans(name string, orphans []deploy.Orphan, wanted []target.Deployment, diags *diag.Diagnostics) {
	isWanted := map[string]bool{}
	for _, d := range wanted {
		isWanted[d.Cluster+" "+release.Key(d.Namespace, d.Release)] = true
	}
	var lines []string
	for _, orphan := range orphans {
		if isWanted[orphan.Cluster+" "+release.Key(orphan.Namespace, orphan.Release)] {
			continue
		}
		objects := strings.Join(orphan.Objects, ", ")
		if objects == "" {
			objects = "its record cannot be read"
		}
		lines = append(lines, fmt.Sprintf("  - %s: release %s in namespace %s (%s)", orphan.Cluster, orphan.Release, orphan.Namespace, objects))
	}
	if len(lines) == 0 {
		return
	}
	slices.Sort(lines)
	diags.AddWarning("Target "+name+": releases with its id are not in its state",
		strings.Join(lines, "\n")+"\n\nAn apply that was killed can have made them, or somebody who may create Secrets there. They are not removed: "+
			"only releases in the state are. Remove one with `helm uninstall RELEASE --namespace NAMESPACE` on its cluster, "+
			"or deploy its bundle with this target once more and then take the bundle out.")
}
