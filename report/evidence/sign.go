package evidence

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Sign makes the signature over SHA256SUMS in the form of ssh-keygen -Y sign.
func Sign(sums []byte, key ssh.Signer) ([]byte, error) {
	s, err := sshsig.Sign(bytes.NewReader(sums), key, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, fmt.Errorf("sign with %s: %w", fingerprint(key.PublicKey()), err)
	}
	return sshsig.Armor(s), nil
}

func fingerprint(key ssh.PublicKey) string {
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}

// openSignature verifies a signature with the key in it, and returns that key.
// It says nothing of whose key that is.
func openSignature(armored, sums []byte) (ssh.PublicKey, error) {
	const begin, end = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"
	if !bytes.HasPrefix(armored, []byte(begin)) || !bytes.HasSuffix(armored, []byte(end)) || bytes.Count(armored, []byte("-----")) != 4 {
		return nil, errors.New("it is no SSH signature; expected one as ssh-keygen -Y sign writes it, and nothing else")
	}
	s, err := sshsig.Unarmor(armored)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w; expected an SSH signature", err)
	}
	if s.HashAlgorithm != sshsig.HashSHA512 && s.HashAlgorithm != sshsig.HashSHA256 {
		return nil, fmt.Errorf("it signs a hash of the kind %.40q; expected sha512 or sha256", s.HashAlgorithm)
	}
	if err := sshsig.Verify(bytes.NewReader(sums), s, s.PublicKey, s.HashAlgorithm, Namespace); err != nil {
		return nil, fmt.Errorf("it does not fit %s: %w; expected a signature over it with namespace %s", SumsFile, err, Namespace)
	}
	return s.PublicKey, nil
}
