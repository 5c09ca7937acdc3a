package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// credentials are the files with which a server proves who it is and knows its users. They live in a folder that only this user can read.
type credentials struct {
	certificate, key string // of the server; the key signs the tokens of service accounts, too
	tokens           string // of the users

	authority []byte // the certificate, for clients
	token     string // of the administrator
}

// validity is how long the server's certificate is valid: longer than anyone leaves a simulated cluster running.
const validity = 365 * 24 * time.Hour

// writeCredentials makes new keys, and writes them to the folder.
func writeCredentials(folder string) (*credentials, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "faultline"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
		DNSNames: []string{"localhost", "kubernetes.default.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	c := &credentials{
		certificate: filepath.Join(folder, "server.crt"), key: filepath.Join(folder, "server.key"),
		tokens:    filepath.Join(folder, "tokens.csv"),
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), token: rand.Text(),
	}
	for file, data := range map[string][]byte{
		c.certificate: c.authority,
		c.key:         keyPEM,
		c.tokens:      fmt.Appendf(nil, "%s,kubernetes-admin,kubernetes-admin,%q\n", c.token, "system:masters"),
	} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// kubeconfig returns the configuration of a client at the address.
func (c *credentials) kubeconfig(name, address string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: c.authority}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: c.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return config
}
