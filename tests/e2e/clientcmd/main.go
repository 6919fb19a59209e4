// Answers, a line for each case, what client-go makes of kubeconfig files, flags and an environment.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"
	"sort"

	"golang.org/x/net/http/httpproxy"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/pkg/apis/clientauthentication"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
)

type asked struct {
	Kubeconfig  string            `json:"kubeconfig"`
	Context     string            `json:"context"`
	As          string            `json:"as"`
	AsGroups    []string          `json:"asGroups"`
	Environment map[string]string `json:"environment"`
	// Asked for a proxy alone, where it is set.
	URL string `json:"url"`
}

type answer struct {
	Error     string                        `json:"error,omitempty"`
	Host      string                        `json:"host"`
	Namespace string                        `json:"namespace"`
	Headers   []string                      `json:"headers"`
	CA        []byte                        `json:"ca"`
	Cert      []byte                        `json:"cert"`
	Key       []byte                        `json:"key"`
	Insecure  bool                          `json:"insecure"`
	Server    string                        `json:"serverName"`
	Proxy     string                        `json:"proxy"`
	Exec      *api.ExecConfig               `json:"exec,omitempty"`
	Cluster   *clientauthentication.Cluster `json:"cluster,omitempty"`
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
		os.Clearenv()
		for name, value := range question.Environment {
			os.Setenv(name, value)
		}
		found, err := question.answer()
		if err != nil {
			found = &answer{Error: err.Error()}
		}
		if err := answers.Encode(found); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func (a *asked) answer() (*answer, error) {
	if a.URL != "" {
		proxy, err := proxyFor(nil, a.URL)
		return &answer{Proxy: proxy}, err
	}
	// As kubectl does it (k8s.io/cli-runtime/pkg/genericclioptions).
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	rules.ExplicitPath = a.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults, CurrentContext: a.Context}
	overrides.AuthInfo.Impersonate = a.As
	overrides.AuthInfo.ImpersonateGroups = a.AsGroups
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loading.ClientConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := loading.Namespace()
	if err != nil {
		return nil, err
	}
	if _, err := rest.TransportFor(config); err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	found := &answer{Host: host.String(), Namespace: namespace, Insecure: config.Insecure, Server: config.ServerName}
	if found.Proxy, err = proxyFor(config.Proxy, host.String()); err != nil {
		return nil, err
	}
	return found, found.identify(config)
}

// identify sets what a request carries; a plugin is told, not run.
func (f *answer) identify(config *rest.Config) error {
	wrapped, err := config.TransportConfig()
	if err != nil {
		return err
	}
	if wrapped.TLS.GetCertHolder != nil {
		f.Exec = config.ExecProvider
		if f.Exec.ProvideClusterInfo {
			if f.Cluster, err = rest.ConfigToExecCluster(config); err != nil {
				return err
			}
		}
		wrapped.WrapTransport = nil
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	f.CA, f.Cert, f.Key = config.CAData, config.CertData, config.KeyData
	trip, err := transport.HTTPWrappersForConfig(wrapped, sent(f.record))
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodGet, f.Host, nil)
	if err != nil {
		return err
	}
	_, err = trip.RoundTrip(request)
	return err
}

type sent func(*http.Request)

func (s sent) RoundTrip(request *http.Request) (*http.Response, error) {
	s(request)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: request}, nil
}

func (f *answer) record(request *http.Request) {
	for name, values := range request.Header {
		for _, value := range values {
			f.Headers = append(f.Headers, name+": "+value)
		}
	}
	sort.Strings(f.Headers)
}

// proxyFor does what http.ProxyFromEnvironment does, which reads the environment only once.
func proxyFor(named func(*http.Request) (*url.URL, error), target string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, target, nil)
	if err != nil {
		return "", err
	}
	if named == nil {
		environment := httpproxy.FromEnvironment().ProxyFunc()
		named = utilnet.NewProxierWithNoProxyCIDR(func(r *http.Request) (*url.URL, error) { return environment(r.URL) })
	}
	proxy, err := named(request)
	if err != nil || proxy == nil {
		return "", err
	}
	return proxy.String(), nil
}
