package cli

import (
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/html"
	"github.com/peerproof/peerproof/report/junit"
	"github.com/peerproof/peerproof/report/ocp"
	"github.com/peerproof/peerproof/report/prometheus"
)

// documents is what a run leaves beside what it always leaves.
type documents struct {
	junit  string // further file, "" for none
	strict bool   // JUnit for readers that know no properties of a case

	prometheus, ocp string // files, "" for none
}

// flags are those that run and report share.
func (d *documents) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&d.strict, "junit-strict", false, "leave out of JUnit what the strict schema of xunit refuses")
	expect(f, "junit-strict", "true or false")
	f.StringVar(&d.prometheus, "prometheus", "", "write metrics for node_exporter's textfile collector to `FILE`")
	expect(f, "prometheus", "a file to write, whose name ends in .prom")
	f.StringVar(&d.ocp, "ocp", "", "write Open Compute's Test and Validation output to `FILE`")
	expect(f, "ocp", "a file to write")
}

// check refuses files that could not be written at the end of the run, and
// those that would replace another document: of a run, or of the same call.
func (d *documents) check(cmd *cobra.Command) error {
	taken := map[string]string{} // flags by the file that they write
	for _, f := range []struct{ flag, path string }{
		{"junitxml", d.junit}, {"prometheus", d.prometheus}, {"ocp", d.ocp},
	} {
		if flag := cmd.Flags().Lookup(f.flag); flag == nil || !flag.Changed {
			continue
		}
		flag := "--" + f.flag
		if err := writable(flag, f.path); err != nil {
			return err
		}
		switch name := filepath.Base(f.path); name {
		case journalName, nodeName, resultsName, htmlName:
			return usagef("%s %s: a run's %s has that name; expected another, so that none is lost", flag, f.path, name)
		case junitName:
			if f.path != d.junit {
				return usagef("%s %s: JUnit has that name; expected another", flag, f.path)
			}
		}
		path := realPath(f.path)
		if other, is := taken[path]; is {
			return usagef("%s and %s are the same file %s; expected one each", other, flag, f.path)
		}
		taken[path] = flag
	}
	return nil
}

// realPath is one name for a file that may be named in several ways.
func realPath(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			dir = target
		}
	}
	return filepath.Join(dir, filepath.Base(path))
}

// document is a file and what writes it.
type document struct {
	path  string
	write func(io.Writer, *report.Results) error
}

// of are the documents of a run: those of its folder dir, and further ones.
func (d *documents) of(dir string) (own, further []document) {
	writeJUnit := junit.Write
	if d.strict {
		writeJUnit = junit.WriteStrict
	}
	own = []document{
		{filepath.Join(dir, resultsName), report.WriteJSON},
		{filepath.Join(dir, junitName), writeJUnit},
		{filepath.Join(dir, htmlName), html.Write},
	}
	for _, more := range []document{
		{d.junit, writeJUnit}, {d.prometheus, prometheus.Write}, {d.ocp, ocp.Write},
	} {
		if more.path != "" {
			further = append(further, more)
		}
	}
	return own, further
}

// writeReports writes the documents of a run, those of its folder together and
// first, and returns all files of it.
func writeReports(r *report.Results, dir string, d documents) (files []string, err error) {
	own, further := d.of(dir)
	groups := [][]document{own}
	for i := range further {
		groups = append(groups, further[i:i+1])
	}
	for _, group := range groups {
		var together []report.File
		for _, d := range group {
			together = append(together, report.File{Path: d.path, Write: func(w io.Writer) error { return d.write(w, r) }})
		}
		if err := report.WriteFiles(together...); err != nil {
			return files, err
		}
		for _, f := range together {
			files = append(files, f.Path)
		}
	}
	return append(files, filepath.Join(dir, journalName)), nil
}
