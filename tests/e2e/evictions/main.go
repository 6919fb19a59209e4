// Answers, a line for each case, what the API server says to evictions and kubectl drain to the pods of a node.
//
// The eviction subresource, the disruption controller and the filters of kubectl are Kubernetes' own; only the storage
// behind them is kept in memory.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	goerrors "errors"
	"io"
	"log"
	"os"
	"strconv"
	"time"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/drain"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/registry/core/pod/storage"
	"k8s.io/utils/clock"
)

//go:linkname newEvictionStorage k8s.io/kubernetes/pkg/registry/core/pod/storage.newEvictionStorage
func newEvictionStorage(rest.StandardStorage, policyclient.PodDisruptionBudgetsGetter) *storage.EvictionREST

//go:linkname syncBudget k8s.io/kubernetes/pkg/controller/disruption.(*DisruptionController).sync
func syncBudget(*disruption.DisruptionController, context.Context, string) error

type asked struct {
	Pods         []*corev1.Pod                   `json:"pods"`
	Budgets      []*policyv1.PodDisruptionBudget `json:"budgets"`
	ReplicaSets  []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets []*appsv1.StatefulSet           `json:"statefulSets"`
	DaemonSets   []*appsv1.DaemonSet             `json:"daemonSets"`
	Steps        []step                          `json:"steps"`
	// Ask kubectl drain's filters about all pods, instead.
	Drain bool `json:"drain"`
}

type step struct {
	// A pod, as namespace/name.
	Evict  string      `json:"evict"`
	Remove string      `json:"remove"`
	Put    *corev1.Pod `json:"put"`
	Scale  *scaled     `json:"scale"`
	// Have the disruption controller look at every budget.
	Sync bool `json:"sync"`
}

type scaled struct {
	// A ReplicaSet or StatefulSet, as namespace/name.
	Name     string `json:"name"`
	Replicas int32  `json:"replicas"`
}

