package health

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

// answerBound is how long NVML may take for one answer: a thousand times what
// it takes on a healthy machine.
const answerBound = 2 * time.Second

var _ = fixtures.Specify("health/nvml-responsive", fixtures.GPUs, Label("gate"),
	"NVML answers in time", func(g *fixtures.GPU) {
		switch {
		case g.Hung != "":
			fixtures.FailWithHint("driver-call-hang", hangHint, "%s did not answer %s when the node was discovered", g, g.Hung)
		case !g.Node().Driver.NVMLInit.OK():
			fixtures.Error("blocked-by", "blocked by inventory/driver-match: %s", g.Node().Driver.NVMLInit)
		case g.NVMLIndex < 0:
			fixtures.Error("blocked-by", "blocked by inventory/gpu-count: NVML does not list %s", g)
		}
		By("asking NVML about " + g.String())
		replies := g.Replies()
		slowest, message := judgeReplies(replies, answerBound)
		g.Record("slowest answer of NVML", float64(slowest.Microseconds())/1000, "ms")
		if message != "" {
			fixtures.FailWithHint("driver-call-hang", hangHint, "%s: %s", g, message)
		}
	}, fixtures.Needs(), fixtures.HangMeans("driver-call-hang"), fixtures.Within(10*time.Second))

const hangHint = "a call into the driver does not come back: see the kernel log for Xid 119 or 120 and for hung tasks; the driver must be reloaded, or the server rebooted"

// judgeReplies finds the slowest answer, and says which were too slow.
func judgeReplies(all []fixtures.Reply, bound time.Duration) (slowest time.Duration, message string) {
	for _, r := range all {
		slowest = max(slowest, r.Took)
		if r.Took > bound && message == "" {
			message = fmt.Sprintf("%s took %s, %s are allowed", r.Function, r.Took.Round(time.Millisecond), bound)
		}
	}
	return slowest, message
}
