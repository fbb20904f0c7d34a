// Package googleapi has the error that MinIO would translate.
package googleapi

type ErrorItem struct{ Reason, Message string }

type Error struct {
	Code    int
	Message string
	Errors  []ErrorItem
}

func (e *Error) Error() string { return e.Message }
