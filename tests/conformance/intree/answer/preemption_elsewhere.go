//go:build !kubernetes_1_37

package main

import (
	"context"
	"errors"

	"intree"
)

type attempt struct{}

func preempt(context.Context, intree.Objects, preemptions) ([]attempt, error) {
	return nil, errors.New("preemption is asked of Kubernetes 1.37 alone")
}
