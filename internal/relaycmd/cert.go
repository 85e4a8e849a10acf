package relaycmd

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/awp-suite/awp"
	"github.com/awp-suite/awp/internal/atomicfile"
)

// certFile holds the certificate and its key, in the state directory.
const certFile = "relay.pem"

// validFor is how long a certificate lasts. The addresses of homes name it, so that a new
// one makes them all dead: nothing is gained by a short life, since nobody but the pin
// vouches for it.
const validFor = 20 * 365 * 24 * time.Hour

// certificate returns the relay's certificate, made where there is none, and the pin by
// which homes know it. One for another host is an error: to replace it is the owner's
// decision.
func certificate(dir, host string, now time.Time) (cert tls.Certificate, pin string, err error) {
	path := filepath.Join(dir, certFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newCertificate(host, now); err == nil {
			err = keep(dir, path, text)
		}
		if err != nil {
			return cert, "", &awp.Error{Code: awp.Invalid, Message: "cannot keep a certificate: " + err.Error(), Hint: "choose a directory that can be written: --state DIR", Cause: err}
		}
	}
	if err == nil {
		cert, err = tls.X509KeyPair(text, text)
	}
	if err != nil {
		return cert, "", &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("%s is no certificate with its key", path), Hint: "restore it from a copy; or move it away, and tell the homes the new one", Cause: err}
	}
	if err := cert.Leaf.VerifyHostname(host); err != nil {
		return cert, "", &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("the certificate in %s is for another host than %s", path, host), Hint: "use the host it was made for, or another directory: --state DIR", Cause: err}
	}
	if now.After(cert.Leaf.NotAfter) {
		return cert, "", &awp.Error{Code: awp.Invalid, Message: fmt.Sprintf("the certificate in %s has expired", path), Hint: "move it away, and tell the homes the new one"}
	}
	sum := sha256.Sum256(cert.Leaf.Raw)
	return cert, "sha256-raw:" + hex.EncodeToString(sum[:]), nil
}

func newCertificate(host string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	made := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: host},
		NotBefore:    now.Add(-24 * time.Hour), // for homes whose clock is behind
		NotAfter:     now.Add(validFor),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		made.IPAddresses = []net.IP{ip}
	} else {
		made.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, made, made, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, block := range []*pem.Block{{Type: "PRIVATE KEY", Bytes: secret}, {Type: "CERTIFICATE", Bytes: der}} {
		if err := pem.Encode(&text, block); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// keep writes the file whole or not at all: half a certificate would stop every start.
func keep(dir, path string, text []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, text)
}
