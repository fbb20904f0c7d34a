// Package mvccpb has what MinIO reads of etcd's entries.
package mvccpb

type KeyValue struct{ Key, Value []byte }
