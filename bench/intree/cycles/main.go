// Cycles times scheduling cycles: of the plugin within this process, and of extenders over HTTP.
//
// It reads commands, one JSON object a line, and writes one line for each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"intree"

	"k8s.io/klog/v2"
)

type command struct {
	// Load reads a cluster from a file and keeps it under a name.
	Load *loading `json:"load"`
	// Measure times cycles on clusters that were loaded.
	Measure *plan `json:"measure"`
	// Forget drops all clusters.
	Forget bool `json:"forget"`
}

type loading struct {
	Name string `json:"name"`
	File string `json:"file"`
	// Gate is a feature gate that is on for this cluster alone; none when empty.
	Gate string `json:"gate"`
}

func main() {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	commands := json.NewDecoder(bufio.NewReader(in))
	replies := json.NewEncoder(out)
	clusters := make(map[string]*intree.Cluster)
	for {
		var next command
		if err := commands.Decode(&next); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var reply any
		switch {
		case next.Forget:
			clear(clusters)
		case next.Load != nil:
			cluster, err := next.Load.cluster(ctx)
			if err != nil {
				return err
			}
			clusters[next.Load.Name] = cluster
		case next.Measure != nil:
			results, err := next.Measure.run(ctx, clusters)
			if err != nil {
				return err
			}
			reply = results
		}
		if err := replies.Encode(reply); err != nil {
			return err
		}
	}
}
