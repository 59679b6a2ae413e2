package cli

import (
	"errors"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/runner"
)

func TestASignalEndsACommandWithAnExitCodeOfItsOwn(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		endless := interruptible(func(*cobra.Command, []string) error {
			if err := syscall.Kill(syscall.Getpid(), s); err != nil {
				return err
			}
			select {}
		})
		if got := exitOf(endless(nil, nil)); got != runner.ExitInterrupted {
			t.Errorf("%s: exit code %d", s, got)
		}
	}
	failing := errors.New("no")
	if err := interruptible(func(*cobra.Command, []string) error { return failing })(nil, nil); !errors.Is(err, failing) {
		t.Errorf("%v", err)
	}
}
