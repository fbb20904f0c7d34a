// The gateway before a folder, without its other backends: versitygw PORT FOLDER VERSIONS [CERTIFICATE KEY].
package main

import (
	"context"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	config := &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Region:            "us-east-1",
		Ports:             []string{"127.0.0.1:" + os.Args[1]},
		MaxConnections:    10000,
		MaxRequests:       10000,
		MultipartMaxParts: 10000,
		KeepAlive:         true,
		Quiet:             true,
	}
	if len(os.Args) == 6 {
		config.CertFile, config.KeyFile = os.Args[4], os.Args[5]
	}
	folder, err := posix.New(os.Args[2], meta.XattrMeta{}, posix.PosixOpts{
		VersioningDir: os.Args[3], Concurrency: 5000, CopyObjectThreshold: 5 << 30,
	})
	if err == nil {
		err = embedgw.RunVersityGW(context.Background(), folder, config)
	}
	log.Fatal(err)
}
