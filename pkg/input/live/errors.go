package live

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Error is the error for a cluster that could not be read.
type Error struct {
	text string
	err  error
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.err }

func (c *Client) errorf(format string, args ...any) error {
	return &Error{text: c.name + ": " + fmt.Sprintf(format, args...)}
}

// unreadableError is the error for an answer that no API server would give.
type unreadableError struct{ err error }

func (u *unreadableError) Error() string {
	return fmt.Sprintf("the answer cannot be read: %v; give the address of an API server", u.err)
}

// watchPrefix begins the text of a request that is a watch.
const watchPrefix = "watching "

// wrapError returns an error that names the cluster and the request, and says what went wrong and what to do.
func (c *Client) wrapError(what string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text := c.describeError(err)
	if strings.HasPrefix(what, watchPrefix) {
		text = strings.Replace(text, "simulate rbac prints", "simulate rbac --watch prints", 1)
	}
	if what != "" {
		text = what + ": " + text
	}
	return &Error{text: c.name + ": " + strings.Join(strings.Fields(text), " "), err: err}
}

// describeError describes the error, and says what to do.
func (c *Client) describeError(err error) string {
	var status apierrors.APIStatus
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var timeout net.Error
	var failed *url.Error
	var much *busyError
	var shown *pageError
	text := err.Error()
	if errors.As(err, &failed) {
		text = failed.Err.Error() // without the address and its parameters
	}
	_, credentials, plugin := strings.Cut(text, "getting credentials: ")
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Sprintf("%s does not accept the credentials; log in anew, or give others", c.host)
	case apierrors.IsForbidden(err):
		return text + "; simulate rbac prints the ClusterRole that allows it"
	case apierrors.IsResourceExpired(err):
		return "the list expired twice before its end; try again when the server answers faster"
	case errors.As(err, &much):
		return c.host + " " + much.Error()
	case errors.As(err, &shown):
		return c.host + " " + shown.Error()
	case plugin:
		return "the credential plugin failed: " + credentials
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s has expired, or is not valid yet: %s", c.host, invalid.Detail)
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is of an unknown authority; give its certificate with --certificate-authority", c.host)
	case strings.Contains(text, "remote error: tls: expired certificate"):
		return fmt.Sprintf("the client certificate has expired, says %s; log in anew", c.host)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout(), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return fmt.Sprintf("%s took too long to answer; give it more time with --request-timeout", c.host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s; check the address, and whether the cluster runs", c.host)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("the connection to %s broke; try again", c.host)
	case errors.As(err, &status), errors.As(err, new(*unreadableError)):
		return text
	}
	return fmt.Sprintf("%s: %s", c.host, text)
}
