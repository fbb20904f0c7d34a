module fake-gcs-server

go 1.26

require github.com/fsouza/fake-gcs-server v1.56.1

replace (
	cloud.google.com/go/pubsub/v2 => ../stubs/pubsub
	cloud.google.com/go/storage => ../stubs/storage
	google.golang.org/api => ../stubs/googleapi
)
