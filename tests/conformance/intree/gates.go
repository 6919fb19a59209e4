package intree

import utilfeature "k8s.io/apiserver/pkg/util/feature"

// SetGates switches feature gates of the whole process, as in "A=true,B=false".
//
// A snapshot and its plugins look at them when they are made, not when they are asked. So a cluster
// keeps what was set when it was loaded, and clusters with different gates can stand side by side.
func SetGates(gates string) error {
	return utilfeature.DefaultMutableFeatureGate.Set(gates)
}
