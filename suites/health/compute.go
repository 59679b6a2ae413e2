package health

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("health/compute", fixtures.GPUs, Label("data"),
	"products are right under sustained load", func(g *fixtures.GPU) {
		By("multiplying on " + g.String() + " and checking every result")
		products := g.Load().Products
		for _, p := range products {
			g.Record(p.Kind+" under load", p.TFLOPS(), "TFLOPS")
		}
		if unchecked := withoutResults(products); unchecked != "" {
			fixtures.Error("cuda-error", "%s: no result of %s was checked", g, unchecked)
		}
		if message := judgeProducts(products); message != "" {
			fixtures.FailWithHint("wrong-result", wrongResultHint, "%s: %s", g, message)
		}
	})

const wrongResultHint = "the GPU computes wrong without noticing it: take it out of use, reset it and run again; if it stays, replace the GPU"

// judgeProducts says how many results were wrong.
func judgeProducts(all []fixtures.Product) string {
	var wrong []string
	for _, p := range all {
		if p.Wrong > 0 {
			wrong = append(wrong, fmt.Sprintf("%d of %d results of %s are wrong", p.Wrong, p.Checked, p.Kind))
		}
	}
	return strings.Join(wrong, ", ")
}

// withoutResults names the arithmetic of which nothing was checked.
func withoutResults(all []fixtures.Product) string {
	var none []string
	for _, p := range all {
		if p.Checked == 0 {
			none = append(none, p.Kind)
		}
	}
	return strings.Join(none, ", ")
}
