// Package beside runs an extender beside upstream's own scheduler tests and benchmarks.
//
// It is configured by the environment, so that the code around it stays upstream's:
//
//	EXTENDER_COMMAND  what to run, with {kubeconfig}, {port} and {ops-port} in their places;
//	                  without it nothing is changed
//	EXTENDER_READY    the URL that answers 200 when it is ready, with the same places
//	EXTENDER_LOG      the file that its output is added to
//	EXTENDER_CONFIG   the KubeSchedulerConfiguration that schedulers are given
package beside

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	patience = 60 * time.Second // for two cores that compile something beside
	grace    = 15 * time.Second
)

// TB is what is needed of a test; upstream's has less than testing.TB.
type TB interface {
	Cleanup(func())
	TempDir() string
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

var urls sync.Map // by API server

// Start runs the extender on an API server until the test ends.
func Start(tb TB, config *rest.Config) {
	command := os.Getenv("EXTENDER_COMMAND")
	if command == "" {
		return
	}
	port, opsPort := freePort(tb), freePort(tb)
	places := strings.NewReplacer(
		"{kubeconfig}", kubeconfig(tb, config), "{port}", port, "{ops-port}", opsPort)
	words := strings.Fields(command)
	for i := range words {
		words[i] = places.Replace(words[i])
	}
	process := exec.Command(words[0], words[1:]...)
	log, err := os.OpenFile(os.Getenv("EXTENDER_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Fatalf("the extender's log: %v", err)
	}
	defer log.Close()
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		tb.Fatalf("the extender: %v", err)
	}
	tb.Cleanup(func() { end(tb, process) })
	waitReady(tb, places.Replace(os.Getenv("EXTENDER_READY")))
	urls.Store(config.Host, "http://127.0.0.1:"+port)
}

func freePort(tb TB) string {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer probe.Close()
	return strconv.Itoa(probe.Addr().(*net.TCPAddr).Port)
}

func kubeconfig(tb TB, config *rest.Config) string {
	const name = "test"
	file := clientcmdapi.NewConfig()
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
		TLSServerName:            config.ServerName,
	}
	if !strings.Contains(config.Host, "://") {
		file.Clusters[name].Server = "https://" + config.Host
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.CurrentContext = name
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		tb.Fatal(err)
	}
	return path
}

func waitReady(tb TB, url string) {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	said := error(nil)
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		answer, err := client.Get(url)
		if said = err; err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
			said = fmt.Errorf("%s", answer.Status)
		}
	}
	tb.Fatalf("the extender is not ready at %s: %v", url, said)
}

func end(tb TB, process *exec.Cmd) {
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	_ = process.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(grace):
		_ = process.Process.Kill()
		<-ended
		tb.Errorf("the extender did not end within %v", grace)
	}
}
