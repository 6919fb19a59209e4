//go:build !kubernetes_1_37 && !kubernetes_1_38

package main

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"intree"
)

type (
	attempt   struct{}
	verdicts  struct{}
	volumes   struct{}
	spreading struct{}
)

var errElsewhere = errors.New("whole schedulers are those of Kubernetes 1.37 and 1.38 alone")

func preempt(context.Context, intree.Objects, stored, preemptions) ([]attempt, error) {
	return nil, errElsewhere
}

func judge(context.Context, intree.Objects, stored, []*v1.Pod) ([]verdicts, error) {
	return nil, errElsewhere
}
