// Package scheduler_perf runs upstream's scheduler benchmark with an extender beside the scheduler.
package scheduler_perf

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/component-base/logs/json/register"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
	"k8s.io/kubernetes/test/utils/client-go/ktesting"

	"scheduler_perf/beside"
)

func TestMain(m *testing.M) {
	if err := perf.InitTests(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// BenchmarkPerfScheduling runs the test cases of PERF_CONFIG. The scheduler that they configure may
// ask an extender; it is started once there is an API server.
func BenchmarkPerfScheduling(b *testing.B) {
	prepare := func(tCtx ktesting.TContext) error {
		beside.Start(tCtx.TB(), tCtx.RESTConfig())
		tCtx.TB().Cleanup(func() { tCtx.ExpectNoError(writeCluster(tCtx), "writing the cluster") })
		return nil
	}
	perf.RunBenchmarkPerfScheduling(
		b, os.Getenv("PERF_CONFIG"), os.Getenv("PERF_TOPIC"), nil, perf.WithPrepareFn(prepare))
}

// writeCluster writes what there is at the end of a workload, so that placements can be judged.
func writeCluster(tCtx ktesting.TContext) error {
	core, everything := tCtx.Client().CoreV1(), metav1.ListOptions{}
	nodes, err1 := core.Nodes().List(tCtx, everything)
	namespaces, err2 := core.Namespaces().List(tCtx, everything)
	pods, err3 := core.Pods("").List(tCtx, everything)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	file, err := os.Create(os.Getenv("PERF_CLUSTER"))
	if err != nil {
		return err
	}
	cluster := map[string]any{
		"nodes": nodes.Items, "namespaces": namespaces.Items, "pods": pods.Items,
	}
	return errors.Join(json.NewEncoder(file).Encode(cluster), file.Close())
}
