// Package certs has where MinIO tells the console that certificates lie.
package certs

type ConfigDir struct{ Path string }

var GlobalCertsDir, GlobalCertsCADir *ConfigDir
