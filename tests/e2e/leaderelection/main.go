// Answers, a line for each case, what client-go's elector does with a Lease, step by step.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"reflect"
	"time"
	"unsafe"

	coordination "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

//go:linkname tryAcquireOrRenew k8s.io/client-go/tools/leaderelection.(*LeaderElector).tryAcquireOrRenew
func tryAcquireOrRenew(*leaderelection.LeaderElector, context.Context) bool

//go:linkname release k8s.io/client-go/tools/leaderelection.(*LeaderElector).release
func release(*leaderelection.LeaderElector, klog.Logger) bool

type record struct {
	Holder      *string `json:"holder"`
	Duration    *int32  `json:"duration"`
	Acquired    *int64  `json:"acquired"`
	Renewed     *int64  `json:"renewed"`
	Transitions *int32  `json:"transitions"`
}

type step struct {
	At     int64   `json:"at"`
	Act    string  `json:"act"`
	Record *record `json:"record"`
	// What goes wrong with all reads or writes of the step, and what others do before the first write.
	Reads  string `json:"reads"`
	Writes string `json:"writes"`
	Before *step  `json:"before"`
}

type asked struct {
	Steps []step `json:"steps"`
	// Asked for the deadline alone: the seconds of a retry, of which the others are 5 and 7.5 times as much.
	Retry float64 `json:"retry"`
}

type shown struct {
	Held  bool    `json:"held"`
	Wrote bool    `json:"wrote"`
	Lease *record `json:"lease"`
}

// server keeps one Lease, as the API server does.
type server struct {
	typed.LeaseInterface
	lease   *coordination.Lease
	version int
	step    step
	// When a write was carried out last; the only one, where there is but once.
	written time.Time
	once    bool
	wrote   bool
}

var resource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *server) Leases(string) typed.LeaseInterface { return s }

func (s *server) Get(context.Context, string, meta.GetOptions) (*coordination.Lease, error) {
	if s.step.Reads != "" {
		return nil, errors.New("away")
	}
	if s.lease == nil {
		return nil, apierrors.NewNotFound(resource, "it")
	}
	return s.lease.DeepCopy(), nil
}

func (s *server) Create(_ context.Context, lease *coordination.Lease, _ meta.CreateOptions) (*coordination.Lease, error) {
	return s.write(lease, func() error {
		if s.lease != nil {
			return apierrors.NewAlreadyExists(resource, "it")
		}
		return nil
	})
}

func (s *server) Update(_ context.Context, lease *coordination.Lease, _ meta.UpdateOptions) (*coordination.Lease, error) {
	return s.write(lease, func() error {
		if s.lease == nil {
			return apierrors.NewNotFound(resource, "it")
		}
		if s.lease.ResourceVersion != lease.ResourceVersion {
			return apierrors.NewConflict(resource, "it", errors.New("it has changed"))
		}
		return nil
	})
}

func (s *server) write(lease *coordination.Lease, refused func() error) (*coordination.Lease, error) {
	s.wrote = true
	if before := s.step.Before; before != nil {
		s.step.Before = nil
		s.change(*before)
	}
	if s.step.Writes == "fail" || (s.once && !s.written.IsZero()) {
		return nil, errors.New("away")
	}
	if err := refused(); err != nil {
		return nil, err
	}
	s.keep(lease.DeepCopy())
	s.written = time.Now()
	if s.step.Writes == "lost" {
		return nil, errors.New("no answer")
	}
	return s.lease.DeepCopy(), nil
}

func (s *server) keep(lease *coordination.Lease) {
	s.version++
	lease.ResourceVersion = time.Unix(int64(s.version), 0).UTC().Format(time.RFC3339)
	s.lease = lease
}

// change does what others do.
func (s *server) change(step step) {
	switch step.Act {
	case "delete":
		s.lease = nil
	case "note":
		if s.lease != nil {
			s.keep(s.lease.DeepCopy())
		}
	case "set":
		r := step.Record
		s.keep(&coordination.Lease{Spec: coordination.LeaseSpec{
			HolderIdentity:       r.Holder,
			LeaseDurationSeconds: r.Duration,
			AcquireTime:          micro(r.Acquired),
			RenewTime:            micro(r.Renewed),
			LeaseTransitions:     r.Transitions,
		}})
	}
}

func micro(seconds *int64) *meta.MicroTime {
	if seconds == nil {
		return nil
	}
	return &meta.MicroTime{Time: time.Unix(*seconds, 0)}
}

func seconds(at *meta.MicroTime) *int64 {
	if at.IsZero() {
		return nil
	}
	found := at.Unix()
	return &found
}

func (s *server) shown(held bool) shown {
	if s.lease == nil {
		return shown{held, s.wrote, nil}
	}
	spec := s.lease.Spec
	return shown{held, s.wrote, &record{
		spec.HolderIdentity, spec.LeaseDurationSeconds, seconds(spec.AcquireTime), seconds(spec.RenewTime), spec.LeaseTransitions,
	}}
}

func (s *server) elector(retry time.Duration, stopped func()) *leaderelection.LeaderElector {
	made, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  meta.ObjectMeta{Namespace: "here", Name: "it"},
			Client:     s,
			LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
		},
		LeaseDuration: retry * 15 / 2,
		RenewDeadline: retry * 5,
		RetryPeriod:   retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: stopped,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func (a *asked) shown() []shown {
	s := &server{}
	elector := s.elector(2*time.Second, func() {})
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	field := reflect.ValueOf(elector).Elem().FieldByName("clock")
	*(*clock.Clock)(unsafe.Pointer(field.UnsafeAddr())) = now
	found := []shown{}
	for _, step := range a.Steps {
		now.SetTime(time.Unix(step.At, 0))
		s.step, s.wrote = step, false
		held := false
		switch step.Act {
		case "try":
			held = tryAcquireOrRenew(elector, context.Background())
		case "release":
			release(elector, klog.Background())
		default:
			s.change(step)
		}
		found = append(found, s.shown(held))
	}
	return found
}

// deadline returns for how many retries a leader leads whose renewals fail, after the last that did not.
func (a *asked) deadline() float64 {
	s, stopped := &server{}, make(chan time.Time, 1)
	retry := time.Duration(a.Retry * float64(time.Second))
	s.once = true
	s.elector(retry, func() { stopped <- time.Now() }).Run(context.Background())
	return (<-stopped).Sub(s.written).Seconds() / a.Retry
}

func main() {
	klog.SetLogger(klog.Logger{})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var question asked
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			log.Fatal(err)
		}
		var found any
		if question.Retry > 0 {
			found = question.deadline()
		} else {
			found = question.shown()
		}
		if err := answers.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
