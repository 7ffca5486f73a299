// Command app is what the containers of tests run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	say := flag.String("say", "", "print this line first")
	exit := flag.Int("exit", -1, "end with this code")
	after := flag.Duration("after", 0, "the time before the end, with -exit")
	memory := flag.Int("memory", 0, "use this many MiB")
	size := flag.Int("write", 0, "write this many MiB into the file of -into")
	file := flag.String("into", "", "the path of the file, with -write")
	get := flag.String("get", "", "print the answer of this URL, and end")
	port := flag.Int("port", 8080, "serve HTTP at this port")
	name := flag.String("name", "app", "what / answers")
	readyAfter := flag.Duration("ready-after", 0, "the time before /ready succeeds")
	aliveFor := flag.Duration("alive-for", 0, "the time after which /alive fails, 0 for never")
	stopAfter := flag.Duration("stop-after", 0, "the time before a signal ends the program")
	flag.Parse()
	if *say != "" {
		log.Println(*say)
	}
	if *size > 0 {
		if err := os.WriteFile(*file, make([]byte, *size<<20), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	switch {
	case *get != "":
		os.Exit(fetch(*get))
	case *memory > 0:
		use(*memory)
	case *exit >= 0:
		time.Sleep(*after)
		os.Exit(*exit)
	}
	go func() {
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
		<-ended
		time.Sleep(*stopAfter)
		os.Exit(0)
	}()
	serve(*port, *name, *readyAfter, *aliveFor)
}

func fetch(url string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		log.Println(err)
		return 1
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Println(err)
		return 1
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		log.Println(answer.Status, err)
		return 1
	}
	fmt.Print(string(text))
	return 0
}

// use touches memory until a limit ends the program.
func use(mebibytes int) {
	var held [][]byte
	for range mebibytes {
		block := make([]byte, 1<<20)
		for i := range block {
			block[i] = byte(i)
		}
		held = append(held, block)
	}
	log.Println("uses", len(held), "MiB")
	select {}
}

func serve(port int, name string, readyAfter, aliveFor time.Duration) {
	start := time.Now()
	answer := func(isGood func() bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if !isGood() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
	}
	http.HandleFunc("/ready", answer(func() bool { return time.Since(start) >= readyAfter }))
	http.HandleFunc("/alive", answer(func() bool { return aliveFor == 0 || time.Since(start) < aliveFor }))
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, name)
	})
	log.Fatal(http.ListenAndServe(fmt.Sprint(":", port), nil)) //nolint:gosec // The server of a test.
}
