module go.etcd.io/etcd/api/v3

go 1.24
