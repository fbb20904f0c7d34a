module minio

go 1.24.0

// Its releases are no versions to Go: this is the last one, by its commit.
require github.com/minio/minio v0.0.0-20260212201848-7aac2a2c5b7c

replace (
	cloud.google.com/go/storage => ../stubs/storage
	github.com/elastic/go-elasticsearch/v7 => ../stubs/elasticsearch
	github.com/minio/console => ../stubs/console
	go.etcd.io/etcd/api/v3 => ../stubs/etcd-api
	go.etcd.io/etcd/client/v3 => ../stubs/etcd
	google.golang.org/api => ../stubs/googleapi
)
