// Package api has what MinIO sets before it starts its web console, which MINIO_BROWSER=off keeps it from.
package api

import (
	"crypto/x509"
	"errors"

	"github.com/minio/console/pkg/auth/idp/oauth2"
	"github.com/minio/pkg/v3/certs"
)

var (
	GlobalRootCAs                *x509.CertPool
	GlobalPublicCerts            []*x509.Certificate
	GlobalTLSCertsManager        *certs.Manager
	GlobalMinIOConfig            MinIOConfig
	SwaggerJSON, FlatSwaggerJSON []byte
	LogInfo, LogError            func(string, ...any)
	Port, TLSPort, Hostname      string
	errLeftOut                   = errors.New("this build has no console")
)

type MinIOConfig struct{ OpenIDProviders oauth2.OpenIDPCfg }

type Server struct {
	Host             string
	Port, TLSPort    int
	EnabledListeners []string
}

func NewServer(any) *Server     { return &Server{} }
func (*Server) ConfigureAPI()   {}
func (*Server) Serve() error    { return errLeftOut }
func (*Server) Shutdown() error { return nil }
