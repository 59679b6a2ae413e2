package sim

import "testing"

// TestSharedPorts shows that what goes into, or out of, one GPU at once shares
// its links.
func TestSharedPorts(t *testing.T) {
	pcie := node(gpus(4, "NVIDIA L40S"))
	for _, c := range []struct {
		name, text string
		scale      float64 // of the PCIe that flows counts in
		flows      []flow
		want       []float64
	}{
		{"into one", pcie, 1, []flow{{0, 3, 4}, {1, 3, 4}, {2, 3, 4}}, []float64{12, 12, 12}},
		{"out of one", pcie, 1, []flow{{3, 0, 4}, {3, 1, 4}}, []float64{8, 8}},
		{"one ends before", pcie, 1, []flow{{0, 3, 2}, {1, 3, 4}}, []float64{4, 6}},
		{"in and out", pcie, 1, []flow{{0, 3, 4}, {3, 1, 4}}, []float64{4, 4}},
		{"apart", pcie, 1, []flow{{0, 1, 4}, {2, 3, 4}}, []float64{4, 4}},
		{"twice the same way", pcie, 1, []flow{{0, 1, 4}, {0, 1, 4}}, []float64{8, 8}},
		{"a slow one leaves more", pcie + "faults: [{kind: slow, pair: [0, 3], factor: 0.25}]\n", 1, []flow{{0, 3, 4}, {1, 3, 12}}, []float64{19, 15}},
		{
			"into one over switches", node(gpus(4, "NVIDIA H200"), "nvlink: {switch: {}}"), 450 * 0.88 / (31.5 * 0.86),
			[]flow{{0, 3, 4}, {1, 3, 4}, {2, 3, 4}},
			[]float64{12, 12, 12},
		},
		{
			"into one over NVLinks of its own", node(gpus(4, "NVIDIA H100 NVL"), "nvlink: {pairs: [{gpus: [0, 3], links: 6}, {gpus: [1, 3], links: 6}]}"),
			150 * 0.88 / (31.5 * 0.86),
			[]flow{{0, 3, 4}, {1, 3, 4}},
			[]float64{4, 4},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, c.text)
			l.enableAll()
			for i, got := range l.flows(c.flows) {
				if got *= c.scale; !within(got, c.want[i], 0.001) {
					t.Errorf("flow %v took %.3f copies, want %.3f", c.flows[i], got, c.want[i])
				}
			}
		})
	}
}
