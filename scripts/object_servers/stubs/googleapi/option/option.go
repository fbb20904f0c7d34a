// Package option has the options that servers name; there is no client that would heed them.
package option

import "net/http"

type ClientOption any

func WithCredentials(any) ClientOption         { return nil }
func WithCredentialsJSON([]byte) ClientOption  { return nil }
func WithHTTPClient(*http.Client) ClientOption { return nil }
func WithScopes(...string) ClientOption        { return nil }
func WithUserAgent(string) ClientOption        { return nil }
