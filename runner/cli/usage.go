package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/onsi/ginkgo/v2/types"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/runner"
)

// usagef is a mistake of the user: what, where, and what was expected.
func usagef(format string, args ...any) error {
	return &runner.UsageError{Err: fmt.Errorf(format, args...)}
}

// expects is the annotation of a flag that says what its value should be.
const expects = "peerproof-expects"

// expect notes what a flag's value should be, for the error of a wrong one.
func expect(flags *pflag.FlagSet, name, what string) {
	if err := flags.SetAnnotation(name, expects, []string{what}); err != nil {
		panic(err) // the flag was defined a line before
	}
}

func expected(f *pflag.Flag) string {
	if what := f.Annotations[expects]; len(what) > 0 {
		return what[0]
	}
	return "a " + f.Value.Type()
}

// flagError words pflag's errors: what, where, and what was expected.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			name = "-" + unknown.GetSpecifiedName()
		}
		return usagef("%s: unknown flag %s; %s", cmd.CommandPath(), name, takes(cmd, unknown.GetSpecifiedName()))
	case errors.As(err, &missing):
		return usagef("%s: %s has no value; expected %s", cmd.CommandPath(), dashed(missing.GetFlag(), missing.GetSpecifiedName()), expected(missing.GetFlag()))
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return usagef("%s: %s %q: expected %s", cmd.CommandPath(), dashed(f, f.Name), invalid.GetValue(), expected(f))
	}
	return usagef("%s: %v; %s", cmd.CommandPath(), err, takes(cmd, ""))
}

// dashed is a flag as it is typed, by its long name or its letter.
func dashed(f *pflag.Flag, name string) string {
	if f.Shorthand != "" && name == f.Shorthand {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// takes names the flag that was probably meant, else all of a command's.
func takes(cmd *cobra.Command, name string) string {
	var near, all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flag := dashed(f, f.Name)
		all = append(all, flag)
		if len(name) > 1 && (distance(name, f.Name) <= 2 || strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name)) {
			near = append(near, flag)
		}
	})
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "expected one of " + strings.Join(all, ", ")
}

// distance is how many characters must be added, removed or exchanged to make
// one word of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// noArguments refuses words that are no flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s: unexpected argument %q; expected %s", cmd.CommandPath(), args[0], instead(cmd))
	}
	return nil
}

// selectionError says on one line what is wrong with -k, -m or --preset.
func selectionError(sel fixtures.Selection) error {
	err := sel.Err()
	if err == nil {
		return nil
	}
	var ginkgo types.GinkgoError
	if !errors.As(err, &ginkgo) {
		return &runner.UsageError{Err: err}
	}
	column, problem := labelProblem(sel.Labels, ginkgo.Message)
	return usagef("-m %q: column %d: %s; expected labels joined by &&, ||, ! and parentheses, such as \"bandwidth && !slow\"", sel.Labels, column, problem)
}

// labelProblem reads Ginkgo's message: the filter with its wrong character set
// off by a style, and on the last line the problem.
func labelProblem(filter, message string) (column int, problem string) {
	marked, problem := message, message
	if i := strings.LastIndexByte(message, '\n'); i >= 0 {
		marked, problem = message[:i], message[i+1:]
	}
	column = utf8.RuneCountInString(filter) + 1 // "unexpected end" marks nothing
	for at := 0; at <= len(filter); at++ {
		if strings.HasPrefix(marked, filter[:at]+"{{red}}{{bold}}{{underline}}") {
			column = utf8.RuneCountInString(filter[:at]) + 1
			break
		}
	}
	return column, strings.TrimRight(problem, ".")
}

// instead is what a command takes in place of words.
func instead(cmd *cobra.Command) string {
	var below []string
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			below = append(below, c.Name())
		}
	}
	switch {
	case len(below) > 0:
		return oneOf(below)
	case cmd.Flags().Lookup("keyword") != nil:
		return "flags only, -k EXPR selects specs"
	default:
		return "flags only"
	}
}

// emptyFlag refuses a flag that names something and was given nothing, as an
// empty shell variable does: the run would be another one than was meant.
func emptyFlag(cmd *cobra.Command) error {
	for _, name := range []string{"node", "profile", "resume", "from", "preset", "name", "sign", "signers", "identity"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed && f.Value.String() == "" {
			return usagef("--%s: it is empty; expected %s", name, expected(f))
		}
	}
	return nil
}
