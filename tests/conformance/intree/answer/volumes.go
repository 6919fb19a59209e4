//go:build kubernetes_1_37 || kubernetes_1_38

package main

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// volumes are what the plugins about volumes look at.
type volumes struct {
	PersistentVolumes      []*v1.PersistentVolume        `json:"persistentVolumes"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim   `json:"persistentVolumeClaims"`
	StorageClasses         []*storage.StorageClass       `json:"storageClasses"`
	CSINodes               []*storage.CSINode            `json:"csiNodes"`
	CSIDrivers             []*storage.CSIDriver          `json:"csiDrivers"`
	CSIStorageCapacities   []*storage.CSIStorageCapacity `json:"csiStorageCapacities"`
	VolumeAttachments      []*storage.VolumeAttachment   `json:"volumeAttachments"`
}

// tell puts them where the plugins look them up.
func (v volumes) tell(factory informers.SharedInformerFactory) error {
	core, stored := factory.Core().V1(), factory.Storage().V1()
	return errors.Join(
		add(core.PersistentVolumes().Informer(), v.PersistentVolumes),
		add(core.PersistentVolumeClaims().Informer(), v.PersistentVolumeClaims),
		add(stored.StorageClasses().Informer(), v.StorageClasses),
		add(stored.CSINodes().Informer(), v.CSINodes),
		add(stored.CSIDrivers().Informer(), v.CSIDrivers),
		add(stored.CSIStorageCapacities().Informer(), v.CSIStorageCapacities),
		add(stored.VolumeAttachments().Informer(), v.VolumeAttachments),
	)
}

func add[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, each := range objects {
		if err := informer.GetIndexer().Add(each); err != nil {
			return err
		}
	}
	return nil
}
