// Package namespace has what MinIO wraps etcd's client in.
package namespace

import clientv3 "go.etcd.io/etcd/client/v3"

func NewKV(kv clientv3.KV, _ string) clientv3.KV                     { return kv }
func NewLease(lease clientv3.Lease, _ string) clientv3.Lease         { return lease }
func NewWatcher(watcher clientv3.Watcher, _ string) clientv3.Watcher { return watcher }
