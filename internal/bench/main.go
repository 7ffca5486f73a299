// Bench measures this provider and other tools at the same work on the same clusters. It also
// measures how this provider grows with the number of clusters.
//
//	benchmark contest   # make bench
//	benchmark scale     # make bench-scale
//	benchmark engine    # make bench-scale ENGINE=fleet
//	benchmark report    # write the page again from the last results
//
// It runs from the root of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	megabyte = 1 << 20

	contestRaw = ".build/bench/contest.json"
	scaleRaw   = ".build/bench/scale.json"
	engineRaw  = ".build/bench/engine.json"
	page       = "docs/benchmarks.md"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runCommand(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runCommand(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no command: contest, scale, engine or report")
	}
	switch args[0] {
	case "contest":
		return contestCommand(ctx, args[1:])
	case "scale":
		return scaleCommand(ctx, args[1:])
	case "engine":
		return engineCommand(ctx, args[1:])
	case "report":
		flags := flag.NewFlagSet("report", flag.ContinueOnError)
		out := flags.String("out", page, "`file` for the report")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return report(*out)
	case "floor":
		return runFloor(ctx, args[1:])
	}
	return fmt.Errorf("unknown command %q: contest, scale, engine or report", args[0])
}

func contestCommand(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("contest", flag.ContinueOnError)
	rounds := flags.Int("rounds", 3, "how many `rounds` there are")
	objects := flags.String("work", "4,40,400", "`objects` of a release, separated by commas")
	latencies := flags.String("latency", "0,50ms", "`latencies` of the network, separated by commas")
	contenders := flags.String("contenders", strings.Join(allContenders(), ","), "`names` of those who take part, separated by commas")
	budget := flags.Duration("budget", 5*time.Minute, "`time` after which no further round of a work on a network begins")
	out := flags.String("out", page, "`file` for the report")
	if err := flags.Parse(args); err != nil {
		return err
	}
	settings := contestSettings{rounds: *rounds, budget: *budget, contenders: strings.Split(*contenders, ","), raw: contestRaw}
	settings.command = fmt.Sprintf("make bench ROUNDS=%d BUDGET=%s WORK=%s LATENCY=%s CONTENDERS=%s", *rounds, *budget, *objects, *latencies, *contenders)
	if os.Getenv(helmProviderVariable) != "" {
		settings.command += " " + helmProviderVariable + "=path"
	}
	if err := known(settings.contenders); err != nil {
		return err
	}
	counts, err := numbers(*objects)
	if err != nil {
		return err
	}
	for _, count := range counts {
		w, err := workOf(count)
		if err != nil {
			return err
		}
		settings.works = append(settings.works, w)
	}
	for text := range strings.SplitSeq(*latencies, ",") {
		latency, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("reading the latency: %w", err)
		}
		settings.latencies = append(settings.latencies, latency)
	}
	result, err := runContest(ctx, settings)
	if err != nil {
		return err
	}
	if err := save(contestRaw, result); err != nil {
		return err
	}
	return report(*out)
}

// report writes the page and shows it.
func report(path string) error {
	text, err := writeReport(path)
	if err != nil {
		return err
	}
	fmt.Print(text)
	progress("wrote %s", path)
	return nil
}

// numbers reads a list of positive numbers.
func numbers(list string) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		number, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || number <= 0 {
			return nil, fmt.Errorf("%q is not a positive number", text)
		}
		all = append(all, number)
	}
	return all, nil
}

// progress prints a message about the progress.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
