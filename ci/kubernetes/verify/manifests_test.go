// Package verify proves the files of ci/kubernetes with Kubernetes' own code: the
// manifests go through what the API server does when an object is created, the
// configuration of node-problem-detector through its own monitor, and the
// containers' commands run here, on simulated nodes.
package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const files = ".." // ci/kubernetes

// create takes a manifest as the API server does: a strict decoder, the defaults
// of its version, then the checks that come before an object is stored.
func create(manifest []byte) (runtime.Object, error) {
	codecs := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict)
	object, _, err := codecs.UniversalDecoder().Decode(manifest, nil, nil)
	if err != nil {
		return nil, err
	}
	meta, err := apimeta.Accessor(object)
	if err != nil {
		return nil, err
	}
	rest.FillObjectMetaSystemFields(meta)
	if meta.GetName() == "" && meta.GetGenerateName() != "" {
		meta.SetName(names.SimpleNameGenerator.GenerateName(meta.GetGenerateName()))
	}
	ctx := genericapirequest.WithNamespace(context.Background(), "peerproof")
	switch o := object.(type) {
	case *batch.Job:
		return o, checkJob(o).ToAggregate()
	case *apps.DaemonSet:
		return o, rest.BeforeCreate(daemonset.Strategy, ctx, o)
	case *core.ConfigMap:
		return o, corevalidation.ValidateConfigMap(o).ToAggregate()
	case *core.Namespace:
		return o, corevalidation.ValidateNamespace(o).ToAggregate()
	default:
		return nil, fmt.Errorf("no check for %T", o)
	}
}

// checkJob is what comes before a Job is stored, but for the selector that the
// API server makes of the Job's UID.
func checkJob(j *batch.Job) field.ErrorList {
	all := corevalidation.ValidateObjectMeta(&j.ObjectMeta, true, corevalidation.ValidatePodName, field.NewPath("metadata"))
	return append(all, batchvalidation.ValidateJobTemplateSpec(&batch.JobTemplateSpec{Spec: j.Spec}, field.NewPath(""),
		pod.GetValidationOptionsFromPodTemplate(&j.Spec.Template, nil))...)
}

// createAll takes every document of a file.
func createAll(t *testing.T, name string, text []byte) []runtime.Object {
	t.Helper()
	var objects []runtime.Object
	reader := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	buffer := make([]byte, 1<<20)
	for {
		n, err := reader.Read(buffer)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		object, err := create(buffer[:n])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		objects = append(objects, object)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// theJob is the Job as the API server would store it.
func theJob(t *testing.T) *batch.Job {
	t.Helper()
	objects := createAll(t, "job.yaml", read(t, "job.yaml"))
	if len(objects) != 1 {
		t.Fatalf("%d objects", len(objects))
	}
	return objects[0].(*batch.Job)
}

func TestJobManifest(t *testing.T) {
	j := theJob(t)
	if j.Spec.BackoffLimit == nil || *j.Spec.BackoffLimit != 0 || j.Spec.Template.Spec.RestartPolicy != core.RestartPolicyNever {
		t.Error("a failed acceptance would be tried again")
	}
	if gpus := j.Spec.Template.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]; gpus.Value() != 8 {
		t.Errorf("it asks for %d GPUs", gpus.Value())
	}
	if j.Spec.Template.Spec.TerminationGracePeriodSeconds == nil || *j.Spec.Template.Spec.TerminationGracePeriodSeconds < 60 {
		t.Error("no time to write reports")
	}
}

// What `kubectl apply -k` sends.
func TestKustomization(t *testing.T) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), files)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	var set *apps.DaemonSet
	var scripts *core.ConfigMap
	for _, object := range createAll(t, "kustomization.yaml", text) {
		switch o := object.(type) {
		case *apps.DaemonSet:
			set = o
		case *core.ConfigMap:
			scripts = o
		}
	}
	if set == nil || scripts == nil {
		t.Fatalf("no DaemonSet or no ConfigMap in\n%s", text)
	}
	pod := set.Spec.Template.Spec
	for name := range pod.Containers[0].Resources.Limits {
		if strings.HasPrefix(string(name), "nvidia.com/") {
			t.Errorf("it takes %s from everybody", name)
		}
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name != scripts.Name {
			t.Errorf("it mounts the ConfigMap %s, there is %s", v.ConfigMap.Name, scripts.Name)
		}
	}
	if scripts.Data["gate.sh"] != string(read(t, "gate.sh")) || pod.Containers[0].Command[1] != "/gate/gate.sh" {
		t.Error("it does not run gate.sh")
	}
}

// The check itself turns red: a key that does not exist, a value that the API
// server refuses, a mount without its volume.
func TestBrokenManifests(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key", "backoffLimit:", "backOffLimit:", `unknown field "spec.backOffLimit"`},
		{"restart policy", "restartPolicy: Never", "restartPolicy: Always", "restartPolicy"},
		{"volume", "- name: shm\n", "- name: shared\n", "volumeMounts[1].name: Not found"},
		{"quantity", "memory: 16Gi", "memory: 16 GB", "quantities must match"},
		{"GPU request beyond its limit", `cpu: "8"`, `nvidia.com/gpu: 4, cpu: "8"`, "must be equal to nvidia.com/gpu limit"},
	} {
		text := strings.Replace(string(read(t, "job.yaml")), c.old, c.new, 1)
		if _, err := create([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}
