package fleet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/report/internal/sample"
)

func TestMedianAndMAD(t *testing.T) {
	for _, c := range []struct {
		values      []float64
		median, mad float64
	}{
		{[]float64{3}, 3, 0},
		{[]float64{1, 2}, 1.5, 0.5},
		{[]float64{5, 1, 3}, 3, 2},
		{[]float64{1, 1, 2, 2, 4, 6, 9}, 2, 1}, // the example of most textbooks
		{[]float64{10, 10, 10, 1000}, 10, 0},
	} {
		values := slices.Clone(c.values)
		if got := median(values); got != c.median {
			t.Errorf("median of %v is %v, want %v", c.values, got, c.median)
		}
		if got := mad(values, c.median); got != c.mad {
			t.Errorf("MAD of %v is %v, want %v", c.values, got, c.mad)
		}
	}
	if !math.IsNaN(median(nil)) {
		t.Error("nothing has a median")
	}
}

// Student's t from printed tables, and the normal distribution's far tail.
func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		freedom float64
		tests   int
		want    float64
	}{
		{1, 1, 31.821},
		{5, 1, 3.365},
		{10, 2, 3.169},
		{30, 20, 3.646},
		{1e6, 1, 2.326},
		{1e6, 10, 3.090},
		{1e6, 10_000, 4.753}, // 1e-6
		{1e6, 10_000_000, 5.998},
	} {
		if got := threshold(c.freedom, c.tests); math.Abs(got-c.want) > 0.002 {
			t.Errorf("%v degrees, %d tests: %.4f, want %.3f", c.freedom, c.tests, got, c.want)
		}
	}
}

// around makes n values about 400 with a relative spread.
func around(rng *rand.Rand, n int, sigma float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 400 * (1 + sigma*rng.NormFloat64())
	}
	return values
}

func TestOutliers(t *testing.T) {
	quiet := func(n int, change func([]float64)) []float64 {
		values := around(rand.New(rand.NewPCG(1, uint64(n))), n, 0.003)
		change(values)
		return values
	}
	for _, c := range []struct {
		name   string
		values []float64
		lower  bool
		want   []int
	}{
		{"nobody", quiet(1000, func([]float64) {}), true, nil},
		{"8 % slower", quiet(1000, func(v []float64) { v[17] = 368 }), true, []int{17}},
		{"8 % slower of 20", quiet(20, func(v []float64) { v[3] = 368 }), true, []int{3}},
		{"8 % slower of 8", quiet(8, func(v []float64) { v[3] = 368 }), true, []int{3}},
		{"of 7 nobody is judged", quiet(7, func(v []float64) { v[3] = 300 }), true, nil},
		{"4 % is no effect, however clear", quiet(1000, func(v []float64) { v[17] = 384 }), true, nil},
		{"faster is no fault", quiet(1000, func(v []float64) { v[17] = 500 }), true, nil},
		{"a latency", quiet(1000, func(v []float64) { v[17] = 440 }), false, []int{17}},
		{"a short latency", quiet(1000, func(v []float64) { v[17] = 300 }), false, nil},
		{"several do not hide each other", quiet(1000, func(v []float64) {
			for i := range 50 {
				v[i*7] = 350
			}
		}), true, sevenths(50)},
		{"half of all are no outliers", quiet(100, func(v []float64) {
			for i := range 50 {
				v[i] = 350
			}
		}), true, nil},
		{"a tail that many share", quiet(1000, func(v []float64) {
			for i := range 150 {
				v[i*3] = 400 - float64(i)/2
			}
		}), true, nil},
		{"a series without any spread", slices.Concat(slices.Repeat([]float64{400}, 30), []float64{370}), true, []int{30}},
		{"wide noise", around(rand.New(rand.NewPCG(3, 4)), 1000, 0.05), true, nil},
		{"zeros", make([]float64, 100), true, nil},
	} {
		var got []int
		for _, d := range outliers(slices.Clone(c.values), c.lower, 75*len(c.values)) {
			got = append(got, d.index)
			if d.z <= d.threshold || d.effect <= MinEffect {
				t.Errorf("%s: %+v is no outlier by its own figures", c.name, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func sevenths(n int) (all []int) {
	for i := range n {
		all = append(all, i*7)
	}
	return all
}

// In fleets of every size whose figures spread so much that 5 % is nothing
// special, the rule must keep its promise: of 100 healthy fleets about one may
// name an outlier. 300 fleets are tried at each size.
func TestFalseAlarms(t *testing.T) {
	if sample.Raced {
		t.Skip("make test runs it without the race detector")
	}
	const fleets, series = 300, 10
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{8, 12, 19, 20, 40, 100} {
		alarms := 0
		for range fleets {
			found := 0
			for range series {
				found += len(outliers(around(rng, n, 0.06), true, n*series))
			}
			if found > 0 {
				alarms++
			}
		}
		t.Logf("%d servers: %d of %d healthy fleets raise an alarm", n, alarms, fleets)
		if alarms > fleets*4/100 {
			t.Errorf("%d servers: %d of %d healthy fleets raise an alarm", n, alarms, fleets)
		}
	}
}

// Neither order nor unit matters, and a peer like the others makes nobody an
// outlier.
func TestOutlierProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(MinPeers, 60).Draw(t, "n")
		values := around(rng, n, rapid.Float64Range(0, 0.05).Draw(t, "sigma"))
		slow := rapid.IntRange(0, n-1).Draw(t, "slow")
		values[slow] *= rapid.Float64Range(0.5, 1).Draw(t, "factor")
		indices := func(values []float64) (all []int) {
			for _, d := range outliers(values, true, 1000) {
				all = append(all, d.index)
			}
			return all
		}
		want := indices(values)

		order := rng.Perm(n)
		shuffled, scaled := make([]float64, n), make([]float64, n)
		for i, from := range order {
			shuffled[i], scaled[i] = values[from], values[i]*1024
		}
		var back []int
		for _, i := range indices(shuffled) {
			back = append(back, order[i])
		}
		slices.Sort(back)
		if !slices.Equal(back, want) {
			t.Fatalf("another order: %v, want %v", back, want)
		}
		if got := indices(scaled); !slices.Equal(got, want) {
			t.Fatalf("another unit: %v, want %v", got, want)
		}
	})
	// A healthy peer is within half of MinEffect of all others.
	rapid.Check(t, func(t *rapid.T) {
		healthy := rapid.SliceOfN(rapid.Float64Range(400, 409), 0, 60).Draw(t, "values")
		for range 3 {
			if found := outliers(healthy, true, 1); len(found) > 0 {
				t.Fatalf("%v of a healthy fleet", found)
			}
			healthy = append(healthy, rapid.Float64Range(400, 409).Draw(t, "another"))
		}
	})
}
