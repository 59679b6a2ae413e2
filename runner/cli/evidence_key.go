package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/term"

	"github.com/peerproof/peerproof/internal/files"
)

// maxKey bounds a key's file in bytes.
const maxKey = 1 << 20

// signingKey reads an SSH private key, asking for its passphrase where it has
// one, or finds that of a public key in ssh-agent. done ends the use of it.
func signingKey(path string) (key ssh.Signer, done func(), err error) {
	text, err := files.Read(path, maxKey)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; expected the file of an SSH key", files.Cause(err))
	}
	nothing := func() {}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return fromAgent(public)
	}
	key, err = ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	if !errors.As(err, &locked) {
		if err != nil {
			err = fmt.Errorf("%w; expected an SSH private key, or a public one whose private key is in ssh-agent", err)
		}
		return key, nothing, err
	}
	passphrase, err := askPassphrase(path)
	if err != nil {
		return nil, nil, err
	}
	key, err = ssh.ParsePrivateKeyWithPassphrase(text, passphrase)
	if err != nil {
		err = fmt.Errorf("%w; expected its passphrase", err)
	}
	return key, nothing, err
}

// askPassphrase asks on the terminal, whatever standard input is.
func askPassphrase(path string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.New("it is encrypted and there is no terminal to ask for its passphrase; expected one, or its public key in this place and the private one in ssh-agent")
	}
	defer tty.Close() //nolint:errcheck // a terminal loses nothing
	_, _ = fmt.Fprintf(tty, "Passphrase for %s: ", path)
	defer fmt.Fprintln(tty) //nolint:errcheck // likewise
	return term.ReadPassword(int(tty.Fd()))
}

// fromAgent finds the private key of a public one in ssh-agent.
func fromAgent(public ssh.PublicKey) (ssh.Signer, func(), error) {
	const wanted = "expected ssh-agent with the private key of this public one (ssh-add -l), or the private key's file"
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, nil, errors.New("it is a public key and SSH_AUTH_SOCK names no ssh-agent; " + wanted)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, nil, fmt.Errorf("ssh-agent does not answer: %w; %s", err, wanted)
	}
	done := func() { _ = conn.Close() } // all was said
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("ssh-agent does not list its keys: %w; %s", err, wanted)
	}
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), public.Marshal()) {
			return s, done, nil
		}
	}
	done()
	return nil, nil, errors.New("ssh-agent has no such key; " + wanted)
}
