// Answers, a line for each case, whether a kubelet would admit a pod to its node: by the kubelet's own handler.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type asked struct {
	Pod  *v1.Pod  `json:"pod"`
	Node *v1.Node `json:"node"`
}

type answer struct {
	Admit  bool   `json:"admit"`
	Reason string `json:"reason"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var question asked
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(admit(question)); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func admit(question asked) answer {
	node := func(context.Context, bool) (*v1.Node, error) { return question.Node, nil }
	resources := func(*framework.NodeInfo, *lifecycle.PodAdmitAttributes) error { return nil }
	handler := lifecycle.NewPredicateAdmitHandler(node, lifecycle.NewAdmissionFailureHandlerStub(), resources)
	attributes := &lifecycle.PodAdmitAttributes{Pod: question.Pod, Operation: lifecycle.AddOperation}
	result := handler.Admit(context.Background(), attributes)
	return answer{Admit: result.Admit, Reason: result.Reason}
}
