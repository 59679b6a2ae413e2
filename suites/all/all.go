// Package all brings every suite into a binary: one line an area.
package all

import (
	_ "github.com/peerproof/peerproof/suites/access"
	_ "github.com/peerproof/peerproof/suites/bandwidth"
	_ "github.com/peerproof/peerproof/suites/collective"
	_ "github.com/peerproof/peerproof/suites/dereference"
	_ "github.com/peerproof/peerproof/suites/fabric"
	_ "github.com/peerproof/peerproof/suites/health"
	_ "github.com/peerproof/peerproof/suites/inventory"
	_ "github.com/peerproof/peerproof/suites/latency"
	_ "github.com/peerproof/peerproof/suites/link"
	_ "github.com/peerproof/peerproof/suites/memory"
	_ "github.com/peerproof/peerproof/suites/ordering"
	_ "github.com/peerproof/peerproof/suites/transfer"
)
