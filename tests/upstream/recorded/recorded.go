// Package recorded writes down what upstream's own tests ask a scheduler plugin, and what it answers.
//
// The plugin's methods are wrapped when its package is copied. Types of the scheduler's framework moved
// between releases, so they are only looked at by their methods' names.
package recorded

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
)

// Cluster is what a plugin can see.
type Cluster struct {
	Nodes      []*v1.Node      `json:"nodes"`
	Namespaces []*v1.Namespace `json:"namespaces"`
	Pods       []*v1.Pod       `json:"pods"`
}

// Call is one call of a plugin's method.
type Call struct {
	Test    string           `json:"test"`
	Point   string           `json:"point"`
	Cycle   string           `json:"cycle"`
	Plugin  string           `json:"plugin"`
	Args    any              `json:"args"`
	Cluster Cluster          `json:"cluster"`
	Pod     *v1.Pod          `json:"pod"`
	Asked   []*v1.Node       `json:"asked"`
	Scores  map[string]int64 `json:"scores"`
	Code    string           `json:"code"`
	Reason  string           `json:"reason"`
}

// change is a pod that a test adds to a cycle, or takes from it, as a search for victims does.
type change struct {
	pod   *v1.Pod
	added bool
}

type made struct {
	name   string
	args   any
	handle any
}

var (
	mu      sync.Mutex
	test    string
	plugins = map[any]made{}
	changes = map[any][]change{} // by cycle state
	output  = sync.OnceValue(func() *json.Encoder {
		file, err := os.Create(os.Getenv("RECORDED"))
		if err != nil {
			panic(err)
		}
		return json.NewEncoder(file)
	})
)

// In says that a test begins.
func In(name string) {
	mu.Lock()
	defer mu.Unlock()
	test = name
}

// Made records the arguments of a plugin's New, and what it returned.
func Made(name string, arguments, results []any) {
	mu.Lock()
	defer mu.Unlock()
	// A test's table may change the arguments afterwards.
	args, err := json.Marshal(arguments[1])
	if err != nil {
		panic(err)
	}
	plugins[results[0]] = made{name, json.RawMessage(args), arguments[2]}
}

// Called records a call of a plugin's method: context, state, pod, and what the point asks about.
func Called(point string, plugin any, arguments, results []any) {
	mu.Lock()
	defer mu.Unlock()
	known, ok := plugins[plugin]
	if !ok {
		return // made by a test's own hand, without a cluster
	}
	changed := changes[arguments[1]]
	if point == "AddPod" || point == "RemovePod" {
		changed = append(changed, change{pod(reflect.ValueOf(arguments[3])), point == "AddPod"})
	}
	changes[arguments[1]] = changed // kept, so that no address stands for two states
	call := Call{
		Test: test, Point: point, Plugin: known.name, Args: known.args,
		Cycle:   fmt.Sprintf("%p-%p-%d", plugin, arguments[1], len(changed)),
		Cluster: cluster(known.handle),
		Pod:     arguments[2].(*v1.Pod),
	}
	for _, each := range changed {
		call.Cluster.Pods = slices.DeleteFunc(call.Cluster.Pods, func(p *v1.Pod) bool { return p == each.pod })
		if each.added {
			call.Cluster.Pods = append(call.Cluster.Pods, each.pod)
		}
	}
	call.Code, call.Reason = status(results[len(results)-1])
	switch point {
	case "Filter":
		call.Asked = []*v1.Node{node(reflect.ValueOf(arguments[3]))}
	case "PreScore":
		call.Asked = each(reflect.ValueOf(arguments[3]), node)
	case "NormalizeScore":
		call.Scores = map[string]int64{}
		list := reflect.ValueOf(arguments[3])
		for i := range list.Len() {
			score := list.Index(i)
			call.Scores[score.FieldByName("Name").String()] = score.FieldByName("Score").Int()
		}
	}
	if err := output().Encode(call); err != nil {
		panic(err)
	}
}

func status(result any) (string, string) {
	value := reflect.ValueOf(result)
	return fmt.Sprint(one(value, "Code")), one(value, "Message").String()
}

func cluster(handle any) Cluster {
	found := Cluster{Nodes: []*v1.Node{}, Namespaces: []*v1.Namespace{}, Pods: []*v1.Pod{}}
	value := reflect.ValueOf(handle)
	if !value.IsValid() || value.IsNil() {
		return found
	}
	if infos := one(value, "SnapshotSharedLister"); !infos.IsNil() {
		list := one(one(infos, "NodeInfos"), "List")
		for i := range list.Len() {
			info := list.Index(i)
			if one(info, "Node").IsNil() {
				continue // pods of a node that is gone
			}
			found.Nodes = append(found.Nodes, node(info))
			found.Pods = append(found.Pods, each(podInfos(info), pod)...)
		}
	}
	if factory, ok := one(value, "SharedInformerFactory").Interface().(informers.SharedInformerFactory); ok {
		namespaces, err := factory.Core().V1().Namespaces().Lister().List(labels.Everything())
		if err != nil {
			panic(err)
		}
		found.Namespaces = append(found.Namespaces, namespaces...)
	}
	return found
}

func podInfos(info reflect.Value) reflect.Value {
	if info.MethodByName("GetPods").IsValid() {
		return one(info, "GetPods")
	}
	return reflect.Indirect(info).FieldByName("Pods")
}

func pod(info reflect.Value) *v1.Pod {
	if info.MethodByName("GetPod").IsValid() {
		return one(info, "GetPod").Interface().(*v1.Pod)
	}
	return reflect.Indirect(info).FieldByName("Pod").Interface().(*v1.Pod)
}

func node(info reflect.Value) *v1.Node {
	return one(info, "Node").Interface().(*v1.Node)
}

func each[T any](list reflect.Value, read func(reflect.Value) T) []T {
	found := make([]T, list.Len())
	for i := range found {
		found[i] = read(list.Index(i))
	}
	return found
}

// one returns the first result of a method without arguments.
func one(value reflect.Value, method string) reflect.Value {
	return value.MethodByName(method).Call(nil)[0]
}
