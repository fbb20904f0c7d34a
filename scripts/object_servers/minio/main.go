// MinIO without its web console, its notifications and the clouds it can move old objects to: see ../stubs.
package main

import (
	"os"

	minio "github.com/minio/minio/cmd"
)

func main() {
	minio.Main(os.Args)
}
