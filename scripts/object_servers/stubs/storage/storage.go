// Package storage has what two servers name of Google's client. MinIO would move old objects by it, which no test
// asks for; fake-gcs-server describes objects in its types.
package storage

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/api/option"
)

const ScopeReadWrite = "https://www.googleapis.com/auth/devstorage.read_write"

var errLeftOut = errors.New("this build has no client of Google Cloud Storage")

type ACLRole string
type ACLEntity string

type ProjectTeam struct{ ProjectNumber, Team string }

type ACLRule struct {
	Entity                  ACLEntity
	EntityID, Domain, Email string
	Role                    ACLRole
	ProjectTeam             *ProjectTeam
}

type Projection int

const (
	ProjectionFull Projection = iota + 1
	ProjectionNoACL
)

type ObjectRetention struct {
	Mode        string
	RetainUntil time.Time
}

type Client struct{}

func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errLeftOut }
func (*Client) Bucket(string) *BucketHandle                              { return nil }

type Query struct {
	Delimiter, Prefix string
	Versions          bool
}

type ObjectAttrs struct{}
type ObjectIterator struct{}
type BucketHandle struct{}

func (*BucketHandle) Object(string) *ObjectHandle                     { return nil }
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return nil }

type ObjectHandle struct{}

func (o *ObjectHandle) ReadCompressed(bool) *ObjectHandle { return o }
func (*ObjectHandle) Delete(context.Context) error        { return errLeftOut }
func (*ObjectHandle) NewWriter(context.Context) *Writer   { return nil }
func (*ObjectHandle) NewRangeReader(context.Context, int64, int64) (io.ReadCloser, error) {
	return nil, errLeftOut
}

type Writer struct {
	StorageClass string
	Metadata     map[string]string
}

func (*Writer) Write([]byte) (int, error) { return 0, errLeftOut }
func (*Writer) Close() error              { return errLeftOut }
