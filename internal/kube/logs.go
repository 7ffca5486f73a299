package kube

import (
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

// Limits for what is read of the logs of failed containers.
const (
	logLines = 10
	logBytes = 2 << 10
	// logsOfWait is how many logs are read for one wait.
	logsOfWait = 3
)

// lastWords returns the last lines of the log of a container that has failed, for the text of an
// error. It returns "" without the right to read logs. Secrets in it are not masked here.
func (e *explainer) lastWords(ctx context.Context, pod *corev1.Pod, container *corev1.ContainerStatus) string {
	if e.logs == 0 {
		return ""
	}
	e.logs--
	lines, limit := int64(logLines), int64(logBytes)
	stream, err := e.client.typed.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container.Name, Previous: container.State.Terminated == nil, TailLines: &lines, LimitBytes: &limit,
	}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(io.LimitReader(stream, logBytes))
	if err != nil {
		return ""
	}
	return wordsOf(string(text))
}

// wordsOf returns a log as one line. A line that was cut off is left out: a masker does not recognize
// half a secret.
func wordsOf(log string) string {
	if len(log) >= logBytes {
		log = log[:strings.LastIndex(log, "\n")+1]
	}
	var lines []string
	for line := range strings.Lines(log) {
		if line = strings.TrimSpace(mask.Printable(line)); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return fmt.Sprintf(", and its log ends with: %s", strings.Join(lines, " | "))
}
