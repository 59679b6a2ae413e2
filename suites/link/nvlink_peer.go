package link

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/nvlink-peer", fixtures.Pairs, Label("gate"),
	"both ends name the same NVLinks between them, and they are those of the profile", func(p *fixtures.Pair) {
		const remote = "nvmlDeviceGetNvLinkRemotePciInfo_v2"
		p.From.Known("nvmlDeviceGetNvLinkState", remote)
		p.To.Known("nvmlDeviceGetNvLinkState", remote)
		expected, said := p.ExpectedNVLinks()
		switch {
		case p.Node().Switched():
			fixtures.Skip("switched", "the NVLinks of this node end at switches: see link/nvlink-remote")
		case !p.From.NVLinkSupported && !p.To.NVLinkSupported:
			fixtures.Skip("no-nvlink", "neither %s nor %s has NVLink", p.From, p.To)
		}
		there, back := ends(p.From.Facts(), p.To.Facts()), ends(p.To.Facts(), p.From.Facts())
		if there.naming == 0 && back.naming == 0 && !said {
			fixtures.Skip("no-nvlink", "no NVLink of %s or %s names the other", p.From, p.To)
		}
		p.Record("NVLinks between the two", float64(max(there.naming, back.naming)), "links")
		if message := judgePeer(there, back, expected, said); message != "" {
			fixtures.FailWithHint("wrong-peer", "a bridge or cable sits on other ports than it should, or one of the two boards in another slot: compare each link's far end (nvidia-smi nvlink -p) with the server's wiring",
				"%s", message)
		}
	}, fixtures.Needs(fixtures.NVML), fixtures.BetweenTwo)

// end is what one GPU says of its NVLinks to another.
type end struct {
	gpu, other string
	naming     int // links whose far end is the other GPU
	silent     int // links that are down and name no far end
}

func ends(g, other fixtures.Facts) end {
	e := end{gpu: fmt.Sprintf("gpu%d", g.Slot), other: fmt.Sprintf("gpu%d", other.Slot)}
	for _, l := range g.NVLinks {
		switch {
		case l.Remote != "" && l.Remote == other.BusID:
			e.naming++
		case l.Remote == "" && !l.Active:
			e.silent++
		}
	}
	return e
}

// judgePeer compares the two ends with each other, and with the profile where
// it says how many links there are. A link that is down may not tell its far
// end; that it is down is for link/nvlink-active to say.
func judgePeer(there, back end, expected int, said bool) string {
	few, many := there, back
	if few.naming > many.naming {
		few, many = many, few
	}
	switch {
	case few.naming+few.silent < many.naming:
		return fmt.Sprintf("%d NVLink(s) of %s name %s, but only %d of %s name %s", many.naming, many.gpu, many.other, few.naming, few.gpu, few.other)
	case said && many.naming > expected:
		return fmt.Sprintf("%d NVLinks join %s and %s, the profile says %d", many.naming, there.gpu, back.gpu, expected)
	case said && many.naming+min(there.silent, back.silent) < expected:
		return fmt.Sprintf("%d NVLinks join %s and %s, the profile says %d", many.naming, there.gpu, back.gpu, expected)
	}
	return ""
}
