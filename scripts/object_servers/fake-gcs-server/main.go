// The server with its JSON and XML interfaces and its data in memory, without gRPC and notifications:
// fake-gcs-server PORT [CERTIFICATE KEY].
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

func main() {
	own, scheme := "127.0.0.1:"+os.Args[1], "http"
	if len(os.Args) == 4 {
		scheme = "https"
	}
	server, err := fakestorage.NewServerWithOptions(
		fakestorage.Options{NoListener: true, PublicHost: own, ExternalURL: scheme + "://" + own})
	if err != nil {
		log.Fatal(err)
	}
	if scheme == "https" {
		log.Fatal(http.ListenAndServeTLS(own, os.Args[2], os.Args[3], server.HTTPHandler()))
	}
	log.Fatal(http.ListenAndServe(own, server.HTTPHandler()))
}
