//go:build kubernetes_1_37 || kubernetes_1_38

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"intree"
)

const interPodAffinity = interpodaffinity.Name

// scheduler is as much of one as chooses nodes and victims.
type scheduler struct {
	framework  framework.Framework
	preemption *defaultpreemption.DefaultPreemption
	snapshot   *cache.Snapshot
	nodes      []fwk.NodeInfo
	budgets    []*policy.PodDisruptionBudget
}

func newScheduler(
	ctx context.Context, objects intree.Objects, stored stored, budgets []*policy.PodDisruptionBudget,
	profile *config.KubeSchedulerProfile,
) (*scheduler, error) {
	metrics.Register()
	factory, err := objects.Informers()
	if err != nil {
		return nil, err
	}
	found := &scheduler{
		snapshot: cache.NewSnapshot(objects.Placed(), objects.Nodes),
		// In the order in which they were given: a lister has none.
		budgets: budgets,
	}
	nominator, err := intree.NewNominator(objects.Pods)
	if err != nil {
		return nil, err
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	options := append(preempting(gates),
		frameworkruntime.WithSnapshotSharedLister(found.snapshot),
		frameworkruntime.WithMutableSnapshotLister(found.snapshot),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodNominator(nominator),
		frameworkruntime.WithParallelism(parallelize.DefaultParallelism),
	)
	found.framework, err = frameworkruntime.NewFramework(ctx, found.registry(gates), profile, options...)
	if err != nil {
		return nil, err
	}
	if err := stored.tell(factory); err != nil {
		return nil, err
	}
	found.nodes, err = found.snapshot.NodeInfos().List()
	return found, err
}

func (s *scheduler) registry(gates feature.Features) frameworkruntime.Registry {
	registry := plugins.NewInTreeRegistry()
	registry[defaultpreemption.Name] = func(
		ctx context.Context, args runtime.Object, handle fwk.Handle,
	) (fwk.Plugin, error) {
		var err error
		s.preemption, err = defaultpreemption.New(ctx, args, handle, gates)
		return s.preemption, err
	}
	return registry
}

// profiles are those of a configuration, by name, without devices; their preemption looks at all
// nodes. Without a configuration, there is the default one.
func profiles(raw json.RawMessage) (map[string]*config.KubeSchedulerProfile, error) {
	file, err := latest.Default()
	if err == nil && len(raw) > 0 {
		var decoded runtime.Object
		decoded, _, err = scheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
		if err == nil {
			file = decoded.(*config.KubeSchedulerConfiguration)
			// Of all else that a scheduler has in its file, nothing is in a case.
			err = errors.Flatten(validateProfiles(file))
		}
	}
	if err != nil {
		return nil, err
	}
	found := make(map[string]*config.KubeSchedulerProfile)
	for i := range file.Profiles {
		profile := &file.Profiles[i]
		profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(
			profile.Plugins.MultiPoint.Enabled,
			func(plugin config.Plugin) bool { return plugin.Name == dynamicresources.Name },
		)
		profile.PluginConfig = slices.DeleteFunc(
			profile.PluginConfig,
			func(each config.PluginConfig) bool { return each.Name == dynamicresources.Name },
		)
		for _, each := range profile.PluginConfig {
			if args, ok := each.Args.(*config.DefaultPreemptionArgs); ok {
				args.MinCandidateNodesPercentage = 100
			}
		}
		found[profile.SchedulerName] = profile
	}
	return found, nil
}

func validateProfiles(file *config.KubeSchedulerConfiguration) errors.Aggregate {
	file.LeaderElection.LeaderElect = false
	return validation.ValidateKubeSchedulerConfiguration(file)
}

// verdicts are those of all filter plugins together, about one pod.
type verdicts struct {
	// Refused has the nodes that do not fit.
	Refused map[string]verdict `json:"refused"`
	// NominatedIgnored is whether rules of nominated pods were left out of account.
	NominatedIgnored bool `json:"nominatedIgnored,omitempty"`
}

// verdict is why a node is refused, as the event FailedScheduling would count it.
type verdict struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons"`
}

// judge filters all nodes for each pod, none of which is ever placed, by the profile that it names.
func judge(
	ctx context.Context, objects intree.Objects, stored stored, pods []*v1.Pod,
) ([]verdicts, error) {
	profiles, err := profiles(stored.Scheduler)
	if err != nil {
		return nil, err
	}
	schedulers := make(map[string]*scheduler)
	for name, profile := range profiles {
		if schedulers[name], err = newScheduler(ctx, objects, stored, nil, profile); err != nil {
			return nil, err
		}
	}
	found := make([]verdicts, len(pods))
	for i, pod := range pods {
		// A pod in a file need not name it.
		scheduler, ok := schedulers[cmp.Or(pod.Spec.SchedulerName, v1.DefaultSchedulerName)]
		if !ok {
			return nil, fmt.Errorf("no profile %q", pod.Spec.SchedulerName)
		}
		if found[i], err = scheduler.judge(ctx, pod); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// judge filters all nodes for a pod as Scheduler.findNodesThatFitPod does.
func (s *scheduler) judge(ctx context.Context, pod *v1.Pod) (verdicts, error) {
	state := framework.NewCycleState()
	found := verdicts{Refused: make(map[string]verdict)}
	allowed, status, narrowing := s.framework.RunPreFilterPlugins(ctx, state, pod)
	found.NominatedIgnored = state.GetSkipFilterPlugins().Has(interPodAffinity)
	for _, node := range s.nodes {
		name, said := node.Node().Name, status
		if status.IsSuccess() {
			if !allowed.AllNodes() && !allowed.NodeNames.Has(name) {
				found.Refused[name] = leftOut(narrowing.UnsortedList())
				continue
			}
			said = s.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		}
		switch {
		case said.IsRejected():
			found.Refused[name] = verdict{said.Plugin(), said.Code().String(), said.Reasons()}
		case !said.IsSuccess():
			return found, said.AsError()
		}
	}
	return found, nil
}

// leftOut is the verdict on nodes that PreFilter left out.
func leftOut(plugins []string) verdict {
	slices.Sort(plugins)
	why := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", plugins)
	return verdict{strings.Join(plugins, ","), fwk.UnschedulableAndUnresolvable.String(), []string{why}}
}
