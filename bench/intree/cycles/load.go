package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"intree"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster reads what it names, with its feature gate on meanwhile.
func (l loading) cluster(ctx context.Context) (*intree.Cluster, error) {
	if l.Gate == "" {
		return load(ctx, l.File)
	}
	if err := intree.SetGates(l.Gate + "=true"); err != nil {
		return nil, err
	}
	cluster, err := load(ctx, l.File)
	return cluster, errors.Join(err, intree.SetGates(l.Gate+"=false"))
}

// load reads a v1 List of nodes, namespaces and pods.
func load(ctx context.Context, file string) (*intree.Cluster, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, err
	}
	var objects intree.Objects
	for _, item := range list.Items {
		if err := add(&objects, item); err != nil {
			return nil, err
		}
	}
	return intree.NewCluster(ctx, objects, intree.Args{})
}

func add(objects *intree.Objects, item []byte) error {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(item, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Node":
		objects.Nodes = append(objects.Nodes, new(v1.Node))
		return json.Unmarshal(item, objects.Nodes[len(objects.Nodes)-1])
	case "Namespace":
		objects.Namespaces = append(objects.Namespaces, new(v1.Namespace))
		return json.Unmarshal(item, objects.Namespaces[len(objects.Namespaces)-1])
	case "Pod":
		objects.Pods = append(objects.Pods, new(v1.Pod))
		return json.Unmarshal(item, objects.Pods[len(objects.Pods)-1])
	}
	return fmt.Errorf("an object of kind %q", kind.Kind)
}
