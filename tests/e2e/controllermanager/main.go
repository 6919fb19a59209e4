// Answers, a line for each case, what one of kube-controller-manager's controllers writes when it looks at an object.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	_ "unsafe" // for go:linkname

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

//go:linkname syncReplicaSet k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).syncReplicaSet
func syncReplicaSet(*replicaset.ReplicaSetController, context.Context, string) error

//go:linkname syncDeployment k8s.io/kubernetes/pkg/controller/deployment.(*DeploymentController).syncDeployment
func syncDeployment(*deployment.DeploymentController, context.Context, string) error

//go:linkname syncStatefulSet k8s.io/kubernetes/pkg/controller/statefulset.(*StatefulSetController).sync
func syncStatefulSet(*statefulset.StatefulSetController, context.Context, string) error

//go:linkname syncJob k8s.io/kubernetes/pkg/controller/job.(*Controller).syncJob
func syncJob(*job.Controller, context.Context, string) error

type asked struct {
	// The kind whose controller looks, and namespace/name of what it looks at.
	Kind         string                     `json:"kind"`
	Key          string                     `json:"key"`
	Pods         []*core.Pod                `json:"pods"`
	ReplicaSets  []*apps.ReplicaSet         `json:"replicasets"`
	Deployments  []*apps.Deployment         `json:"deployments"`
	StatefulSets []*apps.StatefulSet        `json:"statefulsets"`
	Revisions    []*apps.ControllerRevision `json:"controllerrevisions"`
	Jobs         []*batch.Job               `json:"jobs"`
	// The values of the annotation, which are read if there are any.
	Costs []string `json:"costs"`
}

type write struct {
	Verb        string         `json:"verb"`
	Resource    string         `json:"resource"`
	Subresource string         `json:"subresource,omitempty"`
	Name        string         `json:"name"`
	Object      runtime.Object `json:"object,omitempty"`
}

type answer struct {
	Error  string   `json:"error,omitempty"`
	Writes []write  `json:"writes"`
	Costs  []*int32 `json:"costs,omitempty"`
}

func main() {
	quiet := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(quiet)
	if err := quiet.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		log.Fatal(err)
	}
	klog.SetOutput(io.Discard)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	client := recording()
	for lines.Scan() {
		var question asked
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			log.Fatal(err)
		}
		found := &answer{}
		if err := question.answer(client, found); err != nil {
			found.Error = err.Error()
		}
		if err := answers.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

// recording returns a client whose writes all succeed and are remembered.
func recording() *fake.Clientset {
	client := fake.NewClientset()
	for _, verb := range []string{"create", "update", "patch"} {
		client.PrependReactor(verb, "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if written, ok := action.(interface{ GetObject() runtime.Object }); ok {
				return true, written.GetObject(), nil
			}
			return false, nil, nil
		})
	}
	client.PrependReactor("delete", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	return client
}

func put[T any](informer cache.SharedIndexInformer, objects []T) {
	for _, each := range objects {
		if err := informer.GetIndexer().Add(each); err != nil {
			log.Fatal(err)
		}
	}
}

func (a *asked) answer(client *fake.Clientset, found *answer) error {
	for _, value := range a.Costs {
		// 0 stands for what cannot be read.
		cost, _ := helper.GetDeletionCostFromPodAnnotations(map[string]string{core.PodDeletionCost: value})
		found.Costs = append(found.Costs, &cost)
	}
	if a.Kind == "" {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client.ClearActions()
	sync, err := a.controller(ctx, client)
	if err != nil {
		return err
	}
	err = sync()
	for _, action := range client.Actions() {
		one := write{Verb: action.GetVerb(), Resource: action.GetResource().Resource, Subresource: action.GetSubresource()}
		switch each := action.(type) {
		case clienttesting.DeleteAction:
			one.Name = each.GetName()
		case clienttesting.CreateAction: // and of updates
			one.Object = each.GetObject()
			one.Name = each.GetObject().(metav1.Object).GetName()
		case clienttesting.PatchAction:
			one.Name = each.GetName()
		default:
			continue
		}
		if one.Resource != "events" {
			found.Writes = append(found.Writes, one)
		}
	}
	return err
}

// controller returns one that knows the objects and nothing else.
func (a *asked) controller(ctx context.Context, client *fake.Clientset) (func() error, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	sets, coreSets := factory.Apps().V1(), factory.Core().V1()
	var sync func() error
	switch a.Kind {
	case "ReplicaSet":
		of := replicaset.NewReplicaSetController(ctx, sets.ReplicaSets(), coreSets.Pods(), client, replicaset.BurstReplicas)
		sync = func() error { return syncReplicaSet(of, ctx, a.Key) }
	case "Deployment":
		of, err := deployment.NewDeploymentController(ctx, sets.Deployments(), sets.ReplicaSets(), coreSets.Pods(), client)
		if err != nil {
			return nil, err
		}
		sync = func() error { return syncDeployment(of, ctx, a.Key) }
	case "StatefulSet":
		of := statefulset.NewStatefulSetController(
			ctx, coreSets.Pods(), sets.StatefulSets(), coreSets.PersistentVolumeClaims(), sets.ControllerRevisions(), client)
		sync = func() error { return syncStatefulSet(of, ctx, a.Key) }
	case "Job":
		of, err := job.NewController(ctx, client, coreSets.Pods(), factory.Batch().V1().Jobs(), nil, nil)
		if err != nil {
			return nil, err
		}
		sync = func() error { return syncJob(of, ctx, a.Key) }
	default:
		return nil, fmt.Errorf("no controller for %q", a.Kind)
	}
	put(coreSets.Pods().Informer(), a.Pods)
	put(sets.ReplicaSets().Informer(), a.ReplicaSets)
	put(sets.Deployments().Informer(), a.Deployments)
	put(sets.StatefulSets().Informer(), a.StatefulSets)
	put(sets.ControllerRevisions().Informer(), a.Revisions)
	put(factory.Batch().V1().Jobs().Informer(), a.Jobs)
	return sync, nil
}
