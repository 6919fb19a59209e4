package intree

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // conversions between v1 and core
	registry "k8s.io/kubernetes/pkg/registry/core/pod"
)

// Create does to a pod's affinity and spread what the API server does when the pod is created: it
// merges label keys into the selectors, and refuses what it would not store.
func Create(ctx context.Context, pod *v1.Pod) error {
	if pod.Spec.Affinity == nil && pod.Spec.TopologySpreadConstraints == nil {
		return nil
	}
	created := new(core.Pod)
	if err := legacyscheme.Scheme.Convert(pod, created, nil); err != nil {
		return err
	}
	registry.Strategy.PrepareForCreate(ctx, created)
	for _, invalid := range registry.Strategy.Validate(ctx, created) {
		// Other fields are left out of the questions, as far as the rules do not look at them.
		if strings.HasPrefix(invalid.Field, "spec.affinity") ||
			strings.HasPrefix(invalid.Field, "spec.topologySpreadConstraints") {
			return fmt.Errorf("pod %s: %w", pod.Name, invalid)
		}
	}
	stored := new(v1.Pod)
	if err := legacyscheme.Scheme.Convert(created, stored, nil); err != nil {
		return err
	}
	pod.Spec.Affinity = stored.Spec.Affinity
	pod.Spec.TopologySpreadConstraints = stored.Spec.TopologySpreadConstraints
	return nil
}
