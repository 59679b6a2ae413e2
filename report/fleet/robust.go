package fleet

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// The rule that names an outlier. docs/fleet.md states it in words.
const (
	// MinPeers is the least number of servers of one kind that are compared.
	MinPeers = 8
	// MinEffect is how much worse than expected a value must be, as a fraction.
	MinEffect = 0.05
	// FalseAlarms is the probability that a report of a fleet without any
	// outlier names one, over all of its comparisons.
	FalseAlarms = 0.01
	// enoughForMAD is from how many values on the spread is their MAD; of
	// fewer it is too rough.
	enoughForMAD = 20
	// resolution is the least spread that is believed, as a fraction.
	resolution = 0.002
)

// deviation is a value that is an outlier.
type deviation struct {
	index        int
	median       float64 // of its peers
	effect       float64 // fraction of the median by which it is worse
	z, threshold float64
}

// outliers returns which values are worse than their peers by more than
// MinEffect and by more of their usual spread than chance explains in so many
// comparisons. The values are positive; lower says that a lower one is worse.
// The result stands in the order of the values.
func outliers(values []float64, lower bool, tests int) []deviation {
	if len(values) < MinPeers {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := ofSorted(sorted, 0.5)
	if middle <= 0 {
		return nil
	}
	// Most series have no value that is far enough away to be looked at.
	worst := sorted[0]
	if !lower {
		worst = sorted[len(sorted)-1]
	}
	if worse(worst, middle, lower) <= MinEffect/2 { // its own median may differ a little
		return nil
	}
	var found []deviation
	limit := 0.0 // the same for all of them, and costly
	for i, v := range values {
		median, spread, freedom := middle, 0.0, 0.0
		if len(values) >= enoughForMAD {
			spread, freedom = wide(sorted, middle, lower)
		} else {
			median, spread, freedom = others(values, i)
		}
		effect := worse(v, median, lower)
		if effect <= MinEffect {
			continue
		}
		if limit == 0 {
			limit = threshold(freedom, tests)
		}
		if z := effect * median / math.Max(spread, resolution*median); z > limit {
			found = append(found, deviation{index: i, median: median, effect: effect, z: z, threshold: limit})
		}
	}
	return found
}

// worse is by which fraction of the median a value is worse than it; negative
// where it is better.
func worse(value, median float64, lower bool) float64 {
	if lower {
		return (median - value) / median
	}
	return (value - median) / median
}

// wide is the usual spread of many values, as a standard deviation, with the
// degrees of freedom that it is worth. It is that of their MAD, or of their
// worse tenth where that lies farther out: a tail that many share is how the
// quantity is, not an outlier.
func wide(sorted []float64, middle float64, lower bool) (spread, freedom float64) {
	const (
		madToSigma   = 1.4826 // 1/Φ⁻¹(3/4)
		tenthToSigma = 1.2816 // -Φ⁻¹(1/10)
		efficiency   = 0.37   // of the MAD, next to the standard deviation, for a normal distribution
	)
	tail := middle - ofSorted(sorted, 0.1)
	if !lower {
		tail = ofSorted(sorted, 0.9) - middle
	}
	return math.Max(madToSigma*mad(sorted, middle), tail/tenthToSigma), efficiency * float64(len(sorted)-1)
}

// others are median and spread of few values without one of them, which would
// hide itself: the spread of a single value's distance from their median.
func others(values []float64, without int) (median, spread, freedom float64) {
	rest := make([]float64, 0, len(values)-1)
	rest = append(append(rest, values[:without]...), values[without+1:]...)
	mean := 0.0
	for _, v := range rest {
		mean += v / float64(len(rest))
	}
	sum := 0.0
	for _, v := range rest {
		sum += (v - mean) * (v - mean)
	}
	n := float64(len(rest))
	slices.Sort(rest)
	return ofSorted(rest, 0.5), math.Sqrt(sum / (n - 1) * (1 + math.Pi/2/n)), n - 1
}

// threshold is the z that one of so many comparisons passes by chance with a
// probability of FalseAlarms (Bonferroni), where the spread is known from so
// many degrees of freedom: the quantile of Student's t. It is searched for in
// the distribution function, since gonum's own Quantile is far off in the tails
// that are needed here.
func threshold(freedom float64, tests int) float64 {
	p := FalseAlarms / math.Max(1, float64(tests))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	low, high := 0.0, 1.0
	for t.CDF(-high) > p && high < 1e9 {
		low, high = high, 2*high
	}
	for high-low > 1e-6*high {
		if middle := (low + high) / 2; t.CDF(-middle) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// median sorts values and returns their middle; NaN of none.
func median(values []float64) float64 {
	slices.Sort(values)
	return ofSorted(values, 0.5)
}

// ofSorted is a quantile, between two values in proportion; NaN of none.
func ofSorted(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// mad is the median of the distances from the middle.
func mad(values []float64, middle float64) float64 {
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - middle)
	}
	return median(distances)
}
