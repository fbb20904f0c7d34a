// Package operations has the type that the console's server is made of.
package operations

type ConsoleAPI struct{ Logger func(string, ...any) }

func NewConsoleAPI(any) *ConsoleAPI { return &ConsoleAPI{} }
