// Answer reads cases, one JSON object a line, and writes the plugins' answers, one line a case.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"intree"

	"k8s.io/klog/v2"
)

type reply struct {
	Answers []intree.Answers `json:"answers,omitempty"`
	Error   string           `json:"error,omitempty"`
}

func main() {
	// The plugins log what they see; only answers are wanted.
	klog.InitFlags(nil)
	_ = flag.Set("logtostderr", "false")
	klog.SetOutput(io.Discard)
	gates := flag.String("feature-gates", "", "what a scheduler would be started with, as A=true,B=false")
	flag.Parse()
	if err := intree.SetGates(*gates); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	cases := json.NewDecoder(bufio.NewReader(in))
	replies := bufio.NewWriter(out)
	encoder := json.NewEncoder(replies)
	for {
		var asked intree.Case
		if err := cases.Decode(&asked); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answered, failure := asked.Answer(ctx)
		said := reply{Answers: answered}
		if failure != nil {
			said.Error = failure.Error()
		}
		if err := encoder.Encode(said); err != nil {
			return err
		}
		if err := replies.Flush(); err != nil {
			return err
		}
	}
}
