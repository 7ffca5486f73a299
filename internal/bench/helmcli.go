package main

import "context"

// helmCLI is Helm's own command, once for each release and cluster.
type helmCLI struct{ path string }

func (helmCLI) name() string { return "helm" }

func (helmCLI) waits(t task) bool { return t.wait }

func (h helmCLI) commands(_ context.Context, t task, s step) ([]command, error) {
	if s == install {
		if err := t.work.writeCharts(t.charts(), t.namespace, s.value()); err != nil {
			return nil, err
		}
	}
	home, err := t.makeHome()
	if err != nil {
		return nil, err
	}
	var commands []command
	for _, cluster := range helmClusters(t, s) {
		for _, name := range t.work.names() {
			args := append([]string{h.path}, helmArguments(t, s, name)...)
			args = append(args, "--namespace", t.namespace, "--kubeconfig", t.kubeconfig, "--kube-context", cluster)
			if t.wait {
				args = append(args, "--wait")
			}
			commands = append(commands, command{args: args, dir: t.dir, env: environment(home)})
		}
	}
	return commands, nil
}

// helmClusters returns the clusters for which the step has commands.
func helmClusters(t task, s step) []string {
	if s == remove || s == restore {
		return t.contexts[len(t.contexts)-1:]
	}
	return t.contexts
}

func helmArguments(t task, s step, name string) []string {
	if s == remove || s == destroy {
		return []string{"uninstall", name}
	}
	return []string{"upgrade", "--install", name, t.charts() + "/" + name, "--set", "value=" + s.value(), "--create-namespace"}
}
