//go:build kubernetes_1_37 || kubernetes_1_38

package main

import (
	"errors"

	apps "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
)

// spreading tells whom default topology spread constraints count.
type spreading struct {
	Services               []*v1.Service               `json:"services"`
	ReplicationControllers []*v1.ReplicationController `json:"replicationControllers"`
	ReplicaSets            []*apps.ReplicaSet          `json:"replicaSets"`
	StatefulSets           []*apps.StatefulSet         `json:"statefulSets"`
}

func (s spreading) tell(factory informers.SharedInformerFactory) error {
	return errors.Join(
		add(factory.Core().V1().Services().Informer(), s.Services),
		add(factory.Core().V1().ReplicationControllers().Informer(), s.ReplicationControllers),
		add(factory.Apps().V1().ReplicaSets().Informer(), s.ReplicaSets),
		add(factory.Apps().V1().StatefulSets().Informer(), s.StatefulSets),
	)
}

// tell puts all of it where the plugins look it up; their indexes are there by then.
func (s stored) tell(factory informers.SharedInformerFactory) error {
	return errors.Join(s.Volumes.tell(factory), s.Spreading.tell(factory))
}