type answer struct {
	Code    int32  `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// After Sync, by namespace/name.
	Budgets map[string]policyv1.PodDisruptionBudgetStatus `json:"budgets,omitempty"`
}

type filtered struct {
	Force      bool     `json:"force"`
	DaemonSets bool     `json:"ignoreDaemonSets"`
	EmptyDir   bool     `json:"deleteEmptyDirData"`
	Pods       []string `json:"pods"`
	Errors     []string `json:"errors"`
}

func main() {
	klog.SetLogger(klog.Logger{})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<22)
	answers := json.NewEncoder(os.Stdout)
	cluster := newCluster()
	for lines.Scan() {
		var question asked
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			log.Fatal(err)
		}
		var found any
		if question.Drain {
			found = question.filter()
		} else {
			found = cluster.answer(&question)
		}
		if err := answers.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func (a *asked) filter() []filtered {
	objects := make([]runtime.Object, 0, len(a.Pods)+len(a.DaemonSets))
	for _, each := range a.Pods {
		objects = append(objects, each)
	}
	for _, each := range a.DaemonSets {
		objects = append(objects, each)
	}
	client := fake.NewSimpleClientset(objects...)
	var found []filtered
	for number := range 8 {
		one := filtered{Force: number&1 > 0, DaemonSets: number&2 > 0, EmptyDir: number&4 > 0}
		helper := drain.Helper{
			Ctx: context.Background(), Client: client, Out: io.Discard, ErrOut: io.Discard, ChunkSize: 500,
			Force: one.Force, IgnoreAllDaemonSets: one.DaemonSets, DeleteEmptyDirData: one.EmptyDir,
		}
		list, wrong := helper.GetPodsForDeletion("")
		for _, each := range wrong {
			one.Errors = append(one.Errors, each.Error())
		}
		for _, each := range list.Pods() {
			one.Pods = append(one.Pods, each.Namespace+"/"+each.Name)
		}
		found = append(found, one)
	}
	return found
}

// cluster is what evictions and the disruption controller see.
type cluster struct {
	rest.StandardStorage
	pods       map[string]*core.Pod
	budgets    *budgets
	controller *disruption.DisruptionController
	informers  informers.SharedInformerFactory
	version    int
}

func newCluster() *cluster {
	c := &cluster{budgets: &budgets{}}
	client := &client{budgets: c.budgets}
	c.informers = informers.NewSharedInformerFactory(client, 0)
	core, apps := c.informers.Core().V1(), c.informers.Apps().V1()
	c.budgets.store = c.informers.Policy().V1().PodDisruptionBudgets().Informer().GetStore()
	c.controller = disruption.NewDisruptionControllerInternal(
		context.Background(), core.Pods(), c.informers.Policy().V1().PodDisruptionBudgets(),
		core.ReplicationControllers(), apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(),
		client, meta.NewDefaultRESTMapper(nil), nil, noDiscovery{}, clock.RealClock{}, time.Minute,
	)
	return c
}

func (c *cluster) answer(question *asked) []answer {
	c.pods, c.budgets.all = map[string]*core.Pod{}, nil
	c.budgets.all = question.Budgets
	replace(c.budgets.store, question.Budgets)
	replace(c.informers.Apps().V1().ReplicaSets().Informer().GetStore(), question.ReplicaSets)
	replace(c.informers.Apps().V1().StatefulSets().Informer().GetStore(), question.StatefulSets)
	replace[*corev1.Pod](c.store(), nil)
	for _, pod := range question.Pods {
		c.put(pod)
	}
	found := []answer{}
	for _, each := range question.Steps {
		switch {
		case each.Put != nil:
			c.put(each.Put)
		case each.Remove != "":
			namespace, name, _ := cache.SplitMetaNamespaceKey(each.Remove)
			delete(c.pods, each.Remove)
			c.store().Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		case each.Scale != nil:
			c.scale(each.Scale)
		case each.Sync:
			found = append(found, c.synced())
			continue
		default:
			found = append(found, c.evict(each.Evict))
			continue
		}
		found = append(found, answer{})
	}
	return found
}

func (c *cluster) evict(key string) answer {
	namespace, name, _ := cache.SplitMetaNamespaceKey(key)
	evictions := newEvictionStorage(c, c.budgets)
	ctx := request.WithNamespace(context.Background(), namespace)
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object, err := evictions.Create(ctx, name, eviction, nil, &metav1.CreateOptions{})
	if err != nil {
		status := errors.APIStatus(nil)
		if !goerrors.As(err, &status) {
			return answer{Code: 500, Message: err.Error()}
		}
		return answer{Code: status.Status().Code, Message: err.Error()}
	}
	// As the API server answers what is no error: the code of a status that has one.
	status := object.(*metav1.Status)
	if status.Code == 0 {
		status.Code = 201
	}
	return answer{Code: status.Code, Message: status.Message}
}

func (c *cluster) synced() answer {
	found := answer{Budgets: map[string]policyv1.PodDisruptionBudgetStatus{}}
	for _, each := range append([]*policyv1.PodDisruptionBudget{}, c.budgets.all...) {
		key := each.Namespace + "/" + each.Name
		// An error has been written into the status.
		_ = syncBudget(c.controller, context.Background(), key)
		now, err := c.budgets.PodDisruptionBudgets(each.Namespace).Get(context.Background(), each.Name, metav1.GetOptions{})
		if err != nil {
			log.Fatal(err)
		}
		found.Budgets[key] = now.Status
	}
	return found
}

func (c *cluster) scale(wanted *scaled) {
	apps := c.informers.Apps().V1()
	for _, store := range []cache.Store{apps.ReplicaSets().Informer().GetStore(), apps.StatefulSets().Informer().GetStore()} {
		object, _, _ := store.GetByKey(wanted.Name)
		switch known := object.(type) {
		case *appsv1.ReplicaSet:
			known.Spec.Replicas = &wanted.Replicas
		case *appsv1.StatefulSet:
			known.Spec.Replicas = &wanted.Replicas
		}
	}
}

func (c *cluster) store() cache.Store {
	return c.informers.Core().V1().Pods().Informer().GetStore()
}

func (c *cluster) put(pod *corev1.Pod) {
	c.version++
	pod.ResourceVersion = strconv.Itoa(c.version)
	internal := &core.Pod{}
	if err := corev1conversion.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), internal, nil); err != nil {
		log.Fatal(err)
	}
	c.keep(internal)
}

// keep shows a pod to the disruption controller as well.
func (c *cluster) keep(pod *core.Pod) {
	c.pods[pod.Namespace+"/"+pod.Name] = pod
	shown := &corev1.Pod{}
	if err := corev1conversion.Convert_core_Pod_To_v1_Pod(pod.DeepCopy(), shown, nil); err != nil {
		log.Fatal(err)
	}
	c.store().Add(shown)
}

func (c *cluster) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	pod, found := c.pods[request.NamespaceValue(ctx)+"/"+name]
	if !found {
		return nil, errors.NewNotFound(core.Resource("pods"), name)
	}
	return pod.DeepCopy(), nil
}

func (c *cluster) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc,
	_ rest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	old, err := c.Get(ctx, name, nil)
	if err != nil {
		return nil, false, err
	}
	object, err := info.UpdatedObject(ctx, old)
	if err != nil {
		return nil, false, err
	}
	pod := object.(*core.Pod)
	c.version++
	pod.ResourceVersion = strconv.Itoa(c.version)
	c.keep(pod)
	return pod.DeepCopy(), false, nil
}

// Delete begins a graceful deletion, which a kubelet would end.
func (c *cluster) Delete(
	ctx context.Context, name string, _ rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	object, err := c.Get(ctx, name, nil)
	if err != nil {
		return nil, false, err
	}
	pod := object.(*core.Pod)
	if wanted := options.Preconditions; wanted != nil && wanted.ResourceVersion != nil && *wanted.ResourceVersion != pod.ResourceVersion {
		return nil, false, errors.NewConflict(core.Resource("pods"), name, nil)
	}
	if pod.DeletionTimestamp == nil {
		now := metav1.Now()
		pod.DeletionTimestamp = &now
	}
	c.keep(pod)
	return pod, false, nil
}

func replace[T runtime.Object](store cache.Store, objects []T) {
	all := make([]any, 0, len(objects))
	for _, each := range objects {
		all = append(all, each)
	}
	if err := store.Replace(all, ""); err != nil {
		log.Fatal(err)
	}
}

// client is what the disruption controller writes to.
type client struct {
	kubernetes.Interface
	policyclient.PolicyV1Interface
	budgets *budgets
}

func (c *client) PolicyV1() policyclient.PolicyV1Interface { return c }

func (c *client) PodDisruptionBudgets(namespace string) policyclient.PodDisruptionBudgetInterface {
	return c.budgets.PodDisruptionBudgets(namespace)
}

type budgets struct {
	all   []*policyv1.PodDisruptionBudget
	store cache.Store
}

func (b *budgets) PodDisruptionBudgets(namespace string) policyclient.PodDisruptionBudgetInterface {
	return &inNamespace{all: b, namespace: namespace}
}

type inNamespace struct {
	policyclient.PodDisruptionBudgetInterface
	all       *budgets
	namespace string
}

func (n *inNamespace) List(context.Context, metav1.ListOptions) (*policyv1.PodDisruptionBudgetList, error) {
	found := &policyv1.PodDisruptionBudgetList{}
	for _, each := range n.all.all {
		if each.Namespace == n.namespace {
			found.Items = append(found.Items, *each.DeepCopy())
		}
	}
	return found, nil
}

func (n *inNamespace) Get(_ context.Context, name string, _ metav1.GetOptions) (*policyv1.PodDisruptionBudget, error) {
	for _, each := range n.all.all {
		if each.Namespace == n.namespace && each.Name == name {
			return each.DeepCopy(), nil
		}
	}
	return nil, errors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), name)
}

func (n *inNamespace) UpdateStatus(
	_ context.Context, budget *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions,
) (*policyv1.PodDisruptionBudget, error) {
	for number, each := range n.all.all {
		if each.Namespace == n.namespace && each.Name == budget.Name {
			kept := budget.DeepCopy()
			n.all.all[number] = kept
			return kept.DeepCopy(), n.all.store.Update(kept)
		}
	}
	return nil, errors.NewNotFound(policyv1.Resource("poddisruptionbudgets"), budget.Name)
}

// noDiscovery knows no scale subresource.
type noDiscovery struct{ discovery.DiscoveryInterface }
