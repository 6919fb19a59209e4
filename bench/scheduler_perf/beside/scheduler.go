package beside

import (
	"os"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"sigs.k8s.io/yaml"
)

// Configured returns the options of a test's scheduler, changed as EXTENDER_CONFIG says.
//
// Profiles of the test's own stay, without the plugins that the file switches off.
func Configured(tb TB, config *rest.Config, given []scheduler.Option) []scheduler.Option {
	path := os.Getenv("EXTENDER_CONFIG")
	if path == "" {
		return given
	}
	url, ok := urls.Load(config.Host)
	if !ok {
		tb.Fatalf("no extender was started on %s", config.Host)
	}
	file, err := options.LoadConfigFromFile(klog.Background(), path)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range file.Extenders {
		file.Extenders[i].URLPrefix = url.(string)
	}
	profiles := file.Profiles
	if own := field[[]schedulerapi.KubeSchedulerProfile](given, "profiles"); len(own) > 0 {
		profiles = make([]schedulerapi.KubeSchedulerProfile, len(own))
		for i := range own {
			profiles[i] = without(*own[i].DeepCopy(), disabled(tb, path))
		}
	}
	extenders := append(field[[]schedulerapi.Extender](given, "extenders"), file.Extenders...)
	return append(given, scheduler.WithProfiles(profiles...), scheduler.WithExtenders(extenders...))
}

// field returns what options would set; the scheduler keeps the type that holds it to itself.
func field[T any](given []scheduler.Option, name string) T {
	set := reflect.New(reflect.TypeFor[scheduler.Option]().In(0).Elem())
	for _, option := range given {
		reflect.ValueOf(option).Call([]reflect.Value{set})
	}
	return *(*T)(unsafe.Pointer(set.Elem().FieldByName(name).UnsafeAddr()))
}

// disabled returns what the file switches off, before defaults: plugins by extension point.
func disabled(tb TB, path string) map[string][]string {
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	var file configv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		tb.Fatal(err)
	}
	found := map[string][]string{}
	points := reflect.ValueOf(*file.Profiles[0].Plugins)
	for i := range points.NumField() {
		for _, plugin := range points.Field(i).Interface().(configv1.PluginSet).Disabled {
			point := points.Type().Field(i).Name
			found[point] = append(found[point], plugin.Name)
		}
	}
	return found
}

func without(
	profile schedulerapi.KubeSchedulerProfile, disabled map[string][]string,
) schedulerapi.KubeSchedulerProfile {
	points := reflect.ValueOf(profile.Plugins).Elem()
	for i := range points.NumField() {
		set := points.Field(i).Addr().Interface().(*schedulerapi.PluginSet)
		here := disabled[points.Type().Field(i).Name]
		off := slices.Concat(here, disabled["MultiPoint"])
		set.Enabled = slices.DeleteFunc(set.Enabled, func(plugin schedulerapi.Plugin) bool {
			return slices.Contains(off, plugin.Name)
		})
		for _, name := range here {
			set.Disabled = append(set.Disabled, schedulerapi.Plugin{Name: name})
		}
	}
	return profile
}
