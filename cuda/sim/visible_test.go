package sim

import (
	"os"
	"testing"

	"github.com/peerproof/peerproof/cuda"
)

func TestVisibleDevices(t *testing.T) {
	f := parse(t, node(gpus(4, "NVIDIA L40S")))
	uuid := func(i int) string { return newUUID(f.Name, i).String() }
	cases := []struct {
		name, env string
		visible   []string
		want      []int
	}{
		{"all", "", nil, []int{0, 1, 2, 3}},
		{"numbers, in their order", "2,0", nil, []int{2, 0}},
		{"up to the first that is none", "1,7,2", nil, []int{1}},
		{"one named twice ends the list", "1,1,2", nil, []int{1}},
		{"none", "-1", nil, nil},
		{"UUIDs", uuid(3) + "," + uuid(1), nil, []int{3, 1}},
		{"the beginning of a UUID", uuid(2)[:12], nil, []int{2}},
		{"the supervisor's list in place of the caller's", "0,1", []string{uuid(1)}, []int{1}},
		{"an empty list of the supervisor's", "", []string{}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := node(gpus(4, "NVIDIA L40S"), `environment: {visible-devices: "`+c.env+`"}`)
			b := parse(t, text).Open(History{Visible: c.visible})
			if got := b.Host.Getenv("CUDA_VISIBLE_DEVICES"); got != c.env {
				t.Errorf("the caller's variable is %q, want %q", got, c.env)
			}
			api, err := b.OpenCUDA()
			if err != nil {
				t.Fatal(err)
			}
			r := &rig{TB: t, api: api}
			if c.want == nil {
				r.want(api.Init(0), cuda.ErrNoDevice)
				return
			}
			r.ok(api.Init(0))
			var n int32
			r.ok(api.DeviceGetCount(&n))
			var got []int
			for i := range n {
				var id [16]byte
				r.ok(api.DeviceGetUUID(&id, i))
				for g := range 4 {
					if newUUID(f.Name, g) == uuidOf(id) {
						got = append(got, g)
					}
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("devices %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Fatalf("devices %v, want %v", got, c.want)
				}
			}
		})
	}
}

func uuidOf(id [16]byte) uuid { return id }

// TestMain runs one crash in a process of its own when it is told to.
func TestMain(m *testing.M) {
	if os.Getenv("SIM_CRASH") != "" {
		crashHere()
	}
	os.Exit(m.Run())
}
