module go.etcd.io/etcd/client/v3

go 1.24

require (
	go.etcd.io/etcd/api/v3 v3.5.21
	go.uber.org/zap v1.27.0
)
