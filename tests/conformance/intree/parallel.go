package intree

import (
	"context"
	"sync"

	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
)

var workers = parallelize.NewParallelizer(parallelize.DefaultParallelism)

// inParallel calls work for each index as the scheduler does for each node; it returns one error.
func inParallel(ctx context.Context, count int, work func(int) error) error {
	var once sync.Once
	var failure error
	workers.Until(ctx, count, func(i int) {
		if err := work(i); err != nil {
			once.Do(func() { failure = err })
		}
	}, "intree")
	return failure
}
